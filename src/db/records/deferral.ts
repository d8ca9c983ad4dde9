import { identifier } from '../../fields/sql-literal.js'
import type { Connection } from '../database.js'

/** Foreign keys that are looked at only when everything is there. */
export interface Deferral {
  /**
   * Looks at all of them now, and makes them what they were.
   * @throws Problem `conflict` where one is broken
   */
  settle(): Promise<void>
}

const KEYS = `
  select k.conrelid::regclass::text, k.conname from pg_constraint k
  where k.contype = 'f' and not k.condeferrable and k.conrelid = any (select to_regclass(t) from json_array_elements_text($1) t)
  order by 1, 2`

/**
 * Lets the rows of some tables refer to others that come later in the same transaction. Nobody else can write to the tables until its
 * end. Only who owns the tables may do so.
 */
export async function deferForeignKeys(connection: Connection, tables: readonly string[]): Promise<Deferral> {
  const { rows } = await connection.query({ text: KEYS, values: [JSON.stringify(tables.map(identifier))] })
  const alterAll = async (how: string) => {
    for (const [table, name] of rows)
      await connection.query({
        text: `alter table ${table} alter constraint ${identifier(name ?? '')} ${how}`,
        values: [],
      })
  }
  await alterAll('deferrable initially deferred')
  return {
    async settle() {
      await connection.query({ text: 'set constraints all immediate', values: [] })
      await alterAll('not deferrable')
    },
  }
}
