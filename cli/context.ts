import { stat } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import {
  type AppSpec,
  type Database,
  type DatabaseChoice,
  type Diagnostic,
  type LoadedApplication,
  type LoadedSpec,
  loadApplication,
  loadSpec,
  type MigrationFolder,
  migrationFolder,
} from '../src/internal.js'
import { printFrames } from './diagnostics.js'
import { type EnvFile, readEnvFile } from './env-file.js'
import { type ExitCode, Failure, Finished, whyUnreadable } from './failure.js'
import { createOutput, type Output } from './output.js'
import type { Parent } from './serve/workers/parent.js'

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/** The parts of a process that tests replace; `main.ts` provides the real ones. */
export interface Lifecycle {
  /** Sets the listener for the signals that stop the process. */
  onStop(listener: (signal: StopSignal) => void): void
  /** Sets the listener for uncaught errors. */
  onCrash(listener: (error: unknown) => void): void
  /** Sets the listener for errors of stdout. Without it, the process ignores a closed stdout and ends after other errors. */
  onUnwritable(listener: (error: NodeJS.ErrnoException) => void): void
  /** Sets the listener for SIGUSR2, which replaces the worker processes. */
  onReplace(listener: () => void): void
  /** Sets a synchronous listener for the end of the process. */
  onExit(listener: () => void): void
  /** Ends the process at once. */
  exit(code: number): void
  /** Sets the exit code for a process that ends by itself. */
  finish(code: ExitCode): void
  /** Opens the database of a project. */
  openDatabase(choice: DatabaseChoice, env: CliContext['env']): Promise<Database>
  /**
   * Opens an empty embedded database. Its contents are discarded when it is closed.
   * @param tables the approximate number of its tables
   */
  openScratch(tables?: number): Promise<Database>
}

/** The environment of a command: streams, variables, folders and the process. */
export interface CliContext extends Lifecycle {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The `.env` file that was read into `env`, if there is one. */
  readonly envFile: EnvFile | undefined
  /** The time at which the process started, in milliseconds since 1970. */
  readonly startedAt: number
  readonly version: string
  /** For data only. */
  readonly out: Output
  /** For people: errors, help, progress and questions. */
  readonly err: Output
  /** Whether to print the stacks of unexpected errors. */
  readonly debug: boolean
  /** The file of this program, for child processes. */
  readonly program: string
  /** The parent process, if this process is a worker. */
  readonly parent: Parent | undefined
  /** Adds `--config` to the commands in a text, as `line` of the streams does, for messages in JSON documents and logs. */
  withConfig(text: string): string
  /** Asks a question at the terminal; undefined without a terminal. Ctrl-D answers with the empty text. */
  ask(question: string): Promise<string | undefined>
}

/** The parts of its process that the command line uses. */
export interface ProcessInputs {
  readonly argv: readonly string[]
  readonly cwd: string
  /** The variables of `.env` are added to it. */
  readonly env: NodeJS.ProcessEnv
  readonly startedAt: number
  readonly version: string
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly program: string
  readonly parent: Parent | undefined
}

export function createContext(
  from: ProcessInputs,
  lifecycle: Lifecycle,
  withConfig: CliContext['withConfig'] = (text) => text,
): CliContext {
  const preferences = { env: from.env, noColor: from.argv.includes('--no-color'), complete: withConfig }
  const err = createOutput(from.stderr, preferences)
  return Object.freeze({
    ...lifecycle,
    cwd: from.cwd,
    env: from.env,
    // A worker inherits the variables of its parent.
    envFile: from.parent ? undefined : readEnvFile(from.cwd, from.env),
    startedAt: from.startedAt,
    version: from.version,
    out: createOutput(from.stdout, preferences),
    err,
    program: from.program,
    parent: from.parent,
    debug: from.argv.includes('--debug'),
    withConfig,
    ask: async (question: string) => (from.stdin.isTTY && err.terminal ? askAt(from, question) : undefined),
  })
}

async function askAt({ stdin, stderr }: ProcessInputs, question: string): Promise<string> {
  const terminal = createInterface({ input: stdin, output: stderr })
  const closed = new Promise<string>((settle) => {
    terminal.once('close', () => {
      // The cursor is still on the line of the question.
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

/** Shortens a path for messages: relative to the current folder if it is inside. */
export function shownPath(context: CliContext, file: string): string {
  const path = relative(context.cwd, file)
  return path === '' || path.startsWith('..') ? file : path
}

/**
 * Reads and compiles the configuration.
 * @throws Failure 2 if the file cannot be read
 */
export function loadConfig(
  context: CliContext,
  options: CommonOptions,
  checkDefaults = true,
): Promise<LoadedApplication> {
  return load(context, options, (file) => loadApplication({ file, env: context.env, checkDefaults }))
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

/** Shortens the file names in diagnostics, as `shownPath` does, and completes the commands in their help. */
export function shownDiagnostics(context: CliContext, diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  return diagnostics.map((one) => ({
    ...one,
    file: shownPath(context, one.file),
    help: one.help.map(context.withConfig),
  }))
}

function unreadable(file: string, cause: Error): Failure {
  const isMissing = 'code' in cause && cause.code === 'ENOENT'
  return new Failure(
    2,
    `cannot read \`${file}\`: ${whyUnreadable(cause)}`,
    [
      'name another with --config FILE, or set SNIPPETCTL_CONFIG',
      ...(isMissing ? ['or start a project: snippetctl new FOLDER'] : []),
    ],
    cause,
  )
}

export type Application = Extract<LoadedApplication, { readonly ok: true }>

/**
 * Loads the application, for commands that need a valid one.
 * @param log set by commands that serve: then `onClose` of the plugins runs if the configuration is invalid
 * @throws Finished 2 after printing every error of the configuration
 */
export async function requireApplication(
  context: CliContext,
  options: CommonOptions,
  log?: Parameters<LoadedApplication['close']>[0],
): Promise<Application> {
  const loaded = await loadConfig(context, options, false)
  if (loaded.ok) return loaded
  if (log) await loaded.close(log)
  return reject(context, loaded)
}

/**
 * Loads the configuration without running its plugins.
 * @throws Finished 2 after printing every error of the configuration
 */
export async function requireSpec(context: CliContext, options: CommonOptions): Promise<AppSpec> {
  const loaded = await load(context, options, loadSpec)
  return loaded.ok ? loaded.spec : reject(context, loaded)
}

function reject(context: CliContext, loaded: Extract<LoadedSpec, { readonly ok: false }>): never {
  printFrames(context.err, loaded)
  throw new Finished(2, firstError(context, loaded.diagnostics))
}

/** The first error of a configuration in one line, for logs. */
export function firstError(context: CliContext, [first]: readonly Diagnostic[]): string | undefined {
  if (!first) return undefined
  const { file, range, code, message } = first
  return `${shownPath(context, file)}:${range.start.line}:${range.start.column}: error[${code}] ${message}`
}

/** Returns the folders of the migrations, the embedded database and the schema cache, next to the configuration. */
export function projectFolders(file: string): {
  readonly migrations: MigrationFolder
  readonly embedded: string
  readonly schemas: string
} {
  const folder = dirname(file)
  const own = join(folder, '.snippetctl')
  return {
    migrations: migrationFolder(join(folder, 'migrations')),
    embedded: join(own, 'pg'),
    schemas: join(own, 'schemas'),
  }
}
