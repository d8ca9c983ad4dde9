import type { ModelSpec } from '../../config/spec.js'
import { tableSql } from '../../fields/table-name.js'
import { Problem } from '../../foundation/problem.js'
import type { Connection } from '../database.js'

/**
 * Updates the statistics of tables that were filled at once, because counts are estimated from them. The embedded database never does it on its
 * own.
 */
export async function analyzeTables(connection: Connection, models: Iterable<ModelSpec>): Promise<void> {
  for (const { table } of new Set(models)) {
    try {
      await connection.query({ text: `analyze ${tableSql(table)}`, values: [] })
    } catch (error) {
      // The records are stored. A server analyzes the table later.
      if (!(error instanceof Problem)) throw error
    }
  }
}
