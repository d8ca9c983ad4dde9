import { randomUUID } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { DatabaseInUse, DatabaseRejected } from '../database.js'
import { holdPipe, isHeld, isSystemError, removeFile } from './held-pipe.js'

/** The process that holds a lock. Pids are reused, so its start time is kept as well. */
interface Holder {
  readonly pid: number
  readonly started: string | null
  readonly host: string
  /** The namespace that the pid belongs to: each container has its own. */
  readonly space?: string | null
  /** The name of the pipe next to the lock that the process reads while it holds the lock. */
  readonly pipe?: string | null
}

/**
 * Takes the exclusive lock of an embedded database. PGlite has none: two processes that write to one directory silently lose rows. The lock of a
 * process that has ended is taken over.
 * @returns a function that releases the lock; it is also released when the process ends
 * @throws DatabaseRejected if another process holds the lock
 */
export function lockDirectory(directory: string): () => void {
  const path = `${directory}.lock`
  const folder = dirname(path)
  mkdirSync(dirname(folder), { recursive: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // Before the lock, which names it.
  const pipe = holdPipe(`${path}.${randomUUID()}`)
  try {
    takeLock(path, { directory, pipe: pipe ? basename(pipe.path) : null })
  } catch (error) {
    pipe?.release()
    throw error
  }
  let held = true
  const release = () => {
    process.removeListener('exit', release)
    // A second call must not remove the lock of its next holder.
    if (!held) return
    held = false
    removeFile(path)
    pipe?.release()
  }
  process.once('exit', release)
  return release
}

interface Taking {
  readonly directory: string
  readonly pipe: string | null
}

function takeLock(path: string, taking: Taking): void {
  if (create(path, taking)) return
  const takeover = `${path}.takeover`
  if (findLeftBehind(path, taking) === undefined) return takeLock(path, taking)
  // Only one process at a time may take over a lock. Otherwise a slow one would remove the lock that a fast one has just taken.
  takeLock(takeover, taking)
  try {
    const left = findLeftBehind(path, taking)
    if (left !== undefined) removeFile(path)
    if (left?.pipe != null) removeFile(pipeOf(path, left.pipe))
  } finally {
    removeFile(takeover)
  }
  takeLock(path, taking)
}

function create(path: string, { pipe }: Taking): boolean {
  const holder: Holder = {
    pid: process.pid,
    started: startOf(process.pid),
    host: hostname(),
    space: ownSpace(),
    pipe,
  }
  const file = open(path)
  if (file === undefined) return false
  try {
    writeFileSync(file, JSON.stringify(holder))
    return true
  } catch (error) {
    // Nobody could tell whose lock an empty file is.
    removeFile(path)
    throw error instanceof Error ? Object.assign(error, { path }) : error
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
 * Returns the holder of a lock if its process has ended; undefined if the lock is gone.
 * @throws DatabaseRejected if the lock is in use
 */
function findLeftBehind(path: string, { directory }: Taking): Holder | undefined {
  const text = read(path)
  if (text === undefined) return undefined
  const holder = parse(text)
  if (holder === undefined) throw uncheckable(path, directory, 'an unknown process')
  const running = isRunning(path, holder)
  if (running === undefined) throw uncheckable(path, directory, `process ${holder.pid} on ${holder.host}`)
  if (running) throw inUse(directory, holder)
  return holder
}

/** Whether a lock exists whose process has ended; false if that cannot be checked from here. */
export function isAbandoned(directory: string): boolean {
  const path = `${directory}.lock`
  const holder = parse(read(path) ?? '')
  return holder !== undefined && isRunning(path, holder) === false
}

function uncheckable(path: string, directory: string, who: string): DatabaseRejected {
  return new DatabaseRejected(`${directory} is in use by ${who}, which cannot be checked from here`, [
    `If no process uses the embedded database any more, remove ${path}`,
  ])
}

function inUse(directory: string, holder: Holder): DatabaseInUse {
  const { pid, host } = holder
  const [who, stop] = isSeen(holder)
    ? [`process ${pid}`, `stop it, and try again: kill ${pid}`]
    : [`process ${pid} of another container (host name ${host})`, 'stop that container, and try again']
  return new DatabaseInUse(`${directory} is in use by ${who}, and only one process can open it`, [
    stop,
    'or keep it running if it is `snippetctl serve`: it applies additions to resources.yaml and new files in migrations/ (snippetctl migrate plan --write NAME) that destroy no data; snippetctl db backup works while it runs',
    'or use a server, which several processes can use at the same time: DATABASE_URL=postgres://…',
  ])
}

/** Whether the process of a lock still runs; undefined if that cannot be checked from here. */
function isRunning(path: string, holder: Holder): boolean | undefined {
  const held = holder.pipe == null ? undefined : isHeld(pipeOf(path, holder.pipe))
  if (held === true) return true
  // A process of another machine does not keep the pipe of a shared folder open here.
  if (holder.host !== hostname()) return undefined
  if (held === false) return false
  return isSeen(holder) ? isAlive(holder) : undefined
}

function pipeOf(path: string, name: string): string {
  return join(dirname(path), basename(name))
}

/** Whether the pid of a holder means the same process here. */
function isSeen({ host, space = null }: Holder): boolean {
  return host === hostname() && (space === null || space === ownSpace())
}

/** Returns the namespace of the pids of this process; null if the system has none. */
function ownSpace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return null
  }
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
