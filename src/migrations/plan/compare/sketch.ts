import type { Connection } from '../../../db/database.js'
import { identifier } from '../../../fields/sql-literal.js'
import { bareName, readTableName, tableSql } from '../../../fields/table-name.js'
import type {
  Catalog,
  CatalogColumn,
  CatalogConstraint,
  CatalogIndex,
  CatalogTable,
} from '../../introspect/catalog/catalog.js'
import { build, runAll, TO } from '../../run/scratch.js'
import { rolledBack, sqlState } from '../../run/session.js'
import type { WantedConstraint, WantedTable } from '../sql.js'
import { createIndex, type WantedIndex } from '../wanted-indexes.js'
import { inChunks, MAX_COLUMNS } from './normalise-sql.js'
import { type Check, packChecks } from './pack-checks.js'

/**
 * Returns the catalogue that the wanted tables would have, without creating all of them, which takes an embedded database seconds for a thousand tables.
 * PostgreSQL still prints everything that has several spellings: each distinct definition of a column is created once; checks, and indexes that are
 * not plain, are created on tables of the columns that they use. Everything is rolled back.
 * @param from the tables of the files, which have the names of sequences
 * @returns undefined if something cannot be sketched
 */
export async function sketchWanted(
  session: Connection,
  wanted: readonly WantedTable[],
  from: Catalog,
): Promise<Catalog | undefined> {
  const known = new Map(from.map((table) => [table.name, table]))
  if (!wanted.every(isSketchable)) return undefined
  const definitions = [...new Set(wanted.flatMap(({ columns }) => columns.map(({ definition }) => definition)))]
  const specimens = inChunks(
    definitions.map((definition, place) => ({ definition, name: `${place}` })),
    MAX_COLUMNS,
  )
  const packed = packChecks(
    wanted.flatMap((table) => checksOf(table).map((check) => withColumns(table, check))),
    MAX_COLUMNS,
  )
  const statements = [
    ...specimens.map((columns, place) => createTable(specimenTable(place), columns.map(columnSql))),
    ...packed.tables.map(({ columns, checks }, place) =>
      createTable(checkTable(place), [...columns.map(columnSql), ...checks.map(checkSql)]),
    ),
    ...wanted.flatMap(createIndexed),
  ]
  try {
    return await rolledBack(session, async () => {
      const printed = await build(session, TO, () => runAll(session, statements))
      const tables = new Map(printed.map((table) => [table.name, table]))
      const columns = specimens.flatMap((_, place) => tables.get(specimenTable(place))?.columns ?? [])
      const byDefinition = new Map(columns.map((column) => [definitions[Number(column.name)], column]))
      const quote = await quoteNames(session, wanted)
      const checks = packed.tables.flatMap((_, place) => tables.get(checkTable(place))?.constraints ?? [])
      const checksByName = new Map(checks.map((check) => [check.name, check]))
      const checkOf = (table: WantedTable, check: WantedConstraint) => {
        const printed = checksByName.get(packed.nameOf(withColumns(table, check)) ?? '')
        return printed ? [{ ...printed, name: check.name }] : []
      }
      return wanted.map((table) =>
        drawTable(table, {
          there: known.get(table.name),
          checks: checksOf(table).flatMap((check) => checkOf(table, check)),
          indexes: tables.get(table.name)?.indexes ?? [],
          byDefinition,
          quote,
        }),
      )
    })
  } catch (error) {
    // The tables themselves are created next, and their error is the one to report.
    if (sqlState(error) !== undefined) return undefined
    throw error
  }
}

/** A table of another schema is printed with its schema. */
function isSketchable({ name }: WantedTable): boolean {
  return readTableName(name)?.schema === undefined
}

function specimenTable(place: number): string {
  return `snippetctl columns ${place}`
}

interface Specimen {
  readonly name: string
  readonly definition: string
}

function columnSql({ name, definition }: Specimen): string {
  return `${identifier(name)} ${definition}`
}

function createTable(name: string, members: readonly string[]): string {
  return `create table ${tableSql(name)} (${members.join(', ')})`
}

function checkTable(place: number): string {
  return `snippetctl checks ${place}`
}

function checkSql({ name, definition }: Specimen): string {
  return `constraint ${identifier(name)} ${definition}`
}

function checksOf({ constraints }: WantedTable): readonly WantedConstraint[] {
  return constraints.filter(({ kind }) => kind === 'check')
}

function withColumns(table: WantedTable, { columns, definition }: WantedConstraint): Check<Specimen> {
  const used = table.columns.filter(({ name }) => columns.includes(name))
  return { columns: used.map((column) => ({ name: column.name, definition: column.definition })), definition }
}

/** Creates the indexes of a table that only PostgreSQL can print, with the columns that they use. */
function createIndexed(table: WantedTable): readonly string[] {
  const indexes = table.indexes.filter((index) => !isPlain(table, index))
  if (indexes.length === 0) return []
  const uses = new Set(indexes.flatMap(({ columns }) => columns))
  const hasCondition = indexes.some(({ condition }) => condition !== undefined)
  const members = table.columns.filter(({ name }) => hasCondition || uses.has(name)).map(columnSql)
  return [createTable(table.name, members), ...indexes.map((index) => createIndex(table, index))]
}

function isPlain(table: WantedTable, index: WantedIndex): boolean {
  const { name, columns } = index
  const plain = `create index ${identifier(name)} on ${tableSql(table.name)} (${columns.map(identifier).join(', ')})`
  return createIndex(table, index) === plain
}

type Quote = (name: string) => string

async function quoteNames(session: Connection, wanted: readonly WantedTable[]): Promise<Quote> {
  const names = wanted.flatMap(({ name, columns, indexes }) => [
    bareName(name),
    ...[...columns, ...indexes].map((each) => each.name),
  ])
  const text = 'select name, quote_ident(name) from jsonb_array_elements_text($1) name'
  const { rows } = await session.query({ text, values: [JSON.stringify([...new Set(names)])] })
  const quoted = new Map(rows.map(([name, sql]) => [name, sql]))
  return (name) => quoted.get(name) ?? identifier(name)
}

interface Drawn {
  readonly there: CatalogTable | undefined
  /** The parts that PostgreSQL printed. */
  readonly checks: readonly CatalogConstraint[]
  readonly indexes: readonly CatalogIndex[]
  readonly byDefinition: ReadonlyMap<string | undefined, CatalogColumn>
  readonly quote: Quote
}

function drawTable(table: WantedTable, { there, checks, indexes, byDefinition, quote }: Drawn): CatalogTable {
  const key = table.constraints.find(({ kind }) => kind === 'primary_key')?.columns ?? []
  const columns = table.columns.flatMap(({ name, definition }): readonly CatalogColumn[] => {
    const printed = byDefinition.get(definition)
    // The names of sequences matter only for renames, and a plan with renames creates the tables.
    const sequence = there?.columns.find((column) => column.name === name)?.sequence ?? null
    return printed ? [{ ...printed, name, sequence, nullable: printed.nullable && !key.includes(name) }] : []
  })
  const keys = table.constraints.filter(({ kind }) => kind !== 'check').map((each) => drawKey(each, quote))
  const plain = table.indexes.filter((index) => isPlain(table, index)).map((index) => drawIndex(table, index, quote))
  return {
    name: table.name,
    columns,
    constraints: [...keys, ...checks],
    indexes: [...plain, ...indexes],
  }
}

/** Primary and unique keys, and foreign keys. */
function drawKey(constraint: WantedConstraint, quote: Quote): CatalogConstraint {
  const { name, kind, columns, definition: sql, target, targetColumns = [] } = constraint
  const list = (names: readonly string[]) => `(${names.map(quote).join(', ')})`
  const action = / on delete (?:restrict|cascade|set null)$/.exec(sql)?.[0].toUpperCase() ?? ''
  const own = `${kind.replace('_', ' ').toUpperCase()} ${list(columns)}`
  const definition =
    target === undefined ? own : `${own} REFERENCES ${quote(bareName(target))}${list(targetColumns)}${action}`
  return { name, kind, columns, definition, validated: true, target: target ?? null, targetColumns }
}

function drawIndex(table: WantedTable, { name, columns }: WantedIndex, quote: Quote): CatalogIndex {
  const definition = `CREATE INDEX ${quote(name)} ON ${quote(bareName(table.name))} USING btree (${columns.map(quote).join(', ')})`
  return { name, columns, uses: [...new Set(columns)].toSorted(), definition, valid: true }
}
