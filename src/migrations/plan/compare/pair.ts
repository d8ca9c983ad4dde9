import { tableAlias, tableSql } from '../../../fields/table-name.js'
import { identifier } from '../../../fields/sql-literal.js'
import type {
  Catalog,
  CatalogColumn,
  CatalogConstraint,
  CatalogIndex,
  CatalogTable,
} from '../../introspect/catalog/catalog.js'
import { isDerivedConstraint, isDerivedIndex } from './derived.js'
import type { Ownership } from './ownership.js'
import type { WantedConstraint, WantedTable } from '../sql.js'
import { type GivenConversion, newValue, type Retyped } from '../steps/type-change.js'

/** The names of tables and columns before the renames of a plan, by their wanted names. */
export interface FormerNames {
  table(name: string): string
  column(table: string, name: string): string
}

/** One table in both schemas, after the renames of the plan. */
export interface Pair {
  readonly wanted: WantedTable
  readonly from: CatalogTable
  readonly to: CatalogTable
  readonly former: FormerNames
  readonly owns: Ownership
  /** Columns whose type or collation changes. */
  readonly retyped: ReadonlySet<string>
  /** The columns of another table of both schemas whose type or collation changes. */
  retypedIn(table: string): ReadonlySet<string>
  /** Columns that are no longer wanted. */
  readonly dropped: ReadonlySet<string>
  /** The table before the plan, under its later names and with `tableoid`, for counting. */
  readonly relation: string
  /** The same with the values of columns whose type changes converted. */
  readonly converted: string
  /** The conversions that a person gives, by column. */
  readonly given: ReadonlyMap<string, GivenConversion>
}

/** The tables in both schemas. */
export function pairTables(
  wanted: readonly WantedTable[],
  sides: {
    readonly from: Catalog
    readonly to: Catalog
    readonly former: FormerNames
    readonly owns: Ownership
    readonly conversions: readonly GivenConversion[]
  },
): readonly Pair[] {
  const { former, owns, conversions } = sides
  const retypedIn = (table: string): ReadonlySet<string> =>
    pairs.find(({ to }) => to.name === table)?.retyped ?? new Set()
  const pairs = wanted.flatMap((table): readonly Pair[] => {
    const [from, to] = [find(sides.from, table.name), find(sides.to, table.name)]
    if (!from || !to) return []
    const retyped = both(from.columns, to.columns).filter(([old, now]) => isRetyped(old, now))
    const dropped = extra(from.columns, to.columns).filter((column) => !column.generated)
    const relation = relationOf(from, former)
    const given = new Map(conversions.filter((each) => each.table === from.name).map((each) => [each.column, each]))
    const changes = retyped.map(([old, now]) => retypedColumn({ from, relation, given }, old, now))
    return [
      {
        wanted: table,
        from,
        to,
        former,
        owns,
        retyped: new Set(retyped.map(([, now]) => now.name)),
        retypedIn,
        dropped: new Set(dropped.map(({ name }) => name)),
        relation,
        converted: convertedRelation(from, relation, changes),
        given,
      },
    ]
  })
  return pairs
}

/** Whether the type or the collation differs. Whether the server generates the value is compared separately. */
export function isRetyped(old: CatalogColumn, now: CatalogColumn): boolean {
  return isOfOneKind(old, now) && (old.type !== now.type || old.collation !== now.collation)
}

/** Whether both are identity columns, both computed, or neither. */
export function isOfOneKind(old: CatalogColumn, now: CatalogColumn): boolean {
  return old.identity === now.identity && (old.generated === null) === (now.generated === null)
}

function relationOf({ name, columns }: CatalogTable, former: FormerNames): string {
  const before = columns.map((column) => ({ now: column.name, was: former.column(name, column.name) }))
  if (former.table(name) === name && before.every(({ now, was }) => now === was)) return tableSql(name)
  const list = before.map(({ now, was }) => `${identifier(was)} as ${identifier(now)}`).join(', ')
  return `(select ${list}, tableoid from ${tableSql(former.table(name))}) ${tableAlias(name)}`
}

/** A column whose type changes. */
export function retypedColumn(
  { from: table, relation, given }: Pick<Pair, 'from' | 'relation' | 'given'>,
  from: CatalogColumn,
  to: CatalogColumn,
): Retyped {
  const columns = table.columns.map(({ name }) => name)
  return { table: table.name, from, to, relation, columns, given: given.get(to.name) }
}

function convertedRelation({ name, columns }: CatalogTable, relation: string, changes: readonly Retyped[]): string {
  if (changes.length === 0) return relation
  const list = columns.map((column) => {
    const change = changes.find(({ to }) => to.name === column.name)
    const own = identifier(column.name)
    return change ? `(${newValue(change)}\n) as ${own}` : own
  })
  return `(select ${list.join(', ')}, tableoid from ${relation}) ${tableAlias(name)}`
}

/** The new columns of a foreign key that have a default, which every existing row gets. */
export function filledColumns({ from, to }: Pair, { kind, columns }: WantedConstraint): readonly CatalogColumn[] {
  if (kind !== 'foreign_key') return []
  return to.columns.filter(
    ({ name, default: value }) => columns.includes(name) && value !== null && !has(from.columns, name),
  )
}

/** The SQL of the table in which rows are counted, with the new columns and their defaults. */
export function filledRelation({ from, converted }: Pair, filled: readonly CatalogColumn[]): string {
  if (filled.length === 0) return converted
  const list = [
    ...from.columns.map(({ name }) => identifier(name)),
    ...filled.map(({ name, default: value }) => `${value} as ${identifier(name)}`),
  ]
  return `(select ${list.join(', ')}, tableoid from ${converted}) ${tableAlias(from.name)}`
}

type Owned = Pick<Pair, 'wanted' | 'former' | 'owns'>

/** Whether resources.yaml owns a constraint, by its former or its current name. */
export function isOurConstraint({ wanted, former, owns }: Owned, constraint: CatalogConstraint): boolean {
  if (owns.recorded.has(constraint.name) || isTakenOver({ wanted, former, owns }, constraint)) return true
  const columns = constraint.columns.filter((column) => column !== null)
  const were = columns.map((column) => former.column(wanted.name, column))
  return (
    owns.unrecorded.has(constraint.name) &&
    (isDerivedConstraint(wanted.name, columns, constraint) ||
      isDerivedConstraint(former.table(wanted.name), were, constraint))
  )
}

/** Whether a constraint belongs to resources.yaml under the name that another tool gave it. */
export function isTakenOver({ wanted, former, owns }: Owned, { name }: CatalogConstraint): boolean {
  return owns.takenOver.get(former.table(wanted.name))?.has(name) === true
}

export function isOurIndex({ wanted, former, owns }: Owned, index: CatalogIndex): boolean {
  // An index can have the name of a foreign key or a check.
  if (wanted.constraints.some(({ name, kind }) => name === index.name && kind !== 'unique')) return false
  if (owns.recorded.has(index.name)) return true
  const were = index.columns.map((column) => column && former.column(wanted.name, column))
  return (
    owns.unrecorded.has(index.name) &&
    (isDerivedIndex(wanted.name, index.columns, index) || isDerivedIndex(former.table(wanted.name), were, index))
  )
}

/** The same for constraints and indexes. */
export function isOurs(owned: Owned, part: CatalogConstraint | CatalogIndex): boolean {
  return 'kind' in part ? isOurConstraint(owned, part) : isOurIndex(owned, part)
}

/** The columns that a part needs, including those in expressions of an index. */
export function usesOf(part: CatalogConstraint | CatalogIndex): readonly string[] {
  return 'uses' in part ? part.uses : part.columns.filter((column) => column !== null)
}

export interface Named {
  readonly name: string
}

export function find<Part extends Named>(parts: readonly Part[], name: string): Part | undefined {
  return parts.find((part) => part.name === name)
}

export function has(parts: readonly Named[], name: string): boolean {
  return find(parts, name) !== undefined
}

export function extra<Part extends Named>(from: readonly Part[], to: readonly Named[]): readonly Part[] {
  return from.filter(({ name }) => !has(to, name))
}

export function both<Part extends Named>(
  from: readonly Part[],
  to: readonly Part[],
): readonly (readonly [Part, Part])[] {
  return to.flatMap((now) => {
    const old = find(from, now.name)
    return old ? [[old, now] as const] : []
  })
}

const PARAMETER = String.raw`\w+=(?:'[^']*'|\w+)`
const STORAGE = new RegExp(String.raw` WITH \(${PARAMETER}(?:, ${PARAMETER})*\)(?= WHERE |$)`)

/** The definition of an index without its name, which may be quoted, and its storage parameters. */
export function nameless(index: CatalogIndex): string {
  return withoutStorage(index).definition.replace(/ INDEX (?:"(?:[^"]|"")+"|[^" ]+) ON /, ' INDEX ON ')
}

/** An index without its storage parameters, which the configuration does not have. */
export function withoutStorage(index: CatalogIndex): CatalogIndex {
  return { ...index, definition: index.definition.replace(STORAGE, '') }
}

/** Whether a table loses the unique constraint on columns that foreign keys refer to. */
export function losesKey({ from, to, dropped }: Pair, columns: readonly string[]): boolean {
  return (
    columns.some((column) => dropped.has(column)) ||
    from.constraints.some(
      ({ kind, name, columns: own }) =>
        kind === 'unique' && own.toSorted().join() === columns.toSorted().join() && !has(to.constraints, name),
    )
  )
}

/** Whether a value cannot stand in any number of rows, because it must be unique or refer to a row. */
export function isTied({ to }: Pair, column: string): boolean {
  const isUnique = to.indexes.some(
    ({ uses, definition }) => uses.includes(column) && definition.startsWith('CREATE UNIQUE '),
  )
  return isUnique || to.constraints.some(({ kind, columns: keys }) => kind !== 'check' && keys.includes(column))
}

/** Whether the type of a column that a foreign key refers to changes. */
export function refersToRetyped({ kind, target, targetColumns }: CatalogConstraint, { retypedIn }: Pair): boolean {
  if (kind !== 'foreign_key' || target === null) return false
  const retyped = retypedIn(target)
  return targetColumns.some((column) => retyped.has(column))
}

/** Whether two constraints have one definition, and both or neither were checked for existing rows. */
export function isSame(old: CatalogConstraint, now: CatalogConstraint | undefined): boolean {
  return now !== undefined && old.definition === now.definition && old.validated === now.validated
}
