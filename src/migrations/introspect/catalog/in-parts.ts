import type { Connection } from '../../../db/database.js'

/** How many tables and columns one statement describes, so that it ends long before its time limit in a database of any size. */
export const TABLES = 200
const COLUMNS = 1000

/**
 * Describes tables, some in each statement. `list` returns a JSON list in one cell, in which each table has its OID as a text and its number of columns;
 * `describe` returns a JSON list of tables, and its last parameter is a JSON list of OIDs.
 */
export async function describeInParts<Table>(
  connection: Connection,
  list: { readonly text: string; readonly values: readonly (string | null)[] },
  describe: { readonly text: string; readonly values: readonly (string | null)[] },
): Promise<readonly Table[]> {
  const listOf = async (text: string, values: readonly (string | null)[]): Promise<readonly unknown[]> => {
    const { rows } = await connection.query({ text, values })
    return JSON.parse(rows[0]?.[0] ?? '[]') as readonly unknown[]
  }
  const tables: Table[] = []
  for (const part of partsOf((await listOf(list.text, list.values)) as readonly Listed[])) {
    tables.push(...((await listOf(describe.text, [...describe.values, JSON.stringify(part)])) as readonly Table[]))
  }
  return tables
}

type Listed = readonly [oid: string, columns: number]

/** Tables, given with their numbers of columns, in parts of which one statement describes each. */
export function partsOf<Table>(
  all: readonly (readonly [table: Table, columns: number])[],
): readonly (readonly Table[])[] {
  const parts: Table[][] = []
  let columns = 0
  for (const [table, width] of all) {
    const last = parts.at(-1)
    columns += width
    if (last && last.length < TABLES && columns <= COLUMNS) last.push(table)
    else {
      parts.push([table])
      columns = width
    }
  }
  return parts
}
