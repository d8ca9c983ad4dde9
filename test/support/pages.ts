import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { COMMAND, inherited } from './cli.js'

/** A fenced block of a page. A file name may follow the language: ```` ```yaml resources.yaml ````. */
export interface Block {
  readonly language: string
  readonly file: string | undefined
  readonly text: string
  /** The line in the page, from 1. */
  readonly line: number
}

export function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(/^```(\w*)[ ]?(\S*)\n([^]*?)^```$/gm)].map(
    ({ 1: language = '', 2: file, 3: text = '', index }) => ({
      language,
      file: file === '' ? undefined : file,
      text,
      line: page.slice(0, index).split('\n').length,
    }),
  )
}

/** A command of a console block, and its output. `^C` stops the server. */
export interface Step {
  readonly command: string
  readonly output: string
}

export function stepsOf({ text }: Block): readonly Step[] {
  const [, ...parts] = text.split(/^(\$ .*(?:\n> .*)*|\^C)\n/m)
  return parts.flatMap((part, index) => {
    if (index % 2 === 1) return []
    return [
      {
        command: part.replace(/^\$ /, '').replaceAll('\n> ', '\n'),
        output: (parts[index + 1] ?? '').replace(/^\n+|\s+$/g, ''),
      },
    ]
  })
}

/** The text of a console block. */
export function renderSteps(steps: readonly Step[]): string {
  return steps
    .map(
      ({ command, output }) =>
        `${command === '^C' ? command : `$ ${command.replaceAll('\n', '\n> ')}`}\n${output === '' ? '' : `${output}\n`}`,
    )
    .join('')
}

/** The arguments of the program in a command line that runs nothing else and that the shell does not change; undefined for any other line. */
function argumentsOf(command: string): readonly string[] | undefined {
  const [, words] = /^node '[^']*' ((?:'[^']*'|[\w./:=,@-]| )*)$/.exec(command) ?? []
  return words?.split(/ +(?=(?:[^']*'[^']*')*[^']*$)/).map((word) => word.replaceAll("'", ''))
}

/** Where the commands of one page run: a copy of the parts of this checkout that serve the application. */
export interface Shell {
  readonly folder: string
  /** Runs a command, or starts it if it serves; returns what a reader sees in the terminal. */
  run(command: string): Promise<string>
  /** Stops the server, if any, and removes the folder. */
  remove(): Promise<void>
}

const LAUNCHER = `'${COMMAND}'`
/** Makes the program behave as in a terminal, which is where readers run it. */
const TERMINAL = '--import data:text/javascript,process.stdout.isTTY=process.stderr.isTTY=true'
const PORT = 8000
const PROGRAM =
  /\bnode bin\/snippetctl\.js\b|(?:npx )?\bsnippetctl(?= (?:new|add|doctor|completion|serve|routes|url|openapi|types|check|explain|introspect|migrate|seed|dump|db)\b)/g

export async function openShell(): Promise<Shell> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'snippetctl-docs-')))
  const copied = ['package.json', 'resources.yaml', 'resources.schema.json', 'migrations', 'src/snippets']
  for (const path of copied) await cp(path, join(folder, path), { recursive: true })
  for (const path of ['node_modules', 'dist']) await symlink(resolve(path), join(folder, path))
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: { start: string } }

  // So wide that nothing is wrapped: where lines end depends on times, which differ from run to run.
  const env = { ...inherited(), NO_COLOR: '1', COLUMNS: '200', NODE_OPTIONS: TERMINAL, PORT: '0' }
  let server:
    | { readonly state: { output: string }; readonly ended: Promise<unknown>; stop(): Promise<void> }
    | undefined
  let port = String(PORT)

  function start(command: string) {
    const child = spawn('sh', ['-c', `exec 2>&1; ${command}`], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const state = { output: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (state.output += text))
    return { child, state, ended: once(child, 'close') }
  }

  /** Translates a documented command to this checkout and the server's port. */
  const translate = (command: string): string =>
    command
      .replace(/^npm start$/, scripts.start.replace(/^exec /, ''))
      .replaceAll(PROGRAM, `node ${LAUNCHER}`)
      .replaceAll(`localhost:${PORT}`, `127.0.0.1:${port}`)

  /** Replaces everything that differs between runs by what the pages write. Only this function knows what differs. */
  const settle = (output: string): string =>
    output
      // The progress bar.
      .replaceAll(/\r\u001b\[K(?:\[[#.]+\] \d+ % {2}[^\r\n]*)?/g, '')
      .replaceAll('\r', '')
      .replaceAll(folder, '<project>')
      .replaceAll(new RegExp(`(127\\.0\\.0\\.1|localhost):${port}\\b`, 'g'), `$1:${PORT}`)
      .replaceAll(/^\d\d:\d\d:\d\d {2}(?:GET|POST|PUT|PATCH|DELETE) .*\n/gm, '')
      .replaceAll(/^\d\d:\d\d:\d\d/gm, '10:00:00')
      .replaceAll(
        /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z/g,
        (_, digits = '') => `2026-11-21T10:00:00${digits && '.000000'}Z`,
      )
      .replaceAll(/^Date: .*$/gm, 'Date: Sat, 21 Nov 2026 10:00:00 GMT')
      .replaceAll(/"[A-Za-z0-9_-]{43}"/g, '"Zo9bT0VYqWm1rA3xN5eKc7uJ2hG4sD6fL8pQiRtMwXk"')
      .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, '5f0c6f1e-7a53-4b52-9d4f-0d5a8a1c2b3e')
      .replaceAll(/\b\d+ ms\b/g, '12 ms')
      .replaceAll(/\b(process|kill) \d+/g, '$1 4242')
      .replace(/^\n+|\s+$/g, '')

  /** Runs a command line of the program alone, without the start of a process. */
  async function runProgram(args: readonly string[]): Promise<string> {
    const { output } = await commandHost.run({ args, cwd: folder, env, terminal: true })
    return settle(output)
  }

  async function serve(args: readonly string[]): Promise<string> {
    const state = { output: '' }
    let setReady = () => {}
    const ready = new Promise<void>((resolve) => (setReady = resolve))
    const { ended, stop } = await commandHost.serve({ args, cwd: folder, env, terminal: true }, (_stream, text) => {
      state.output += text
      if (/^ {2}next .*\n\n/m.test(state.output)) setReady()
    })
    server = { state, ended, stop: () => stop('SIGINT') }
    const early = ended.then(() => Promise.reject(new Error(`the server ended:\n${state.output}`)))
    early.catch(() => {})
    await Promise.race([ready, early])
    port = /127\.0\.0\.1:(\d+)/.exec(state.output)?.[1] ?? port
    return settle(state.output)
  }

  async function stop(): Promise<string> {
    if (server === undefined) return ''
    const { state, ended, stop: interrupt } = server
    server = undefined
    const before = state.output.length
    await interrupt()
    await ended
    return settle(state.output.slice(before))
  }

  return {
    folder,
    async run(command) {
      if (command === '^C') return stop()
      if (command === '') return ''
      const translated = translate(command)
      const args = argumentsOf(translated)
      if (args?.[0] === 'serve') return serve(args)
      if (args !== undefined) return runProgram(args)
      const { state, ended } = start(translated)
      await ended
      return settle(state.output)
    },
    async remove() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Applies a diff without line numbers: the kept and removed lines must appear once in the file, in this order. */
export async function applyDiff(file: string, diff: string): Promise<void> {
  let text = await readFile(file, 'utf8')
  for (const hunk of diff.split(/^@@.*\n/m).filter((each) => each !== '')) {
    const side = (left: string) =>
      hunk
        .split('\n')
        .filter((line) => line !== '' && line[0] !== left)
        .map((line) => `${line.slice(1)}\n`)
        .join('')
    const [before, after] = [side('+'), side('-')]
    if (text.split(before).length !== 2) throw new Error(`this does not stand once in ${file}:\n${before}`)
    text = text.replace(before, () => after)
  }
  await writeFile(file, text)
}
