import type { ModelSpec } from '../../config/spec.js'
import type { Cell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Connection } from '../database.js'

/** What is read of a table, in the order of its key. */
export interface Reading {
  readonly model: ModelSpec
  /** SQL expressions of text. */
  readonly select: readonly string[]
}

const FIRST_PAGE = 100
const LARGEST_PAGE = 1_000
/** Characters that a page should have, whatever the length of its rows. */
const WANTED = 2 ** 21

/** Every row of a table in the order of its key, a page at a time; long rows make short pages, so that memory is bounded. */
export async function* readPages(
  connection: Connection,
  { model: { table, primaryKey }, select }: Reading,
): AsyncIterable<readonly (readonly Cell[])[]> {
  // With its table: alone, its name would mean the text that is selected, and texts have another order.
  const column = `${identifier(table)}.${identifier(primaryKey.column)}`
  const type = primaryKey.type.column(primaryKey.options)
  const text = (where: string) =>
    `select ${column}::text, ${select.join(', ')} from ${identifier(table)} ${where} order by ${column} limit `
  let size = FIRST_PAGE
  let last: Cell | undefined
  for (;;) {
    const asked = size
    const { rows } = await connection.query(
      last === undefined
        ? { text: `${text('')}$1::int`, values: [String(asked)] }
        : { text: `${text(`where ${column} > $2::${type}`)}$1::int`, values: [String(asked), last] },
    )
    if (rows.length > 0) yield rows.map(([, ...cells]) => cells)
    if (rows.length < asked) return
    last = rows.at(-1)?.[0]
    size = Math.max(1, Math.min(LARGEST_PAGE, 2 * size, Math.floor(WANTED / averageLength(rows))))
  }
}

function averageLength(rows: readonly (readonly Cell[])[]): number {
  const all = rows.reduce((sum, cells) => sum + cells.reduce((part, cell) => part + (cell?.length ?? 0), 0), 0)
  return Math.max(1, all / rows.length)
}

/** Makes a transaction that has only begun a look at one moment, which may take as long as its reader does. */
export async function holdSnapshot(connection: Connection): Promise<void> {
  await connection.query({ text: 'set transaction isolation level repeatable read, read only', values: [] })
  await connection.query({ text: `set local idle_in_transaction_session_timeout = 0`, values: [] })
}
