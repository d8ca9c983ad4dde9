import { closeSync, mkdirSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { types } from 'node:util'
import { DatabaseInUse, DatabaseRejected } from '../database.js'

/** The process that holds a lock. Pids are reused, so its start time is kept as well. */
interface Holder {
  readonly pid: number
  readonly started: string | null
  readonly host: string
}

/**
 * Takes the exclusive lock of an embedded database. PGlite has none: two processes that write to one directory silently lose rows. The lock of a
 * process that has ended is taken over.
 * @returns a function that releases the lock; it is also released when the process ends
 * @throws DatabaseRejected if another process holds the lock
 */
export function lockDirectory(directory: string): () => void {
  const path = `${directory}.lock`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  takeLock(path, directory)
  let held = true
  const release = () => {
    process.removeListener('exit', release)
    // A second call must not remove the lock of its next holder.
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
  // Only one process at a time may take over a lock. Otherwise a slow one would remove the lock that a fast one has just taken.
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
  const file = open(path)
  if (file === undefined) return false
  try {
    writeFileSync(file, JSON.stringify(holder))
    return true
  } catch (error) {
    // Nobody could tell whose lock an empty file is.
    remove(path)
    throw error
  } finally {
    closeSync(file)
  }
}

/** Returns undefined if the file exists. */
function open(path: string): number | undefined {
  try {
    return openSync(path, 'wx')
  } catch (error) {
    if (isSystemError(error, 'EEXIST')) return undefined
    throw error
  }
}

/**
 * Whether the lock's process has ended; false if the lock is gone.
 * @throws DatabaseRejected if the lock is in use
 */
function isLeftBehind(path: string, directory: string): boolean {
  const text = read(path)
  if (text === undefined) return false
  const holder = parse(text)
  if (holder === undefined || holder.host !== hostname()) throw uncheckable(path, directory, holder)
  if (isAlive(holder)) throw inUse(directory, holder)
  return true
}

/** Whether a lock exists whose process has ended; false if that cannot be checked from here. */
export function isAbandoned(directory: string): boolean {
  const holder = parse(read(`${directory}.lock`) ?? '')
  return holder !== undefined && holder.host === hostname() && !isAlive(holder)
}

function uncheckable(path: string, directory: string, holder: Holder | undefined): DatabaseRejected {
  const who = holder ? `process ${holder.pid} on ${holder.host}` : 'an unknown process'
  return new DatabaseRejected(`${directory} is in use by ${who}, which cannot be checked from here`, [
    `If no process uses the embedded database any more, remove ${path}`,
  ])
}

function inUse(directory: string, { pid }: Holder): DatabaseInUse {
  return new DatabaseInUse(`${directory} is in use by process ${pid}, and only one process can open it`, [
    `stop it, and try again: kill ${pid}`,
    'or keep it running if it is `snippetctl serve`: it applies additions to resources.yaml and new files in migrations/ (snippetctl migrate plan --write NAME) that destroy no data; snippetctl db backup works while it runs',
    'or use a server, which several processes can use at the same time: DATABASE_URL=postgres://…',
  ])
}

function isAlive({ pid, started }: Holder): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Any other error means that the process exists but belongs to another user.
    if (isSystemError(error, 'ESRCH')) return false
  }
  const startedNow = startOf(pid)
  return started === null || startedNow === null || started === startedNow
}

/** Returns the start time of a process, in ticks since boot; null if the system does not provide it. */
function startOf(pid: number): string | null {
  // The second field is the command in parentheses, which may itself contain parentheses and spaces.
  const stat = read(`/proc/${pid}/stat`)
  const [state, ...fields] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  // A zombie keeps its pid until its parent collects it.
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
    // Reading the entry of a process that ends meanwhile fails with ESRCH.
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
