import { mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { types } from 'node:util'
import { DatabaseInUse, DatabaseRefused } from '../database.js'

/** Who holds a lock. A pid is given again after its process has ended, so its time of start belongs to it. */
interface Holder {
  readonly pid: number
  readonly started: string | null
  readonly host: string
}

/**
 * Takes the exclusive lock of an embedded database, which PGlite itself does not: two processes that write to one
 * directory lose rows without a word. A lock whose process has ended is taken over.
 * @returns the function that gives the lock back; the end of the process does so too.
 * @throws DatabaseRefused when another process holds it.
 */
export function lockDirectory(directory: string): () => void {
  const path = `${directory}.lock`
  mkdirSync(dirname(path), { recursive: true })
  takeLock(path, directory)
  let held = true
  const release = () => {
    process.removeListener('exit', release)
    // A second call must not take the lock from whoever has it by then.
    if (held) remove(path)
    held = false
  }
  process.once('exit', release)
  return release
}

function takeLock(path: string, directory: string): void {
  if (create(path)) return
  const takeover = `${path}.takeover`
  if (!isLeftBehind(path, directory)) return takeLock(path, directory)
  // Only one process at a time may take over, or a late one would remove the lock that an early one has just made.
  takeLock(takeover, directory)
  try {
    if (isLeftBehind(path, directory)) remove(path)
  } finally {
    remove(takeover)
  }
  takeLock(path, directory)
}

function create(path: string): boolean {
  const holder: Holder = { pid: process.pid, started: startOf(process.pid), host: hostname() }
  try {
    writeFileSync(path, JSON.stringify(holder), { flag: 'wx' })
    return true
  } catch (error) {
    if (isSystemError(error, 'EEXIST')) return false
    throw error
  }
}

/**
 * Whether a lock outlived its process; false when there is none any more.
 * @throws DatabaseRefused when it is in force.
 */
function isLeftBehind(path: string, directory: string): boolean {
  const text = read(path)
  if (text === undefined) return false
  const holder = parse(text)
  if (holder === undefined || holder.host !== hostname()) throw uncheckable(path, directory, holder)
  if (isAlive(holder)) throw inUse(directory, holder)
  return true
}

function uncheckable(path: string, directory: string, holder: Holder | undefined): DatabaseRefused {
  const who = holder ? `process ${holder.pid} on ${holder.host}` : 'an unknown process'
  return new DatabaseRefused(`${directory} is in use by ${who}, which cannot be checked from here`, [
    `If no process uses the embedded database any more, removing ${path} is right`,
  ])
}

function inUse(directory: string, { pid }: Holder): DatabaseInUse {
  return new DatabaseInUse(`${directory} is in use by process ${pid}, and only one process can have it`, [
    `stop it, and try again: kill ${pid}`,
    'or leave it be, if it is `snippetctl serve`: it applies what is added to resources.yaml, and files that come into migrations/ (snippetctl migrate plan --write NAME), as long as they destroy nothing; snippetctl db backup works beside it, too',
    'or use a server, with which several processes work side by side: DATABASE_URL=postgres://…',
  ])
}

function isAlive({ pid, started }: Holder): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Any other error means that the process is there, but is not ours.
    if (isSystemError(error, 'ESRCH')) return false
  }
  const startedNow = startOf(pid)
  return started === null || startedNow === null || started === startedNow
}

/** When a process started, in ticks since the machine did; null where the system does not tell. */
function startOf(pid: number): string | null {
  // The second field is the command in brackets, and may itself hold brackets and blanks.
  const stat = read(`/proc/${pid}/stat`)
  const [state, ...fields] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  // A process that has ended and whose parent does not care keeps its pid.
  return state === 'Z' ? 'ended' : (fields[18] ?? null)
}

function parse(text: string): Holder | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const valid = typeof value === 'object' && value !== null && 'pid' in value && Number.isSafeInteger(value.pid)
    return valid ? (value as Holder) : undefined
  } catch {
    return undefined
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    // A process that ends while its entry in /proc is read gives ESRCH.
    if (isSystemError(error, 'ENOENT') || isSystemError(error, 'ESRCH')) return undefined
    throw error
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (!isSystemError(error, 'ENOENT')) throw error
  }
}

function isSystemError(error: unknown, code: string): boolean {
  return types.isNativeError(error) && 'code' in error && error.code === code
}
