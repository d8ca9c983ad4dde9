import { tableSql } from '../../fields/table-name.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Connection } from '../database.js'

/** Foreign keys that are checked only when all rows are written. */
export interface Deferral {
  /**
   * Checks all of them now and restores their settings.
   * @throws Problem `conflict` if one is violated
   */
  settle(): Promise<void>
}

// The constraints that PostgreSQL derives for partitions change with their parents, and cannot be altered.
const KEYS = `
  select k.conrelid::regclass::text, k.conname from pg_constraint k
  where k.contype = 'f' and not k.condeferrable and k.conparentid = 0 and k.conrelid = any (select to_regclass(t) from json_array_elements_text($1) t)
  order by 1, 2`

/**
 * Lets rows refer to others that are written later in the transaction. Nobody else can write to the tables until it ends. Requires ownership of the
 * tables.
 */
export async function deferForeignKeys(connection: Connection, tables: readonly string[]): Promise<Deferral> {
  const { rows } = await connection.query({ text: KEYS, values: [JSON.stringify(tables.map(tableSql))] })
  const alterAll = async (how: string) => {
    for (const [table, name] of rows)
      await connection.query({
        text: `alter table ${table} alter constraint ${identifier(name ?? '')} ${how}`,
        values: [],
      })
  }
  await alterAll('deferrable initially deferred')
  await connection.query({ text: 'set constraints all deferred', values: [] })
  return {
    async settle() {
      await connection.query({ text: 'set constraints all immediate', values: [] })
      await alterAll('not deferrable')
    },
  }
}
