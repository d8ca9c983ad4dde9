import type {
  Catalog,
  CatalogColumn,
  CatalogConstraint,
  CatalogIndex,
  CatalogTable,
} from '../../introspect/catalog/catalog.js'
import { sequenceRange } from '../../../fields/columns.js'
import { joinLimits, limitsOfType, readDefault } from '../../introspect/catalog/constraint-parser.js'
import { choicesOf } from '../steps/enum-steps.js'
import type { Ownership } from './ownership.js'
import { both, extra, type FormerNames, find, has, isOurs, isRetyped, isTakenOver, usesOf } from './pair.js'
import { NAME, unquoted } from '../../files/statements.js'
import { isRepresentable } from '../../introspect/catalog/representable.js'
import { withKeyEnums } from './key-enums.js'
import { limitsOn, reconcileConstraints } from './reconcile-constraints.js'
import { reconcileIndexes } from './reconcile-indexes.js'
import type { ReconcilePair, TargetSchema } from './reconcile-pair.js'
import type { WantedColumn } from '../sql.js'

/** The two schemas to reconcile. */
interface Sides extends TargetSchema {
  /** The existing schema, after the renames of the plan. */
  readonly from: Catalog
  readonly former: FormerNames
  readonly owns: Ownership
  /** Tables that may be dropped. */
  readonly dropped: readonly string[]
}

/**
 * Adapts the target schema to the existing one, which other tools may have named and written differently. An existing part that satisfies
 * the configuration replaces the wanted part. A part that resources.yaml cannot express is added to the target, so that no plan drops
 * it.
 */
export function reconcile({ wanted, from, to, former, owns, dropped }: Sides): TargetSchema {
  const pairs = wanted.map((table) => {
    const [there, target] = [find(from, table.name), find(to, table.name)]
    if (!there || !target) return { wanted: table, to: target }
    return reconcileTable({
      wanted: table,
      from: there,
      to: target,
      known: from,
      asked: to,
      dropped,
      isOurs: (part) => isOurs({ wanted: table, former, owns }, part),
      isTakenOver: (constraint) => isTakenOver({ wanted: table, former, owns }, constraint),
      isRecorded: (name) => owns.recorded.has(name),
      former: (column) => former.column(table.name, column),
    })
  })
  const reconciled = pairs.flatMap((pair) => pair.to ?? [])
  const target = {
    wanted: pairs.map((pair) => pair.wanted),
    to: to.map((table) => find(reconciled, table.name) ?? table),
  }
  return withKeyEnums(target, from)
}

function reconcileTable(pair: ReconcilePair): Pick<ReconcilePair, 'wanted' | 'to'> {
  const { from, to } = pair
  const left = leftColumns(pair)
  const columns = [...to.columns.map((column) => reconcileColumn(pair, column)), ...left]
  // Checks are parsed with the columns that they were written for.
  const retyped = new Set(both(from.columns, columns).flatMap(([old, now]) => (isRetyped(old, now) ? [now.name] : [])))

  /** A part on an ignored column is kept with it; a part on a dropped column is dropped with it. */
  const isLeft = (part: CatalogConstraint | CatalogIndex, inexpressible: boolean): boolean => {
    const there = usesOf(part).map((name) => find(from.columns, name))
    const stays = there.every((column) => column && (column.generated || has(columns, column.name)))
    return stays && (inexpressible || there.some((column) => column && has(left, column.name)))
  }

  const typed = { ...pair, to: { ...to, indexes: to.indexes.map((index) => withEnums(index, columns)) } }
  const reconciled = reconcileIndexes(reconcileConstraints(typed, { isLeft, retyped }), isLeft)
  return { wanted: reconciled.wanted, to: { ...reconciled.to, columns } }
}

/** A comparison of a column with a text, or another literal. */
const COMPARED = new RegExp(String.raw`(${NAME}) = (E?'(?:[^']|'')*')::text|'(?:[^']|'')*'`, 'gu')

/** An index as PostgreSQL prints it for columns that keep their enums: the models have no enums, so its condition was written for texts. */
function withEnums(index: CatalogIndex, columns: readonly CatalogColumn[]): CatalogIndex {
  const definition = index.definition.replaceAll(COMPARED, (all: string, name?: string, value?: string) => {
    const column = name === undefined ? undefined : find(columns, unquoted(name))
    return column?.labels ? `${name} = ${value}::${column.type}` : all
  })
  return { ...index, definition }
}

/** Columns that no field can describe. An identity column can only be described as a primary key. */
function leftColumns({ wanted, from, to }: ReconcilePair): readonly CatalogColumn[] {
  return extra(from.columns, to.columns).filter(
    (column) =>
      !column.generated &&
      !wanted.dropped.includes(column.name) &&
      (!isRepresentable(column) || (column.identity !== null && !isKey(from, column.name))),
  )
}

function reconcileColumn({ wanted, from, to }: ReconcilePair, now: CatalogColumn): CatalogColumn {
  const [asked, column] = [find(wanted.columns, now.name), find(from.columns, now.name)]
  if (!asked || !column || column.generated) return now
  const typed = { ...now, ...reconciledType(now, { asked, column, from, to }) }
  const isFilledKey = [from, to].every((table) => isKey(table, now.name)) && isFilled(column) && isFilled(now)
  const isOfOneType = typed.type === column.type
  if (isFilledKey && (isOfOneType || [typed, column].every(({ type }) => sequenceRange(type) !== undefined)))
    return { ...typed, identity: column.identity, default: column.default }
  return isOfOneType && isSameDefault(column, now) ? { ...typed, default: column.default } : typed
}

interface Served {
  readonly asked: WantedColumn
  readonly column: CatalogColumn
  readonly from: CatalogTable
  readonly to: CatalogTable
}

function reconciledType(now: CatalogColumn, { asked, column, from, to }: Served): Partial<CatalogColumn> {
  if (column.type === now.type || !asked.serves(column) || !hasRoom(column, now.name, to)) return {}
  const { type, collation, labels } = column
  // A bounded text belongs to another field type, unless its checks already restrict it to choices.
  if (!labels) return type.endsWith(')') && now.type === 'text' && !choicesOf(from, now.name) ? {} : { type }
  // The values of an enum already act as choices.
  const choices = asked.impliedChoices ?? choicesOf(to, now.name)
  const same = choices?.toSorted().join('\0') === [...labels].sort().join('\0')
  if (!same || !has(from.columns, now.name)) return {}
  return { type, collation, labels, default: now.default?.replace(/::text(?:\[\])?$/, `::${type}`) ?? null }
}

/** Whether the type of a column holds every value within the bounds of its field. Key columns keep their type. */
function hasRoom(column: CatalogColumn, name: string, to: CatalogTable): boolean {
  const isOfKey = to.constraints.some(
    ({ kind, columns }) => (kind === 'primary_key' || kind === 'foreign_key') && columns.includes(name),
  )
  if (isOfKey) return true
  const asked = limitsOn(name, { to })
  const { minimum, maximum } = joinLimits([asked, limitsOfType(column)])
  return minimum === asked.minimum && maximum === asked.maximum
}

function isKey({ constraints }: CatalogTable, column: string): boolean {
  return constraints.some(({ kind, columns }) => kind === 'primary_key' && columns.includes(column))
}

function isFilled({ identity, default: value }: CatalogColumn): boolean {
  return identity !== null || value !== null
}

/** Whether two defaults have the same value. A default that resources.yaml cannot express stays until the file sets another. */
function isSameDefault(column: CatalogColumn, now: CatalogColumn): boolean {
  if (column.default === null || column.default === now.default) return column.default === now.default
  const said = readDefault(column.default, column)
  if (said === undefined || now.default === null) return said === undefined && now.default === null
  return JSON.stringify(readDefault(now.default, now)) === JSON.stringify(said)
}
