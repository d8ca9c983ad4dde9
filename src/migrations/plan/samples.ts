import { identifier, literal } from '../../fields/sql-literal.js'
import type { Connection } from '../../db/database.js'
import type { Catalog, CatalogColumn, CatalogTable } from '../introspect/catalog.js'
import { attempt } from '../run/session.js'

const ROWS = 3

/** Values of each type, as text: the row decides which one is taken, and a rule that refuses it asks for the next. */
const VALUES: readonly (readonly [type: RegExp, values: readonly string[]])[] = [
  [/^(?:text|character)/, ['a', 'b', 'c', 'sample', 'another sample', '1234', '1234567890123']],
  [/^(?:smallint|integer|bigint)/, ['1', '2', '3', '10', '100', '0', '-1']],
  [/^numeric/, ['1', '2', '3', '0.5', '0']],
  [/^(?:double|real)/, ['1.5', '2', '3', '0', '-1']],
  [/^boolean/, ['true', 'false', 'true']],
  [/^date/, ['2026-11-21', '2024-02-29', '1999-12-31']],
  [/^timestamp/, ['2026-11-21T10:00:00Z', '2024-02-29T00:00:00Z', '1999-12-31T23:59:59.999999Z']],
  [
    /^uuid/,
    [
      '5f0c6f1e-7a53-4b52-9d4f-0d5a8a1c2b3e',
      '5f0c6f1e-7a53-4b52-9d4f-0d5a8a1c2b3f',
      '5f0c6f1e-7a53-4b52-9d4f-0d5a8a1c2b40',
    ],
  ],
  [/^jsonb?/, ['{"a": 1}', '[1, "b"]', 'true']],
]

/**
 * Puts a few rows into the tables of the current schema, as far as their rules can be met by trying.
 * @returns how many rows there are
 */
export async function fillTables(session: Connection, tables: Catalog): Promise<number> {
  let made = 0
  for (const table of tables) {
    for (let row = 0; row < ROWS; row++) if (await insertRow(session, table, row)) made += 1
  }
  return made
}

/** The first rows refer to nothing yet, so foreign keys are looked at by whoever runs this, not here. */
async function insertRow(session: Connection, table: CatalogTable, row: number): Promise<boolean> {
  const columns = table.columns.filter(({ generated }) => !generated)
  const choice = new Map(columns.map(({ name }) => [name, row]))
  for (let tries = 0; tries < 12; tries++) {
    const values = columns.map((column) => valueOf(column, choice.get(column.name) ?? 0))
    if (values.includes(undefined)) return false
    const text = `insert into ${identifier(table.name)} (${columns.map(({ name }) => identifier(name)).join(', ')})
      overriding system value values (${values.join(', ')})`
    const refused = await attempt(session, () => session.query({ text, values: [] }))
    if (refused === undefined) return true
    const blamed = table.constraints.find(({ name }) => name === refused.constraint)?.columns ?? []
    if (blamed.length === 0) return false
    for (const name of blamed) if (name !== null) choice.set(name, (choice.get(name) ?? 0) + 1)
  }
  return false
}

function valueOf({ type, nullable }: CatalogColumn, choice: number): string | undefined {
  const known = VALUES.find(([pattern]) => pattern.test(type))?.[1]
  const value = known?.[choice % known.length]
  if (value !== undefined) return `${literal(value)}::${type}`
  return nullable ? 'null' : undefined
}
