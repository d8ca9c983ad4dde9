import { tableSql } from '../../../fields/table-name.js'
import { FIELD_TYPES } from '../../../fields/index.js'
import { identifier, literal } from '../../../fields/sql-literal.js'
import type { Connection } from '../../../db/database.js'
import type { Catalog, CatalogColumn, CatalogTable } from '../../introspect/catalog/catalog.js'
import { attempt } from '../../run/session.js'
import { inChunks } from '../compare/normalise-sql.js'
import { choicesOf as limitedTo } from '../steps/enum-steps.js'

const ROWS = 3

/** The number of tables that are first filled by one query. */
const TABLES = 50

/**
 * Inserts a few rows into the tables of the current schema, as far as trial and error satisfies their rules.
 * @returns the number of rows
 */
export async function fillTables(session: Connection, tables: Catalog): Promise<number> {
  let made = 0
  for (const some of inChunks(tables, TABLES)) {
    if (await insertAll(session, some)) made += some.length * ROWS
    else for (const table of some) made += (await insertAll(session, [table])) ? ROWS : await insertRows(session, table)
  }
  return made
}

/** Inserts the first choices of all rows, or nothing. */
async function insertAll(session: Connection, tables: Catalog): Promise<boolean> {
  const inserts = tables.map((table) =>
    insertSql(
      table,
      Array.from({ length: ROWS }, (_, row) => choicesOf(table, row)),
    ),
  )
  if (inserts.includes(undefined)) return false
  return (await attempt(session, () => session.query({ text: inserts.join(';\n'), values: [] }))) === undefined
}

async function insertRows(session: Connection, table: CatalogTable): Promise<number> {
  let made = 0
  for (let row = 0; row < ROWS; row++) if (await insertRow(session, table, row)) made += 1
  return made
}

/** The first rows cannot refer to others yet, so the caller checks foreign keys. */
async function insertRow(session: Connection, table: CatalogTable, row: number): Promise<boolean> {
  const choices = choicesOf(table, row)
  for (let tries = 0; tries < 12; tries++) {
    const text = insertSql(table, [choices])
    if (text === undefined) return false
    const rejected = await attempt(session, () => session.query({ text, values: [] }))
    if (rejected === undefined) return true
    const blamed = table.constraints.find(({ name }) => name === rejected.constraint)?.columns ?? []
    if (blamed.length === 0) return false
    for (const name of blamed) if (name !== null) choices.set(name, (choices.get(name) ?? 0) + 1)
  }
  return false
}

/** The number of the value of each column, which is also that of the row at first. */
type Choices = Map<string, number>

function insertedColumns({ columns }: CatalogTable): readonly CatalogColumn[] {
  return columns.filter(({ generated }) => !generated)
}

function choicesOf(table: CatalogTable, row: number): Choices {
  return new Map(insertedColumns(table).map(({ name }) => [name, row]))
}

/** Undefined if a column that does not accept null has no sample values. */
function insertSql(table: CatalogTable, rows: readonly Choices[]): string | undefined {
  const columns = insertedColumns(table)
  const texts = columns.map((column) => textsFor(table, column))
  const values = rows.map((choices) =>
    columns.map((column, at) => valueOf(column, texts[at] ?? [], choices.get(column.name) ?? 0)),
  )
  if (values.some((row) => row.includes(undefined))) return undefined
  return `insert into ${tableSql(table.name)} (${columns.map(({ name }) => identifier(name)).join(', ')})
      overriding system value values ${values.map((row) => `(${row.join(', ')})`).join(', ')}`
}

/** The sample values of a column: its choices, if an enum or a check limits it to some. */
function textsFor(table: CatalogTable, { name, type, labels }: CatalogColumn): readonly string[] {
  const known = FIELD_TYPES.find(({ samples }) => samples?.columns.test(type))?.samples?.texts
  return limitedTo(table, name) ?? known ?? labels ?? []
}

/** The row selects the value; if a rule rejects it, the next one is tried. */
function valueOf({ type, nullable }: CatalogColumn, texts: readonly string[], choice: number): string | undefined {
  const value = texts[choice % texts.length]
  if (value !== undefined) return `${literal(value)}::${type}`
  return nullable ? 'null' : undefined
}
