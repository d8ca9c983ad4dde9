import type { AppSpec } from '../../config/spec.js'
import type { Connection } from '../../db/database.js'
import {
  asBase,
  catalogOfNamed,
  type Catalog,
  type CatalogColumn,
  type CatalogTable,
  isFilled,
} from '../introspect/catalog/catalog.js'
import { partsOf } from '../introspect/catalog/in-parts.js'
import { CURRENT_SCHEMA } from '../../fields/table-name.js'
import { canEquateTexts, isCollationName } from '../../fields/text-rules.js'
import { type ClosedTables, closedTables } from './closed-schemas.js'
import { missingChoices } from './drifted-enums.js'
import { asSchemaDifference, type SchemaDifference } from './unmanaged-differences.js'
import { describeMissing, type Server, typeIn, isWider, kindOf, sameType, readType } from './live-types.js'
import { usedTables, type WantedColumn, type WantedConstraint, type WantedTable, wantedTables } from '../plan/sql.js'

const LIVE = `
  select
    (${catalogOfNamed('$3')}),
    (select jsonb_object_agg(w, to_regtype(w)::text)::text from jsonb_array_elements_text($2) w),
    (select 'C' from pg_database d
      where datname = current_database() and datcollate in ('C', 'POSIX') and coalesce(to_jsonb(d) ->> 'datlocprovider', 'c') = 'c'),
    coalesce($1, ${CURRENT_SCHEMA}),
    case when $1::text is null then (${closedTables('$3')}) end`

/** The part of a column that differs. */
type Aspect = 'type' | 'nullable' | 'default' | 'generated'

interface ColumnDifference {
  readonly aspect?: Aspect
  readonly text: string
}

/** A requirement of the configuration that the database does not meet. */
export interface Difference {
  readonly table: string
  /** The column that differs, and the part of it; undefined if the table differs. */
  readonly column?: { readonly name: string; readonly aspect: Aspect | undefined }
  /** A sentence. */
  readonly text: string
  /** Whether statements on the table would fail: the table or a column is missing, or a column has another type. */
  readonly breaks: boolean
  /** Whether the column is merely wider than the configuration says. */
  readonly wider?: boolean
  /** Whether the table or view is missing. */
  readonly isMissing?: boolean
  /** Whether the database user may not use the schema of the table. */
  readonly isClosed?: boolean
  /** Whether only new rows fail. */
  readonly stopsInserts?: boolean
}

/**
 * Finds the requirements of a configuration that a database does not meet, with one query of the catalogue for a thousand columns. Additional objects are not
 * differences, unless they make every insert fail.
 * @param isOlder whether the configuration is older than the database: a column that a later version widened holds all values of this version
 */
export async function findSchemaDifferences(
  spec: AppSpec,
  database: Connection,
  { isOlder }: { readonly isOlder: boolean },
): Promise<readonly SchemaDifference[]> {
  const found = withoutHarmlessObstacles(spec, await findLacks(tablesOf(spec), database))
  return found.filter(({ wider }) => !(isOlder && wider)).map(asSchemaDifference(spec))
}

/** The differences, one sentence each. */
export async function schemaDifferences(spec: AppSpec, database: Connection): Promise<readonly string[]> {
  return (await findSchemaDifferences(spec, database, { isOlder: false })).map(({ text }) => text)
}

/** The same for a configuration that is older than the database. */
export async function differencesFromLater(spec: AppSpec, database: Connection): Promise<readonly string[]> {
  return (await findSchemaDifferences(spec, database, { isOlder: true })).map(({ text }) => text)
}

/** Leaves out differences that stop new rows where no resource creates any. */
export function withoutHarmlessObstacles(spec: AppSpec, differences: readonly Difference[]): readonly Difference[] {
  const grown = new Set(
    spec.resources.filter(({ operations }) => operations.includes('create')).map(({ model }) => model.table),
  )
  return differences.filter(({ table, stopsInserts }) => !stopsInserts || grown.has(table))
}

/** All tables of a configuration. */
export function tablesOf(spec: AppSpec): readonly WantedTable[] {
  return [...wantedTables(spec), ...usedTables(spec)]
}

/** The state of the unmanaged tables. */
interface UnmanagedInspection {
  readonly lacks: readonly Difference[]
  /** The tables whose declared key has a unique index. */
  readonly keyed: ReadonlySet<string>
}

/** Compares unmanaged tables with their models, column by column. */
export async function readLacks(spec: AppSpec, database: Connection): Promise<UnmanagedInspection> {
  const used = usedTables(spec)
  const keys = new Map(spec.models.map(({ table, key }) => [table, key.map(({ column }) => column)]))
  const { live, server } = await readLive(used, database, null)
  const tables = new Map(live.map((table) => [table.name, table]))
  const isKeyed = (name: string, table: CatalogTable | undefined) =>
    table !== undefined && isHeld({ kind: 'primary_key', columns: keys.get(name) ?? [] }, table)
  const lacks = used.flatMap((table) => {
    const there = tables.get(table.name)
    // Columns of views are never marked as not null.
    const isView = there?.constraints.length === 0 && there.columns.every(({ nullable }) => nullable)
    return tableDifferences(table, there, server, !isView)
  })
  return {
    lacks: withoutHarmlessObstacles(spec, lacks),
    keyed: new Set(used.filter(({ name }) => isKeyed(name, tables.get(name))).map(({ name }) => name)),
  }
}

/** Returns the requirements of tables that a schema does not meet; by default the current one. */
export async function findLacks(
  wanted: readonly WantedTable[],
  database: Connection,
  schema: string | null = null,
): Promise<readonly Difference[]> {
  if (wanted.length === 0) return []
  const { live, server } = await readLive(wanted, database, schema)
  const tables = new Map(live.map((table) => [table.name, table]))
  return wanted.flatMap((table) => tableDifferences(table, tables.get(table.name), server))
}

interface Live {
  readonly live: Catalog
  readonly server: Server
}

/** Reads tables as they are. Changes between the statements for two parts may be seen in part. */
export async function readLive(
  wanted: readonly WantedTable[],
  database: Connection,
  schema: string | null,
): Promise<Live> {
  const parts: Live[] = []
  for (const part of partsOf(wanted.map((table) => [table, table.columns.length] as const)))
    parts.push(await readPart(part, database, schema))
  return {
    live: parts.flatMap(({ live }) => live),
    server: {
      types: Object.assign({}, ...parts.map(({ server }) => server.types)) as Server['types'],
      collation: parts[0]?.server.collation ?? null,
      schema: parts[0]?.server.schema ?? null,
      closed: Object.assign({}, ...parts.map(({ server }) => server.closed)) as ClosedTables,
    },
  }
}

async function readPart(wanted: readonly WantedTable[], database: Connection, schema: string | null): Promise<Live> {
  const types = new Set(wanted.flatMap(({ columns }) => columns.map(({ type }) => readType(type).name)))
  const names = wanted.map(({ name }) => name)
  const values = [schema, JSON.stringify([...types]), JSON.stringify(names)]
  const { rows } = await database.query({ text: LIVE, values })
  const [[catalog, named, collation = null, current = null, closed] = []] = rows
  const live = JSON.parse(catalog ?? '[]') as Catalog
  const spellings = JSON.parse(named ?? '{}') as Server['types']
  const server = { types: spellings, collation, schema: current, closed: JSON.parse(closed ?? '{}') as ClosedTables }
  return { live, server }
}

/** @param all whether to include differences that no statement would notice */
function tableDifferences(
  wanted: WantedTable,
  live: CatalogTable | undefined,
  server: Server,
  all = wanted.managed,
): readonly Difference[] {
  const table = wanted.name
  const difference = (text: string, breaks = false, wider = false): Difference => ({ table, text, breaks, wider })
  const isClosed = server.closed[table] !== undefined
  if (!live) return [{ ...difference(describeMissing(wanted, server), true), isMissing: !isClosed, isClosed }]
  return [
    ...wanted.columns.flatMap((column) => {
      const there = live.columns.find(({ name }) => name === column.name)
      const found = there && asBase(there)
      const subject = `column ${table}.${column.name}`
      if (!found) return [difference(`${subject} is missing`, true)]
      const type = typeIn(server, column, found)
      const isOtherKind = kindOf(type) !== kindOf(found.type) && !column.serves(found)
      const texts = [
        ...columnDifferences(column, found, server),
        ...(wanted.managed ? orderDifferences(column, found, server) : equalityDifferences(column, found)),
      ]
      // Reports only the type, to avoid several differences for one column.
      const wider = texts.length === 1 && isWider(found.type, type)
      const reported = all || isOtherKind ? texts : []
      return reported.map(({ aspect, text }) => ({
        ...difference(`${subject} ${text}`, isOtherKind, wider),
        column: { name: column.name, aspect },
      }))
    }),
    ...(all ? insertObstacles(wanted, live).map((text) => ({ ...difference(text), stopsInserts: true })) : []),
    ...(all ? missingKeys(wanted, live).map((text) => difference(text)) : []),
  ]
}

function insertObstacles(wanted: WantedTable, live: CatalogTable): readonly string[] {
  const names = new Set(wanted.columns.map(({ name }) => name))
  return live.columns
    .filter((column) => !names.has(column.name) && !column.nullable && !isFilled(asBase(column)))
    .map(
      ({ name }) =>
        `column ${wanted.name}.${name} is not in the configuration, is not null and has no default: no row can be added`,
    )
}

function missingKeys(wanted: WantedTable, live: CatalogTable): readonly string[] {
  return wanted.constraints
    .filter((constraint) => !isHeld(constraint, live))
    .map((constraint) => `table ${wanted.name} lacks: ${constraint.definition}`)
}

function columnDifferences(wanted: WantedColumn, live: CatalogColumn, server: Server): readonly ColumnDifference[] {
  const type = typeIn(server, wanted, live)
  const isSame = sameType(type, live.type) || wanted.serves(live)
  const nullText = live.nullable ? 'takes null and should not' : 'takes no null and should'
  const isUnfilled = wanted.filled && !isFilled(live)
  const isComputed = wanted.written && (live.generated !== null || live.identity === 'always')
  return [
    ...(isSame ? [] : [{ aspect: 'type' as const, text: `is ${live.type} and should be ${type}` }]),
    ...missingChoices(wanted, live).map((text) => ({ aspect: 'type' as const, text })),
    ...(live.nullable === wanted.nullable ? [] : [{ aspect: 'nullable' as const, text: nullText }]),
    ...(isUnfilled ? [{ aspect: 'default' as const, text: 'has no default, and the server should fill it in' }] : []),
    ...(isComputed
      ? [{ aspect: 'generated' as const, text: 'is computed by the database, and requests cannot set it' }]
      : []),
  ]
}

/** The order of texts. */
function orderDifferences(wanted: WantedColumn, live: CatalogColumn, server: Server): readonly ColumnDifference[] {
  const { collation: given } = readType(wanted.type)
  const collation = given === 'default' ? null : given
  const actual = live.labels ? collation : (live.collation ?? (collation === null ? null : server.collation))
  if (actual === collation) return []
  const orders = [actual, collation].map((each) =>
    each === null ? 'in the order of the database' : `in the order "${each}"`,
  )
  return [{ text: `is kept ${orders.join(' and should be kept ')}` }]
}

/** Filters on texts depend on whether the collation treats different texts as equal. */
function equalityDifferences({ type }: WantedColumn, { equating }: CatalogColumn): readonly ColumnDifference[] {
  const { collation } = readType(type)
  if (equating === null || !isCollationName(equating)) return []
  if (collation === null || canEquateTexts({ collation })) return []
  const text = `treats different texts as equal, and its field should have \`collation: ${equating}\``
  return [{ aspect: 'type', text }]
}

/** Only keys, because responses depend on their errors. Values that a check forbids are rejected before they reach the database. */
function isHeld({ kind, columns }: Pick<WantedConstraint, 'kind' | 'columns'>, live: CatalogTable): boolean {
  const same = (others: readonly (string | null)[]) =>
    others.length === columns.length && columns.every((each) => others.includes(each))
  const keys = live.constraints.filter((constraint) => same(constraint.columns))
  if (kind === 'check') return true
  if (kind === 'foreign_key') return keys.some((key) => key.kind === 'foreign_key')
  const unique = live.indexes.some(
    (index) => same(index.columns) && /^CREATE UNIQUE INDEX (?!.* WHERE )/.test(index.definition) && index.valid,
  )
  return unique || keys.some((key) => (key.kind === 'unique' || key.kind === 'primary_key') && key.validated)
}
