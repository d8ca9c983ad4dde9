import { renameSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { removeAtExit } from '../../foundation/remove-at-exit.js'
import { DatabaseRejected } from '../database.js'
import { EMBEDDED_MAJOR, startPglite } from './pglite.js'
import { lockDirectory } from './lock.js'
import { reasonOf } from './reason.js'
import { endRestore, isThere, restoredFolder, settleRestores, unpackingFolder } from './temporary.js'

/** The number of stages of a restore. */
export const RESTORE_STAGES = 3

/**
 * Replaces an embedded database by the contents of a backup. The backup is unpacked next to the database and opened once before it takes its place;
 * the old database is moved aside, not deleted.
 * @param onStage is called at the start of each of the `RESTORE_STAGES`
 * @returns the new path of the old database; undefined if there was none
 * @throws DatabaseRejected if another process uses the database, or if the file is not a backup; then nothing is changed
 */
export async function restoreEmbedded(
  given: string,
  file: string,
  onStage: (stage: string) => void = () => {},
): Promise<string | undefined> {
  const directory = resolve(given)
  const unlock = lockDirectory(directory)
  const fresh = unpackingFolder(directory)
  const removeFresh = removeAtExit(fresh)
  try {
    await settleRestores(directory)
    await unpack(file, fresh, onStage)
    const aside = isThere(directory) ? freeName(directory, 'before-restore') : undefined
    // In one turn with the end of the restore, so that a signal comes before or after all of it. After a kill, the next command ends it.
    renameSync(fresh, restoredFolder(directory))
    if (aside !== undefined) renameSync(directory, aside)
    return aside
  } finally {
    removeFresh()
    endRestore(directory)
    unlock()
  }
}

async function unpack(file: string, folder: string, onStage: (stage: string) => void): Promise<void> {
  try {
    onStage('reading the backup')
    const archive = gunzipSync(await readFile(file))
    const version = readMember(archive, 'PG_VERSION')?.trim()
    if (version === undefined) throw new Error('it contains no database')
    if (version !== EMBEDDED_MAJOR)
      throw new Error(`PostgreSQL ${version} wrote it, but the embedded database is PostgreSQL ${EMBEDDED_MAJOR}`)
    // PGlite would abort without saying why.
    if (readMember(archive, CONTROL) === undefined)
      throw new Error(`it contains only a part of a database: ${CONTROL} is missing`)
    onStage('unpacking')
    const pglite = await startPglite({ dataDir: folder, loadDataDir: new Blob([archive]) })
    await pglite.query('select 1')
    onStage('counting rows')
    // Counts are estimated from statistics. Types of extensions that are not loaded here fail.
    await pglite.exec('analyze').catch(() => {})
    await pglite.close()
  } catch (error) {
    throw new DatabaseRejected(
      `${file} cannot be restored: ${reasonOf(error)}`,
      [
        'nothing was changed; restore a file that `snippetctl db backup` has written, on a disk with room for all of it',
      ],
      error,
    )
  }
}

const CONTROL = 'global/pg_control'
const BLOCK = 512

/** Returns the text of a file of a tar archive. */
function readMember(archive: Buffer, wanted: string): string | undefined {
  for (let at = 0; at + BLOCK <= archive.length; ) {
    const name = archive.toString('latin1', at, at + 100).replace(/\0.*$/s, '')
    const size = Number.parseInt(archive.toString('latin1', at + 124, at + 136), 8)
    if (name === '' || Number.isNaN(size)) return undefined
    if (name.replace(/^\.?\//, '') === wanted) return archive.toString('utf8', at + BLOCK, at + BLOCK + size)
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
  }
  return undefined
}

/** Returns an unused name next to a directory: `pg.before-reset-1` for `pg`, or the next number. */
export function freeName(directory: string, suffix: string): string {
  for (let number = 1; ; number++) {
    const name = `${directory}.${suffix}-${number}`
    if (!isThere(name)) return name
  }
}
