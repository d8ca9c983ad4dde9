import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { COMMAND, inherited } from './cli.js'

/** A command in a terminal. */
export interface AtTerminal {
  /** Resolves once the terminal shows new output with this text. */
  shows(text: string): Promise<void>
  type(text: string): void
  /** The exit code and all output. */
  readonly ended: Promise<{ readonly code: number | null; readonly shown: string }>
}

interface Wishes {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** A way to provide a terminal. */
export interface Terminal {
  readonly name: string
  readonly available: boolean
  start(args: readonly string[], wishes: Wishes): AtTerminal
}

/** Pipes that claim to be a terminal, because Node cannot create one. */
const PRETENCE = `data:text/javascript,process.stdin.isTTY = process.stdout.isTTY = process.stderr.isTTY = true`

const quote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/** The terminals of this machine. `script` of util-linux provides a real one. */
export const TERMINALS: readonly Terminal[] = [
  {
    name: 'pipes that say that they are one',
    available: true,
    start: (args, wishes) => run([process.execPath, '--import', PRETENCE, COMMAND, ...args], wishes),
  },
  {
    name: '`script`',
    available: String(spawnSync('script', ['--version'], { timeout: 5_000 }).stdout).includes('util-linux'),
    start: (args, wishes) =>
      run(['script', '-qefc', [process.execPath, COMMAND, ...args].map(quote).join(' '), '/dev/null'], wishes),
  },
]

function run([command = '', ...args]: readonly string[], { cwd, env }: Wishes): AtTerminal {
  const child = spawn(command, args, { cwd, env: { ...inherited(), SHELL: '/bin/sh', NO_COLOR: '1', ...env } })
  let shown = ''
  let seen = 0
  const waiting: { readonly text: string; readonly done: () => void }[] = []
  const look = () => {
    for (let next = waiting[0]; next && shown.indexOf(next.text, seen) !== -1; next = waiting[0]) {
      seen = shown.indexOf(next.text, seen) + next.text.length
      waiting.shift()?.done()
    }
  }
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      shown += text
      look()
    })
  return {
    shows: (text) =>
      new Promise((done) => {
        waiting.push({ text, done })
        look()
      }),
    type: (text) => void child.stdin.write(text),
    ended: once(child, 'close').then(([code]) => ({ code: code as number | null, shown })),
  }
}
