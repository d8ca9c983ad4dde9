import { formattedTable } from '../../fields/table-name.js'
import type { Connection } from '../../db/database.js'

/** From this many rows on, requests notice the time that PostgreSQL needs to read a table. */
const MANY_ROWS = 100_000

/** A table that was never analysed has an unknown number of rows, which its size bounds. */
const BYTES_OF_ROW = 100

const ROWS = `
  select ${formattedTable('c', 'n')},
    (case when c.reltuples > 0 then c.reltuples else pg_relation_size(c.oid) / ${BYTES_OF_ROW} end)::bigint::text
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and ${formattedTable('c', 'n')} = any(array(select jsonb_array_elements_text($1::jsonb)))`

/** Which tables of a database have many rows, with about how many. */
export async function largeTables(
  database: Connection,
  tables: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await database.query({ text: ROWS, values: [JSON.stringify(tables)] })
  const sizes = rows.map(([name, count]) => [name ?? '', Number(count)] as const)
  return new Map(sizes.filter(([, count]) => count >= MANY_ROWS))
}
