import { DatabaseRejected, type FindLarge, largeTables } from '../../src/internal.js'
import type { CliContext } from '../context.js'
import { openReachable } from '../database/database.js'
import { Failure } from '../failure.js'

/**
 * Finds the tables whose requests must not wait: all with `--concurrently`, none with `--no-concurrently`, otherwise those with many rows in a
 * database on a server, which others use at the same time.
 */
export function findLargeTables(
  context: CliContext,
  { file, concurrently }: { readonly file: string; readonly concurrently: boolean | undefined },
): FindLarge {
  return async (tables) => {
    if (concurrently !== undefined) return new Set(concurrently ? tables : [])
    // Nobody else uses an embedded database.
    if (context.env['DATABASE_URL'] === undefined) return new Set()
    const database = await openReachable(context, file).catch((error: unknown) => {
      if (!(error instanceof DatabaseRejected || error instanceof Failure)) throw error
    })
    if (!database) return new Set()
    try {
      const large = await largeTables(database, tables)
      for (const [table, rows] of large)
        context.err.line(
          `note: ${table} has about ${rows.toLocaleString('en-US')} rows: steps that would block its requests are written to a second file, without a transaction (--no-concurrently: to one file)`,
        )
      return new Set(large.keys())
    } finally {
      await database.close()
    }
  }
}
