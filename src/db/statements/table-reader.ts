import type { ModelSpec } from '../../config/spec.js'
import type { Cell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Connection } from '../database.js'

/** The table and columns to read. */
export interface Reading {
  readonly model: ModelSpec
  /** SQL expressions of type text. */
  readonly select: readonly string[]
}

const FIRST_PAGE_SIZE = 100
const MAX_PAGE_SIZE = 1_000
/** The target size of a page in characters, regardless of the length of its rows. */
const TARGET_LENGTH = 2 ** 21

/** Yields every row of a table in primary-key order, a page at a time. Long rows make pages shorter, so that memory is bounded. */
export async function* readTable(
  connection: Connection,
  { model: { table, primaryKey }, select }: Reading,
): AsyncIterable<readonly (readonly Cell[])[]> {
  // Qualify the column: unqualified it would resolve to the `::text` output column, which sorts differently.
  const column = `${identifier(table)}.${identifier(primaryKey.column)}`
  const type = primaryKey.type.column(primaryKey.options)
  const text = (where: string) =>
    `select ${column}::text, ${select.join(', ')} from ${identifier(table)} ${where} order by ${column} limit `
  let size = FIRST_PAGE_SIZE
  let last: Cell | undefined
  for (;;) {
    const limit = size
    const { rows } = await connection.query(
      last === undefined
        ? { text: `${text('')}$1::int`, values: [String(limit)] }
        : { text: `${text(`where ${column} > $2::${type}`)}$1::int`, values: [String(limit), last] },
    )
    if (rows.length > 0) yield rows.map(([, ...cells]) => cells)
    if (rows.length < limit) return
    last = rows.at(-1)?.[0]
    size = Math.max(1, Math.min(MAX_PAGE_SIZE, 2 * size, Math.floor(TARGET_LENGTH / averageLength(rows))))
  }
}

function averageLength(rows: readonly (readonly Cell[])[]): number {
  const all = rows.reduce((sum, cells) => sum + cells.reduce((part, cell) => part + (cell?.length ?? 0), 0), 0)
  return Math.max(1, all / rows.length)
}

/** Turns a transaction that has just begun into a snapshot, which may be read for any length of time. */
export async function startSnapshot(connection: Connection): Promise<void> {
  await connection.query({ text: 'set transaction isolation level repeatable read, read only', values: [] })
  await connection.query({ text: `set local idle_in_transaction_session_timeout = 0`, values: [] })
}
