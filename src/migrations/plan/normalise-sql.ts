import { identifier, literal } from '../../fields/sql-literal.js'
import type { Connection } from '../../db/database.js'
import { type Catalog, type CatalogTable, readCatalog } from '../introspect/catalog.js'
import { block } from './conversions.js'
import { rolledBack } from '../run/session.js'

/**
 * Normalises the SQL of checks, defaults and indexes: this database parses each expression and prints it again. PostgreSQL prints an expression
 * depending on how it was written, and versions differ, so two expressions can only be compared after one database has printed both.
 * An expression that this database cannot parse stays as it is.
 */
export async function normaliseSql(session: Connection, tables: Catalog): Promise<Catalog> {
  const attempts = tables.flatMap((table) => (isExpressive(table) ? [attempt(table)] : []))
  if (attempts.length === 0) return tables
  const told = await rolledBack(session, async () => {
    await session.query({ text: block(['begin', ...attempts.flat(), 'end']), values: [] })
    const { rows } = await session.query({ text: 'select pg_my_temp_schema()::regnamespace::text', values: [] })
    return readCatalog(session, rows[0]?.[0] ?? '')
  })
  return tables.map((table) =>
    takeSpelling(
      table,
      told.find(({ name }) => name === table.name),
    ),
  )
}

const isExpressive = ({ columns, constraints, indexes }: CatalogTable): boolean =>
  columns.some((column) => column.default !== null) ||
  constraints.some(({ kind }) => kind === 'check') ||
  indexes.some(hasExpression)

/** An index of plain columns has no expression. */
const hasExpression = ({ columns, definition }: CatalogTable['indexes'][number]): boolean =>
  columns.includes(null) || / WHERE /.test(definition)

/** Creates a temporary table that hides the real one, with those expressions that this database can parse. */
function attempt({ name, columns, constraints, indexes }: CatalogTable): readonly string[] {
  const alter = `alter table pg_temp.${identifier(name)}`
  return [
    `create temporary table ${identifier(name)} ()`,
    ...columns.map((column) => {
      const collate = column.collation === null ? '' : ` collate ${identifier(column.collation)}`
      return `${alter} add column ${identifier(column.name)} ${column.type}${collate}`
    }),
    ...columns
      .filter((column) => column.default !== null)
      .map((column) => `${alter} alter column ${identifier(column.name)} set default ${column.default}`),
    ...constraints
      .filter(({ kind }) => kind === 'check')
      .map((check) => `${alter} add constraint ${identifier(check.name)} ${check.definition}`),
    ...indexes.filter(hasExpression).map(({ definition }) => definition),
  ]
    .flatMap((statement) => [`begin execute ${literal(statement)}`, 'exception when others then null', 'end'])
    .map((line) => `${line};`)
}

function takeSpelling(table: CatalogTable, told: CatalogTable | undefined): CatalogTable {
  if (!told) return table
  const definitionIn = (parts: readonly { readonly name: string; readonly definition: string }[], name: string) =>
    parts.find((part) => part.name === name)?.definition
  return {
    ...table,
    columns: table.columns.map((column) => ({
      ...column,
      default: told.columns.find(({ name }) => name === column.name)?.default ?? column.default,
    })),
    constraints: table.constraints.map((constraint) => {
      const definition = definitionIn(told.constraints, constraint.name)
      return definition === undefined ? constraint : { ...constraint, definition }
    }),
    indexes: table.indexes.map((index) => ({
      ...index,
      definition: definitionIn(told.indexes, index.name) ?? index.definition,
    })),
  }
}
