import { tableSql } from '../../../fields/table-name.js'
import { FIELD_TYPES } from '../../../fields/index.js'
import { identifier, literal } from '../../../fields/sql-literal.js'
import type { Connection } from '../../../db/database.js'
import type { Catalog, CatalogColumn, CatalogTable } from '../../introspect/catalog/catalog.js'
import { attempt } from '../../run/session.js'

const ROWS = 3

/**
 * Inserts a few rows into the tables of the current schema, as far as trial and error satisfies their rules.
 * @returns the number of rows
 */
export async function fillTables(session: Connection, tables: Catalog): Promise<number> {
  let made = 0
  for (const table of tables) {
    for (let row = 0; row < ROWS; row++) if (await insertRow(session, table, row)) made += 1
  }
  return made
}

/** The first rows cannot refer to others yet, so the caller checks foreign keys. */
async function insertRow(session: Connection, table: CatalogTable, row: number): Promise<boolean> {
  const columns = table.columns.filter(({ generated }) => !generated)
  const choice = new Map(columns.map(({ name }) => [name, row]))
  for (let tries = 0; tries < 12; tries++) {
    const values = columns.map((column) => valueOf(column, choice.get(column.name) ?? 0))
    if (values.includes(undefined)) return false
    const text = `insert into ${tableSql(table.name)} (${columns.map(({ name }) => identifier(name)).join(', ')})
      overriding system value values (${values.join(', ')})`
    const rejected = await attempt(session, () => session.query({ text, values: [] }))
    if (rejected === undefined) return true
    const blamed = table.constraints.find(({ name }) => name === rejected.constraint)?.columns ?? []
    if (blamed.length === 0) return false
    for (const name of blamed) if (name !== null) choice.set(name, (choice.get(name) ?? 0) + 1)
  }
  return false
}

/** The row selects the value; if a rule rejects it, the next one is tried. */
function valueOf({ type, nullable }: CatalogColumn, choice: number): string | undefined {
  const known = FIELD_TYPES.find(({ samples }) => samples?.columns.test(type))?.samples?.texts
  const value = known?.[choice % known.length]
  if (value !== undefined) return `${literal(value)}::${type}`
  return nullable ? 'null' : undefined
}
