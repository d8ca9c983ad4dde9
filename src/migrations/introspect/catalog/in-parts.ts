import type { Connection } from '../../../db/database.js'

/** How many tables one statement describes, so that it ends long before its time limit in a database of any size. */
const TABLES = 200

/**
 * Describes tables, some in each statement. `list` returns a JSON list of texts in one cell; `describe` returns a JSON list, and has its values and a part of
 * the first list as a JSON text after them.
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
  const all = await listOf(list.text, list.values)
  const tables: Table[] = []
  for (let start = 0; start < all.length; start += TABLES) {
    const part = JSON.stringify(all.slice(start, start + TABLES))
    tables.push(...((await listOf(describe.text, [...describe.values, part])) as readonly Table[]))
  }
  return tables
}
