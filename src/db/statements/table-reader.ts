import { tableAlias, tableSql } from '../../fields/table-name.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import type { Cell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import { comparedColumn } from '../../fields/compared-column.js'
import { enforcesKey } from './enforced-key.js'
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

/**
 * Yields every row of a table in primary-key order, a page at a time, within a transaction. Long rows make pages shorter, so that memory is bounded.
 * Rows without a key, or with the same one, come in the order of their texts.
 */
export async function* readTable(
  connection: Connection,
  { model, select }: Reading,
): AsyncIterable<readonly (readonly Cell[])[]> {
  const { rows } = await connection.query({ text: `select (${enforcesKey(model)})::text`, values: [] })
  const isByKey = rows[0]?.[0] === 'true'
  const read = isByKey ? readByKey(connection, { model, select }) : await readAll(connection, { model, select })
  yield* readPages(read, TARGET_LENGTH)
}

/** Reads the next rows, at most `limit`. */
export type ReadPage = (limit: number) => Promise<readonly (readonly Cell[])[]>

/** Yields pages until one is short. Each is about as long as `targetLength`, in characters, whatever the length of rows. */
export async function* readPages(
  read: ReadPage,
  targetLength: number,
): AsyncGenerator<readonly (readonly Cell[])[], void> {
  let size = FIRST_PAGE_SIZE
  for (;;) {
    const rows = await read(size)
    if (rows.length > 0) yield rows
    if (rows.length < size) return
    size = Math.max(1, Math.min(MAX_PAGE_SIZE, 2 * size, Math.floor(targetLength / averageLength(rows))))
  }
}

function readByKey(connection: Connection, { model: { table, key }, select }: Reading): ReadPage {
  const columns = key.map(columnOf(table))
  const texts = [...columns.map((column) => `${column}::text`), ...select].join(', ')
  const places = columns.map((_, at) => `$${at + 2}`).join(', ')
  const compares = key.map((field) => comparedColumn(field, tableAlias(table)))
  const after = ` where (${compares.join(', ')}) > (${places})`
  let last: readonly Cell[] | undefined
  return async (limit) => {
    const { rows } = await connection.query({
      text: `select ${texts} from ${tableSql(table)}${last ? after : ''} order by ${columns.join(', ')} limit $1::int`,
      values: [String(limit), ...(last ?? [])],
    })
    last = rows.at(-1)?.slice(0, columns.length)
    return rows.map((cells) => cells.slice(columns.length))
  }
}

/** Qualifies columns: unqualified they would resolve to the `::text` output columns, which sort differently. */
function columnOf(table: string): (field: FieldSpec) => string {
  return ({ column }) => `${tableAlias(table)}.${identifier(column)}`
}

const CURSOR = identifier('snippetctl reader')

async function readAll(connection: Connection, { model: { table, key }, select }: Reading): Promise<ReadPage> {
  const order = [...key.map(columnOf(table)), `row(${select.join(', ')})::text collate "C"`].join(', ')
  const text = `select ${select.join(', ')} from ${tableSql(table)} order by ${order}`
  await connection.query({ text: `declare ${CURSOR} no scroll cursor for ${text}`, values: [] })
  return async (limit) => {
    const { rows } = await connection.query({ text: `fetch ${limit} from ${CURSOR}`, values: [] })
    if (rows.length < limit) await connection.query({ text: `close ${CURSOR}`, values: [] })
    return rows
  }
}

function averageLength(rows: readonly (readonly Cell[])[]): number {
  const all = rows.reduce((sum, cells) => sum + cells.reduce((part, cell) => part + (cell?.length ?? 0), 0), 0)
  return Math.max(1, all / rows.length)
}
