import { identifier, literal } from '../../../fields/sql-literal.js'
import type { Connection } from '../../../db/database.js'
import {
  type Catalog,
  type CatalogColumn,
  type CatalogConstraint,
  type CatalogTable,
  readCatalog,
} from '../../introspect/catalog/catalog.js'
import { collationSql } from '../../introspect/catalog/collation.js'
import { block } from '../steps/conversions.js'
import { type Check, packChecks, type PackedTable } from './pack-checks.js'
import { find } from './pair.js'
import { rolledBack } from '../../run/session.js'

/**
 * Normalises the SQL of checks, defaults, generated columns and indexes: this database parses each expression and prints it again. PostgreSQL prints an expression
 * depending on how it was written, and versions differ, so two expressions can only be compared after one database has printed both.
 * An expression that this database cannot parse stays as it is.
 */
export async function normaliseSql(session: Connection, tables: Catalog): Promise<Catalog> {
  const defaults = distinctDefaults(tables)
  const [others, alone] = [tables.filter((table) => !isAlone(table)), tables.filter(isAlone)]
  const checks = packChecks(
    others.flatMap((table) => checksOf(table).map((check) => withColumns(table, check))),
    MAX_COLUMNS,
  )
  const specimens = [
    ...inChunks([...defaults.values()], MAX_COLUMNS).map(tableOfDefaults),
    ...checks.tables.map(tableOfChecks),
    ...alone.map(withoutDefaults).map(withNamedColumns),
  ]
  if (specimens.length === 0) return tables
  const normalised = await rolledBack(session, async () => {
    await session.query({ text: block(['begin', ...specimens.flatMap(attempt), 'end']), values: [] })
    const { rows } = await session.query({ text: 'select pg_my_temp_schema()::regnamespace::text', values: [] })
    return readCatalog(session, rows[0]?.[0] ?? '')
  })
  const byName = new Map(normalised.map((table) => [table.name, table]))
  const printed = new Map(
    normalised.flatMap(({ columns }) => columns.map((column) => [column.name, column.default] as const)),
  )
  const printedDefault = (column: CatalogColumn): string | null => {
    const specimen = defaults.get(keyOfDefault(column))
    return (specimen && printed.get(specimen.name)) ?? column.default
  }
  const printedChecks = new Map(
    normalised
      .filter(({ name }) => name.startsWith(CHECKS))
      .flatMap(({ constraints }) => constraints.map(({ name, definition }) => [name, definition] as const)),
  )
  const withPrintedChecks = (table: CatalogTable): CatalogTable => {
    const printedCheck = (check: CatalogConstraint) =>
      (check.kind === 'check' ? printedChecks.get(checks.nameOf(withColumns(table, check)) ?? '') : undefined) ??
      check.definition
    return {
      ...table,
      constraints: table.constraints.map((check) => ({ ...check, definition: printedCheck(check) })),
    }
  }
  const sharing = new Set(others)
  return tables.map((table) =>
    sharing.has(table)
      ? takeSpelling(withPrintedChecks(table), undefined, printedDefault)
      : takeSpelling(table, byName.get(table.name), printedDefault),
  )
}

/** Defaults that PostgreSQL prints as they are: numbers, string literals, sequences and the common functions. */
const PRINTED_ALIKE =
  /^(?:\d+(?:\.\d+)?|true|false|now\(\)|CURRENT_TIMESTAMP|gen_random_uuid\(\)|nextval\('[^']+'::regclass\)|'(?:[^'\\]|'')*'::(?:text|character varying|bpchar|jsonb))$/

function keyOfDefault({ type, collation, default: value }: CatalogColumn): string {
  return JSON.stringify([type, collation, value])
}

/** Makes one column for each distinct default, by `keyOfDefault`: a default cannot refer to columns, so it is printed alike for all columns of its type. */
function distinctDefaults(tables: Catalog): ReadonlyMap<string, CatalogColumn> {
  const columns = tables.flatMap(({ columns }) =>
    columns.filter(({ default: value }) => value !== null && !PRINTED_ALIKE.test(value)),
  )
  const distinct = new Map(columns.map((column) => [keyOfDefault(column), column]))
  return new Map([...distinct].map(([key, column], place) => [key, { ...column, name: `default ${place}` }]))
}

/** The number of columns of one table, or of results of one statement; PostgreSQL allows 1,600. */
export const MAX_COLUMNS = 500

export function inChunks<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  return items.length === 0 ? [] : [items.slice(0, size), ...inChunks(items.slice(size), size)]
}

function tableOfDefaults(columns: readonly CatalogColumn[], place: number): CatalogTable {
  return { name: `snippetctl defaults ${place}`, columns, constraints: [], indexes: [] }
}

const CHECKS = 'snippetctl checks '

function tableOfChecks({ columns, checks }: PackedTable<CatalogColumn>, place: number): CatalogTable {
  const constraint = { kind: 'check', columns: [], validated: true, target: null, targetColumns: [] } as const
  const constraints = checks.map((check) => ({ ...constraint, ...check }))
  return { name: `${CHECKS}${place}`, columns, constraints, indexes: [] }
}

/** A check with the columns that it may use, as far as their parts affect it. */
function withColumns({ columns }: CatalogTable, { definition }: CatalogConstraint): Check<CatalogColumn> {
  const used = columns.filter(({ name }) => mentions(definition, name))
  return { columns: used.map((column) => ({ ...column, ...NO_PARTS })), definition }
}

const NO_PARTS = { default: null, nullable: true, identity: null, sequence: null } as const

function withoutDefaults(table: CatalogTable): CatalogTable {
  return {
    ...table,
    columns: table.columns.map((column) => ({ ...column, default: null })),
  }
}

/** Leaves out the columns that no expression uses: for a table with a text column, PostgreSQL also creates a TOAST table. */
function withNamedColumns(table: CatalogTable): CatalogTable {
  const texts = [
    ...table.columns.map(({ generated }) => generated ?? ''),
    ...[...checksOf(table), ...expressionIndexesOf(table)].map(({ definition }) => definition),
  ]
  const isNeeded = ({ name, generated }: CatalogColumn) =>
    generated !== null || texts.some((text) => mentions(text, name))
  return { ...table, columns: table.columns.filter(isNeeded) }
}

function checksOf({ constraints }: CatalogTable) {
  return constraints.filter(({ kind }) => kind === 'check')
}

function expressionIndexesOf({ indexes }: CatalogTable) {
  return indexes.filter(hasExpression)
}

/** Whether the expressions of a table need a table with its name: they have more than checks, or a check may refer to the whole row. */
function isAlone(table: CatalogTable): boolean {
  return (
    table.columns.some(({ generated }) => generated !== null) ||
    expressionIndexesOf(table).length > 0 ||
    checksOf(table).some(({ definition }) => mentions(definition, table.name))
  )
}

/** Whether SQL may contain a name. */
function mentions(text: string, name: string): boolean {
  return text.includes(name.replaceAll('"', '""'))
}

/** Whether an index has an expression among its columns, or a condition. In the copy of a table, every index is valid. */
function hasExpression(index: CatalogTable['indexes'][number]): boolean {
  return (index.columns.includes(null) || / WHERE /.test(index.definition)) && index.valid
}

/** Creates a temporary table that hides the real one: as a whole, or with only the expressions that this database can parse. */
function attempt(table: CatalogTable): readonly string[] {
  const { name, columns } = table
  const checks = checksOf(table)
  const indexes = expressionIndexesOf(table).map(({ definition }) => definition)
  const columnOf = ({ name: column, type, collation, default: value, generated }: CatalogColumn) =>
    [
      `${identifier(column)} ${type}`,
      ...(collation === null ? [] : [`collate ${collationSql(collation)}`]),
      ...(generated === null ? [] : [`generated always as ${generated}`]),
      ...(value === null ? [] : [`default ${value}`]),
    ].join(' ')
  const checkOf = (check: CatalogTable['constraints'][number]) =>
    `constraint ${identifier(check.name)} ${check.definition}`
  // A generated column can only be added after the columns that it is computed from.
  const listed = [
    ...columns.filter(({ generated }) => generated === null),
    ...columns.filter(({ generated }) => generated !== null),
  ].map(columnOf)
  const start = `create temporary table ${identifier(name)}`
  // `not valid` only has an effect when a constraint is added to a table.
  const add = (parts: readonly string[]) =>
    parts.length === 0
      ? []
      : [`alter table pg_temp.${identifier(name)} ${parts.map((part) => `add ${part}`).join(', ')}`]
  const execute = (statement: string) => `execute ${literal(statement)};`
  const each = [...listed, ...checks.map(checkOf)].flatMap((part) => add([part]))
  return [
    'begin',
    ...[`${start} (${listed.join(', ')})`, ...add(checks.map(checkOf)), ...indexes].map(execute),
    'exception when others then',
    execute(`${start} ()`),
    ...[...each, ...indexes].flatMap((statement) => [
      'begin',
      execute(statement),
      'exception when others then null;',
      'end;',
    ]),
    'end;',
  ]
}

function takeSpelling(
  table: CatalogTable,
  normalised: CatalogTable | undefined,
  printedDefault: (column: CatalogColumn) => string | null,
): CatalogTable {
  const definitionIn = (parts: readonly { readonly name: string; readonly definition: string }[], name: string) =>
    parts.find((part) => part.name === name)?.definition
  return {
    ...table,
    columns: table.columns.map((column) => ({
      ...column,
      default: column.default === null ? null : printedDefault(column),
      generated: (column.generated && find(normalised?.columns ?? [], column.name)?.generated) ?? column.generated,
    })),
    constraints: table.constraints.map((constraint) => {
      const definition = definitionIn(normalised?.constraints ?? [], constraint.name)
      return definition === undefined ? constraint : { ...constraint, definition }
    }),
    indexes: table.indexes.map((index) => ({
      ...index,
      definition: definitionIn(normalised?.indexes ?? [], index.name) ?? index.definition,
    })),
  }
}
