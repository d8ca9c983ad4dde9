import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { cpSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { HOME } from '../bench/contestants.js'
import { findLeak } from './leaks.js'
import type { Instruction, Reading } from './probe.js'

/** How the service is to be started. */
export interface ServeWishes {
  readonly url?: string
  /** The folder of its configuration; the repository's own by default. */
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  readonly port?: number
  /** Arguments for Node itself. */
  readonly program?: readonly string[]
}

/** A running service, in a process of its own. */
export interface Served {
  readonly port: number
  readonly pid: number
  /** Milliseconds from the start of the process until it listened. */
  readonly startTime: number
  /** Log entries that must not occur: errors and leaks. At most 20 are kept. */
  readonly complaints: readonly string[]
  /** Whether the process is still there. */
  alive(): boolean
  /** Reads the memory and the event loop delay of the process, and restarts the measurement. */
  read(): Promise<Reading>
  /** Lets the call of this number to the database fail, 0 for none; resolves with whether one has failed since the last time. */
  failAt(call: number): Promise<boolean>
  /** Resolves when the log has this event for the given time. */
  logged(event: string, times: number): Promise<void>
  /** Ends it and waits for that; resolves with the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

const MAX_COMPLAINTS = 20
const PROBE = fileURLToPath(new URL('probe.js', import.meta.url))

/** Starts `serve`, and waits until it says that it listens. */
export async function startServe(wishes: ServeWishes): Promise<Served> {
  const { url, folder = HOME, env = {}, args = ['--migrate'], port = 0, program = [process.execPath] } = wishes
  const started = performance.now()
  const [command = process.execPath, ...words] = program
  const child = spawn(
    command,
    [...words, '--import', PROBE, join(HOME, 'bin/snippetctl.js'), 'serve', '--json', '--port', String(port), ...args],
    { cwd: folder, env: environment(url, env), stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
  )
  const complaints: string[] = []
  const complain = (line: string) => {
    if (complaints.length < MAX_COMPLAINTS) complaints.push(line)
  }
  const events = new EventEmitter()
  const counts = new Map<string, number>()
  const listening = await untilListening(child, (entry, line) => {
    const event = String(entry['event'])
    counts.set(event, (counts.get(event) ?? 0) + 1)
    events.emit(event)
    if (isBug(entry) || findLeak(line, { addresses: true })) complain(line)
  })
  const ask = async <T>(question: Instruction): Promise<T> => {
    child.send(question)
    const [answer] = (await once(child, 'message')) as [T]
    return answer
  }
  return {
    port: Number(new URL(listening).port),
    pid: child.pid ?? 0,
    startTime: performance.now() - started,
    complaints,
    alive: () => child.exitCode === null && child.signalCode === null,
    read: () => ask<Reading>({ read: true }),
    failAt: (call) => ask<boolean>({ failAt: call, port: Number(new URL(url ?? 'postgres://a:1').port) }),
    logged: async (event, times) => {
      while ((counts.get(event) ?? 0) < times) await once(events, event)
    },
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const exit = once(child, 'exit')
      child.kill(signal)
      await exit
      return child.exitCode
    },
  }
}

/** Little of ours, so that a run is the same in every shell. */
function environment(url: string | undefined, env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const { PATH, HOME: home, TMPDIR } = process.env
  return {
    PATH,
    HOME: home,
    SNIPPETCTL_ENV_FILE: '',
    ...(TMPDIR && { TMPDIR }),
    ...(url && { DATABASE_URL: url }),
    ...env,
  }
}

type Entry = Readonly<Record<string, unknown>>

function untilListening(child: ChildProcess, seen: (entry: Entry, line: string) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const { stdout, stderr } = child
    if (!stdout || !stderr) throw new Error('the streams of the process are no pipes')
    createInterface(stdout).on('line', (line) => {
      const entry = parse(line)
      if (entry['event'] === 'listening') resolve(String(entry['url']))
      seen(entry, line)
    })
    createInterface(stderr).on('line', (line) => {
      said += `${line}\n`
      if (said.length > 10_000) said = said.slice(-5_000)
    })
    child.once('exit', (code, signal) => reject(new Error(`serve ended with ${code ?? signal}: ${said}`)))
  })
}

/** Failures that are the fault of the database or of the network. */
const EXPECTED = new Set(['unavailable', 'timeout', 'outcome_unknown'])

/** Whether an entry reports a bug of ours; an unavailable database does not. */
function isBug({ event, type }: Entry): boolean {
  return event === 'crash' || (event === 'failure' && !EXPECTED.has(String(type)))
}

function parse(line: string): Entry {
  try {
    return JSON.parse(line) as Entry
  } catch {
    return { event: 'failure', line }
  }
}

/** Makes a folder into a copy of the service, with an embedded database of its own. */
export function copyService(folder: string): string {
  mkdirSync(folder, { recursive: true })
  for (const name of ['resources.yaml', 'migrations']) cpSync(join(HOME, name), join(folder, name), { recursive: true })
  mkdirSync(join(folder, 'src/snippets'), { recursive: true })
  for (const name of readdirSync(join(HOME, 'src/snippets')))
    cpSync(join(HOME, 'src/snippets', name), join(folder, 'src/snippets', name))
  return folder
}
