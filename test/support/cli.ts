import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import type { Result, Statement } from '../../src/db/database.js'

/** The command in the repository. */
export const COMMAND = resolve('bin', 'snippetctl.js')

/** A served process spends a third of its processor time on optimising the code of its embedded database, which pays only after thousands of requests. */
const WITHOUT_OPTIMISATION = ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

type Environment = Readonly<Record<string, string>>

export interface RunOptions {
  readonly cwd?: string
  /** Added to PATH and the like. The developer's own settings for databases and colour are not inherited. */
  readonly env?: Environment
  /** Without it, stdin is closed immediately. */
  readonly stdin?: string
}

interface HostOptions extends Omit<RunOptions, 'stdin'> {
  /**
   * Keeps the embedded database of the project open for the next commands and `onProjectDatabase`, which takes half of the time of most commands.
   * No other process can open it, and no command that moves its folder.
   */
  readonly keep?: boolean
}

const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'SystemRoot']

/** The environment that processes in tests inherit. */
export const inherited = (): Environment => ({
  ...Object.fromEntries(INHERITED.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
  // A developer's `.env` may contain the URL of a database.
  SNIPPETCTL_ENV_FILE: '',
})

function start(args: readonly string[], { cwd = process.cwd(), env = {}, stdin = '' }: RunOptions) {
  const words = [...WITHOUT_OPTIMISATION, COMMAND, ...args]
  const child = spawn(process.execPath, words, { cwd, env: { ...inherited(), ...env } })
  child.stdin.end(stdin)
  const output = collectOutput(child)
  const ended: Promise<Outcome> = once(child, 'close').then(([code]) => ({ code: code as number | null, ...output }))
  return { child, output, ended }
}

interface Streams {
  readonly stdout: Readable
  readonly stderr: Readable
}

function collectOutput({ stdout, stderr }: Streams): { readonly stdout: string; readonly stderr: string } {
  const output = { stdout: '', stderr: '' }
  stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  return output
}

/** Runs the real command until it exits, without a terminal. */
export function runCli(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  return start(args, options).ended
}

interface CommandLine {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Environment
  /** Whether both streams are a terminal. */
  readonly terminal: boolean
  readonly keep?: boolean
}

declare global {
  /** The process that runs the command lines of this worker. */
  var commandHost: {
    /** `output` is the text of both streams, in order. */
    run(line: CommandLine): Promise<Outcome & { readonly output: string }>
    /** Starts a server. Resolves to its exit code, null if the process ended, and a function that passes a signal to it. */
    serve(
      line: CommandLine,
      print: (stream: 'stdout' | 'stderr', text: string) => void,
    ): Promise<{ readonly ended: Promise<number | null>; stop(signal: NodeJS.Signals): Promise<void> }>
    /** From now on, it keeps the embedded database of a project open once it is opened. */
    keep(folder: string): void
    /** Whether it keeps the embedded database of the project in this folder open. */
    keeps(folder: string): boolean
    query(folder: string, statement: Statement): Promise<Result>
    loadExtensions(folder: string, names: readonly string[]): Promise<void>
    /** Empties the database of a project. Returns false if that cannot be done while it is kept open. */
    empty(folder: string): Promise<boolean>
    /** Closes the database of the project, if it is kept. */
    release(folder: string): Promise<void>
  }
}

/**
 * Runs the command as `runCli` does, but in a process that has run others before, which takes a third of the time. For tests of what commands
 * do, not of the process: its signals, its streams, several at once.
 */
export async function runInHost(
  args: readonly string[],
  { cwd = process.cwd(), env = {}, keep = false }: HostOptions = {},
): Promise<Outcome> {
  const line = { args, cwd, env: { ...inherited(), ...env }, terminal: false, keep }
  const { code, stdout, stderr } = await commandHost.run(line)
  return { code, stdout, stderr }
}

/** A `serve` that was started. */
export interface Started {
  readonly child: ChildProcessWithoutNullStreams
  /** Its output so far. */
  readonly output: { readonly stdout: string; readonly stderr: string }
  /** Resolves once its log on stdout has an entry of this event. */
  logged(event: string): Promise<Readonly<Record<string, unknown>>>
  /** Sends a signal (SIGTERM) and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Outcome>
  readonly ended: Promise<Outcome>
}

/** A `serve` process that is listening. */
export interface Serving extends Started {
  readonly url: string
}

/** Starts `serve` on a free port. */
export function spawnServe(args: readonly string[] = [], options: RunOptions = {}): Started {
  const { child, output, ended } = start(['serve', '--port', '0', ...args], options)
  const logged = followLog(child, output, ended)
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return ended
  }
  return { child, output, logged, stop, ended }
}

function followLog({ stdout }: Streams, output: Started['output'], ended: Promise<Outcome>): Started['logged'] {
  const early = ended.then((outcome) => {
    throw new Error(`serve ended: ${JSON.stringify(outcome)}`)
  })
  early.catch(() => {})
  const find = (event: string) => entriesOf(output.stdout).find((entry) => entry['event'] === event)
  return async (event: string) => {
    for (;;) {
      const entry = find(event)
      if (entry !== undefined) return entry
      await Promise.race([once(stdout, 'data'), early])
    }
  }
}

/** Starts `serve` on a free port and waits until it listens. If it exits before, throws with its output. */
export async function startServe(args: readonly string[] = [], options: RunOptions = {}): Promise<Serving> {
  const started = spawnServe(args, options)
  const { url } = await started.logged('listening')
  return { ...started, url: String(url) }
}

/** A server that is listening in the process of `runInHost`. */
export interface Hosted extends Omit<Serving, 'child'> {
  readonly child: Streams
}

/**
 * Serves as `startServe` does, but in the process that runs commands, which takes a third of the time. Only one server can run there at a time. Its
 * database stays open, so use `keep` for later commands of the project.
 */
export async function serveInHost(
  args: readonly string[] = [],
  { cwd = process.cwd(), env = {} }: Omit<RunOptions, 'stdin'> = {},
): Promise<Hosted> {
  const child = { stdout: new PassThrough(), stderr: new PassThrough() }
  const output = collectOutput(child)
  const line = { args: ['serve', '--port', '0', ...args], cwd, env: { ...inherited(), ...env }, terminal: false }
  const server = await commandHost.serve(line, (stream, text) => child[stream].write(text))
  const ended = server.ended.then(async (code) => {
    await Promise.all([child.stdout, child.stderr].map((stream) => once(stream.end(), 'close')))
    return { code, ...output }
  })
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    await server.stop(signal)
    return ended
  }
  const logged = followLog(child, output, ended)
  const { url } = await logged('listening')
  return { child, output, logged, stop, ended, url: String(url) }
}

function entriesOf(stdout: string): readonly Readonly<Record<string, unknown>>[] {
  const lines = stdout.split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
}

/** A temporary folder with these files. */
export interface Project {
  readonly folder: string
  write(path: string, text: string): Promise<void>
  remove(): Promise<void>
}

/** Makes a project in a temporary folder. */
export async function makeProject(files: Readonly<Record<string, string>>): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'snippetctl-'))
  let written = 0
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    // In one step, because a server that follows its files may read it in between.
    const part = `${folder}-${(written += 1)}`
    await writeFile(part, text)
    await rename(part, join(folder, path))
  }
  for (const [path, text] of Object.entries(files)) await write(path, text)
  const remove = async () => {
    await commandHost.release(folder)
    await rm(folder, { recursive: true, force: true })
  }
  return { folder, write, remove }
}

/** A small application: one model, one resource, no plugin. */
export const BOOKS = `version: 1
api:
  prefix: /api
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, min: 1, max: 100 }
resources:
  book:
    model: book
    path: /books/
    filterable: [title]
`

/** The migration that `migrate plan` writes for BOOKS; planning takes seconds. */
export const BOOKS_MIGRATION = `-- up

create table "books" (
  "id" bigint generated always as identity,
  "title" varchar(100) collate "C" not null,
  constraint "books_pkey" primary key ("id"),
  constraint "books_title_length" check (char_length("title") >= 1)
);

-- down

drop table "books";
`

export const BOOKS_MIGRATION_FILE = 'migrations/0001_create_books.sql'

/** BOOKS with one plugin, `plugin.mjs`. */
export const PLUGGED = `${BOOKS}plugins:
  - ./plugin.mjs
`
