import type { AppSpec } from '../../config/spec.js'
import { openScratch } from '../../db/open.js'
import { digestRows, type RowDigests, SPELLING } from '../../db/records/row-digests.js'
import { type MigrationFolder, readMigrations } from '../files/files.js'
import { onReplayed, runAll } from './scratch.js'

/**
 * Computes digests of the rows that the migration files insert, by running them in an empty embedded database.
 * @throws MigrationError if a file cannot be read or run
 */
export async function digestMadeRows({ models }: AppSpec, directory: MigrationFolder): Promise<RowDigests> {
  const files = await readMigrations(directory)
  const scratch = await openScratch()
  try {
    return await onReplayed(scratch, files, async (session) => {
      await runAll(session, SPELLING)
      return digestRows(
        session,
        models.filter(({ managed }) => managed),
      )
    })
  } finally {
    await scratch.close()
  }
}
