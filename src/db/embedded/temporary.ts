import { lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { removeAtExit } from '../../foundation/remove-at-exit.js'
import { isAbandoned, lockDirectory } from './lock.js'

export interface TemporaryFolder {
  readonly path: string
  remove(): void
}

/** The name before `.lock` of the lock that names the process of a temporary folder. */
const OWNER = 'owner'

/**
 * Creates a folder in the system's folder for temporary files, removes it at the latest when this process exits, and removes those of the same prefix whose
 * process was killed.
 */
export async function makeTemporary(prefix: string): Promise<TemporaryFolder> {
  const start = `snippetctl-${prefix}-`
  await removeAbandoned(start)
  const path = mkdtempSync(join(tmpdir(), start))
  const release = lockDirectory(join(path, OWNER))
  const removeNow = removeAtExit(path)
  return {
    path,
    remove() {
      release()
      removeNow()
    },
  }
}

async function removeAbandoned(start: string): Promise<void> {
  const parent = tmpdir()
  const paths = listFolder(parent).flatMap((name) => (name.startsWith(start) ? [join(parent, name)] : []))
  for (const path of paths) {
    if (isOwn(path) && isAbandoned(join(path, OWNER)))
      // Another process may be removing it, too.
      await rm(path, { recursive: true, force: true }).catch(() => {})
  }
}

/** Whether a path is a folder of this user. */
function isOwn(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isDirectory() === true && found.uid === process.getuid?.()
}

/** Returns the names in a folder; none if it cannot be listed, as then nothing of ours can be found in it. */
function listFolder(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

const RESTORING = 'snippetctl-restoring'
/** The end of the name, after that of the database. People give copies of databases other names. */
const UNPACKED = new RegExp(`^\\.${RESTORING}-\\d+$`)

/** Returns the folder next to a database in which this process unpacks a backup. */
export function unpackingFolder(directory: string): string {
  return `${directory}.${RESTORING}-${process.pid}`
}

/** Returns the folder of a backup that is complete, and may take the place of the database. */
export function restoredFolder(directory: string): string {
  return `${directory}.snippetctl-restored`
}

/** Ends a restore that was killed after it had moved the database aside. @throws DatabaseRejected if it still runs */
export function finishRestore(given: string): void {
  const directory = resolve(given)
  if (isThere(directory) || !isThere(restoredFolder(directory))) return
  const unlock = lockDirectory(directory)
  try {
    endRestore(directory)
  } finally {
    unlock()
  }
}

/** Puts the backup of a restore in the place of a database that was moved aside; removes it if that did not happen. Only for the holder of the lock. */
export function endRestore(directory: string): void {
  const restored = restoredFolder(directory)
  if (isThere(directory)) rmSync(restored, { recursive: true, force: true })
  else if (isThere(restored)) renameSync(restored, directory)
}

/** Whether there is anything at a path, such as a link to a folder that does not exist; false also if one of its folders is a file. */
export function isThere(path: string): boolean {
  try {
    lstatSync(path)
    return true
  } catch {
    return false
  }
}

/**
 * Ends a restore that was killed after it had moved the database aside, and removes what earlier ones have unpacked, if the database itself is there. Only
 * for the holder of its lock, because a restore holds it.
 */
export async function settleRestores(directory: string): Promise<void> {
  endRestore(directory)
  if (!isThere(directory)) return
  const [parent, name] = [dirname(directory), basename(directory)]
  const left = listFolder(parent).filter((each) => each.startsWith(name) && UNPACKED.test(each.slice(name.length)))
  for (const each of left) await rm(join(parent, each), { recursive: true, force: true }).catch(() => {})
}
