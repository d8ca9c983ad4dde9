import { createRequire } from 'node:module'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { openDatabase, openScratch } from '../src/internal.js'
import type { Lifecycle, StopSignal } from './context.js'
import { findParent } from './serve/workers/parent.js'
import { runCommandLine } from './run.js'

const STOP_SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** A process that is still running this long after its command is done has left something open, and is ended. */
const EXIT_TIMEOUT_MS = 3_000

/** Handles errors of stdout. A reader that closes the pipe early (`snippetctl routes | head`) is not an error. */
const whenUnwritable = {
  listener: ({ code, message }: NodeJS.ErrnoException): void => {
    if (code === 'EPIPE') return
    process.stderr.write(`error: cannot write to stdout: ${message}\n`)
    process.exit(2)
  },
}

const SHELL_CHECK_INTERVAL_MS = 500

const parent = findParent()

/**
 * `npx` runs the command in a shell that ends at a signal without passing it on. So the end of that shell counts as the signal. A process
 * that was started in any other way may outlive its parent.
 */
function watchShell(listener: () => void): void {
  if (process.env['npm_command'] !== 'exec') return
  const shell = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === shell) return
    clearInterval(watch)
    listener()
  }, SHELL_CHECK_INTERVAL_MS).unref()
}

/** Signals end a command by an exit, so that its incomplete files and its progress bar are removed. */
function interrupt(_signal: NodeJS.Signals, number: number): void {
  return process.exit(128 + number)
}

for (const signal of STOP_SIGNALS) process.on(signal, interrupt)

const lifecycle: Lifecycle = {
  onStop: (listener) => {
    for (const signal of STOP_SIGNALS) {
      process.off(signal, interrupt)
      process.on(signal, () => listener(signal))
    }
    watchShell(() => listener('SIGTERM'))
  },
  onCrash: (listener) => {
    process.on('uncaughtException', listener)
    process.on('unhandledRejection', listener)
  },
  onUnwritable: (listener) => {
    whenUnwritable.listener = listener
  },
  onReplace: (listener) => void process.on('SIGUSR2', listener),
  onExit: (listener) => void process.on('exit', listener),
  exit: (code) => process.exit(code),
  finish: (code) => {
    process.exitCode = code
    parent?.leave()
    setTimeout(() => process.exit(), EXIT_TIMEOUT_MS).unref()
  },
  openDatabase,
  openScratch: (tables) => openScratch({ tables }),
}

/** Runs the command line of this process, and sets its exit code in every case. */
async function main(): Promise<void> {
  const { version } = createRequire(import.meta.url)('snippetctl/package.json') as { version: string }
  const { env, stdin, stdout, stderr } = process
  const argv = process.argv.slice(2)
  const program = fileURLToPath(import.meta.url)
  stdout.on('error', (error) => whenUnwritable.listener(error))
  // An error of stderr cannot be reported.
  stderr.on('error', () => {})
  const [cwd, startedAt] = [process.cwd(), performance.timeOrigin]
  const surroundings = { argv, cwd, env, startedAt, version, stdin, stdout, stderr, program, parent }
  await runCommandLine(surroundings, lifecycle)
}

await main()
