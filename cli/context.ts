import { stat } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import {
  type AppSpec,
  type Diagnostic,
  type LoadedApplication,
  type LoadedSpec,
  loadApplication,
  loadSpec,
  type MigrationFolder,
  migrationFolder,
} from '../src/internal.js'
import { printFrames } from './diagnostics.js'
import type { EnvFile } from './env-file.js'
import { type ExitCode, Failure, Finished } from './failure.js'
import { createOutput, type Output } from './output.js'
import type { Parent } from './serve/parent.js'

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/** What only the edge of the process can do; `main.ts` gives the real one. */
export interface Lifecycle {
  /** Takes over the signals that ask the process to end. */
  onStop(listener: (signal: StopSignal) => void): void
  /** Takes over errors that nobody caught. */
  onCrash(listener: (error: unknown) => void): void
  /** Takes over errors of stdout, such as a reader that has gone; without it, the process goes on after that one and ends after others. */
  onUnwritable(listener: (error: NodeJS.ErrnoException) => void): void
  /** Takes over the signal that asks for other worker processes, SIGUSR2. */
  onReplace(listener: () => void): void
  /** Runs, without waiting, when the process ends in whatever way it can notice. */
  onExit(listener: () => void): void
  /** Ends the process at once, whatever is under way. */
  exit(code: number): void
  /** The exit code once nothing is left to do. */
  finish(code: ExitCode): void
}

/** Everything a command may see of the world. */
export interface CliContext extends Lifecycle {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The file of variables that was read into `env`, if there is one. */
  readonly envFile?: EnvFile | undefined
  readonly version: string
  /** Data, and nothing else. */
  readonly out: Output
  /** Everything for people: errors, help, progress, questions. */
  readonly err: Output
  /** Whether unexpected errors are shown with their stack. */
  readonly debug: boolean
  /** The file that runs this command line, for processes that do so too. */
  readonly program: string
  /** The process that this one is a worker of. */
  readonly parent: Parent | undefined
  /** Asks at the terminal; undefined when there is none to ask. Who leaves without an answer has said nothing, which is empty. */
  ask(question: string): Promise<string | undefined>
}

interface Surroundings {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly envFile?: EnvFile | undefined
  readonly version: string
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly program: string
  readonly parent: Parent | undefined
}

/** Decides once, for the whole run, what is a terminal and what is coloured. */
export function createContext(from: Surroundings, lifecycle: Lifecycle): CliContext {
  const wishes = { env: from.env, noColor: from.argv.includes('--no-color') }
  const err = createOutput(from.stderr, wishes)
  return Object.freeze({
    ...lifecycle,
    cwd: from.cwd,
    env: from.env,
    envFile: from.envFile,
    version: from.version,
    out: createOutput(from.stdout, wishes),
    err,
    program: from.program,
    parent: from.parent,
    debug: from.argv.includes('--debug'),
    ask: async (question: string) => (from.stdin.isTTY && err.terminal ? askAt(from, question) : undefined),
  })
}

async function askAt({ stdin, stderr }: Surroundings, question: string): Promise<string> {
  const terminal = createInterface({ input: stdin, output: stderr })
  const closed = new Promise<string>((settle) => {
    terminal.once('close', () => {
      // The cursor stands behind the question.
      stderr.write('\n')
      settle('')
    })
  })
  try {
    return await Promise.race([terminal.question(question), closed])
  } finally {
    terminal.removeAllListeners('close').close()
  }
}

/** The options that every command has. */
export interface CommonOptions {
  readonly config: string
}

/** The path as people wrote it: from where they stand, unless it lies elsewhere. */
export function shownPath(context: CliContext, file: string): string {
  const path = relative(context.cwd, file)
  return path === '' || path.startsWith('..') ? file : path
}

/**
 * Reads and compiles the configuration.
 * @throws Failure 2 when the file cannot be read
 */
export function loadConfig(
  context: CliContext,
  options: CommonOptions,
  judgeDefaults = true,
): Promise<LoadedApplication> {
  return load(context, options, (file) => loadApplication({ file, env: context.env, judgeDefaults }))
}

async function load<Loaded extends LoadedApplication | LoadedSpec>(
  context: CliContext,
  { config }: CommonOptions,
  read: (file: string) => Promise<Loaded>,
): Promise<Loaded> {
  const file = resolve(context.cwd, config)
  const found = await stat(file).catch((cause: Error) => cause)
  if (found instanceof Error) throw unreadable(shownPath(context, file), found)
  if (!found.isFile()) throw unreadable(shownPath(context, file), new Error('it is not a file'))
  const loaded = await read(file)
  if (loaded.ok) return loaded
  return { ...loaded, diagnostics: shownDiagnostics(context, loaded.diagnostics) }
}

/** The same diagnostics, their file named as people wrote it. */
export function shownDiagnostics(context: CliContext, diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  return diagnostics.map((one) => ({ ...one, file: shownPath(context, one.file) }))
}

function unreadable(file: string, cause: Error): Failure {
  const reason = 'code' in cause && cause.code === 'ENOENT' ? 'there is no such file' : cause.message
  return new Failure(
    2,
    `cannot read \`${file}\`: ${reason}`,
    ['name another with --config FILE, or set SNIPPETCTL_CONFIG'],
    cause,
  )
}

export type Application = Extract<LoadedApplication, { readonly ok: true }>

/**
 * The application, for commands that cannot do anything without one.
 * @param log given by commands that serve: then plugins close what they have opened if the configuration is refused
 * @throws Finished 2 once every error of the configuration is printed
 */
export async function requireApplication(
  context: CliContext,
  options: CommonOptions,
  log?: Parameters<LoadedApplication['close']>[0],
): Promise<Application> {
  const loaded = await loadConfig(context, options, false)
  if (loaded.ok) return loaded
  if (log) await loaded.close(log)
  return refuse(context, loaded)
}

/**
 * What the configuration says, for who does not run its plugins.
 * @throws Finished 2 once every error of the configuration is printed
 */
export async function requireSpec(context: CliContext, options: CommonOptions): Promise<AppSpec> {
  const loaded = await load(context, options, loadSpec)
  return loaded.ok ? loaded.spec : refuse(context, loaded)
}

function refuse(context: CliContext, loaded: Extract<LoadedSpec, { readonly ok: false }>): never {
  printFrames(context.err, loaded)
  throw new Finished(2)
}

/** Where the migrations and the embedded database of a configuration live: beside it. */
export function projectFolders(file: string): {
  readonly migrations: MigrationFolder
  readonly embedded: string
} {
  const folder = dirname(file)
  return { migrations: migrationFolder(join(folder, 'migrations')), embedded: join(folder, '.snippetctl', 'pg') }
}
