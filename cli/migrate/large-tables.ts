import { DatabaseRefused, type FindLarge, largeTables } from '../../src/internal.js'
import type { CliContext } from '../context.js'
import { hasDatabase, openReachable } from '../database/database.js'
import { Failure } from '../failure.js'

/**
 * Finds the tables whose requests must not wait: all with `--concurrently`, none with `--no-concurrently`, otherwise those with many rows in a
 * database that others use at the same time.
 */
export function findLargeTables(
  context: CliContext,
  { file, concurrently }: { readonly file: string; readonly concurrently: boolean | undefined },
): FindLarge {
  return async (tables) => {
    if (concurrently !== undefined) return new Set(concurrently ? tables : [])
    if (!hasDatabase(context, file)) return new Set()
    const database = await openReachable(context, file).catch((error: unknown) => {
      if (!(error instanceof DatabaseRefused || error instanceof Failure)) throw error
    })
    if (!database) return new Set()
    try {
      if (!database.concurrent) return new Set()
      const large = await largeTables(database, tables)
      for (const [table, rows] of large)
        context.err.line(
          `note: ${table} has about ${rows.toLocaleString('en-US')} rows: what would block its requests goes into a second file, without a transaction (--no-concurrently: into one)`,
        )
      return new Set(large.keys())
    } finally {
      await database.close()
    }
  }
}
