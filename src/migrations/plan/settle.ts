import type { Catalog, CatalogColumn, CatalogConstraint, CatalogIndex, CatalogTable } from '../introspect/catalog.js'
import { isCountable } from './column-steps.js'
import { joinDemands, readCheck, readDefault } from '../introspect/meaning.js'
import type { Ownership } from './ownership.js'
import { both, extra, type FormerNames, find, has, isOurs, isRetyped, usesOf } from './pair.js'
import { isSayableColumn } from '../introspect/sayable.js'
import { serves } from '../drift/serving.js'
import { settleConstraints } from './settle-constraints.js'
import { settleIndexes } from './settle-indexes.js'
import type { SettlingPair } from './settling-pair.js'
import type { WantedColumn, WantedTable } from './sql.js'

/** What is wanted, as SQL and as the catalogue of it. */
export interface Wish {
  readonly wanted: readonly WantedTable[]
  readonly to: Catalog
}

/** What is to be settled. */
interface Sides extends Wish {
  /** What is there, after the renames of the plan. */
  readonly from: Catalog
  readonly former: FormerNames
  readonly owns: Ownership
}

/**
 * The wish in the words of what is there. Others name and spell things in other ways: where something does what is wanted, that
 * very thing is wanted; and so is what resources.yaml has no words for, so that nobody drops it. What is there stays as it is,
 * because SQL is made of it.
 */
export function settle({ wanted, from, to, former, owns }: Sides): Wish {
  const pairs = wanted.map((table) => {
    const [there, target] = [find(from, table.name), find(to, table.name)]
    if (!there || !target) return { wanted: table, to: target }
    return settleTable({
      wanted: table,
      from: there,
      to: target,
      known: from,
      asked: to,
      isOurs: (part) => isOurs({ wanted: table, former, owns }, part),
      former: (column) => former.column(table.name, column),
    })
  })
  const settled = pairs.flatMap((pair) => pair.to ?? [])
  return { wanted: pairs.map((pair) => pair.wanted), to: to.map((table) => find(settled, table.name) ?? table) }
}

function settleTable(pair: SettlingPair): Pick<SettlingPair, 'wanted' | 'to'> {
  const { from, to } = pair
  const left = leftColumns(pair)
  const columns = [...to.columns.map((column) => settleColumn(pair, column)), ...left]
  // Checks are read by the columns that they were written for.
  const retyped = new Set(both(from.columns, columns).flatMap(([old, now]) => (isRetyped(old, now) ? [now.name] : [])))
  const settled = settleIndexes(settleConstraints(pair, { isLeft, retyped }), isLeft)
  return { wanted: settled.wanted, to: { ...settled.to, columns } }

  /** What is on a column that is left alone is left with it, and what is on one that goes, goes. */
  function isLeft(part: CatalogConstraint | CatalogIndex, unsayable: boolean): boolean {
    const there = usesOf(part).map((name) => find(from.columns, name))
    const stays = there.every((column) => column && (column.generated || has(columns, column.name)))
    return stays && (unsayable || there.some((column) => column && has(left, column.name)))
  }
}

/** Columns that no field can stand for; a counter is a primary key's, or nothing that a file could say. */
function leftColumns({ wanted, from, to }: SettlingPair): readonly CatalogColumn[] {
  return extra(from.columns, to.columns).filter(
    (column) =>
      !column.generated &&
      !wanted.dropped.includes(column.name) &&
      (!isSayableColumn(column) || (column.identity !== null && !isKey(from, column.name))),
  )
}

function settleColumn({ wanted, from, to }: SettlingPair, now: CatalogColumn): CatalogColumn {
  const [asked, column] = [find(wanted.columns, now.name), find(from.columns, now.name)]
  if (!asked || !column || column.generated) return now
  const typed = { ...now, ...settledType(now, { asked, column, from, to }) }
  const isFilledKey = [from, to].every((table) => isKey(table, now.name)) && isFilled(column) && isFilled(now)
  const isOfOneType = typed.type === column.type
  if (isFilledKey && (isOfOneType || [typed, column].every(({ type }) => isCountable(type))))
    return { ...typed, identity: column.identity, default: column.default }
  return isOfOneType && saysTheSame(column, now) ? { ...typed, default: column.default } : typed
}

interface Served {
  readonly asked: WantedColumn
  readonly column: CatalogColumn
  readonly from: CatalogTable
  readonly to: CatalogTable
}

function settledType(now: CatalogColumn, { asked, column, from, to }: Served): Partial<CatalogColumn> {
  if (column.type === now.type || !serves(now.type, asked, column)) return {}
  const { type, collation, labels } = column
  // Bounded texts are made for fields of another type, unless their checks have made them choices before.
  if (!labels) return type.endsWith(')') && now.type === 'text' && !choicesOf(from, now.name) ? {} : { type }
  // An enum lets in what it has, and nothing else can be put in.
  const same = choicesOf(to, now.name)?.toSorted().join('\0') === [...labels].sort().join('\0')
  return same && has(from.columns, now.name) ? { type, collation, labels } : {}
}

function choicesOf({ columns, constraints }: CatalogTable, name: string): readonly string[] | undefined {
  const column = find(columns, name)
  const checks = constraints.filter(({ kind, columns: [first] }) => kind === 'check' && first === name)
  return column && joinDemands(checks.flatMap(({ definition }) => readCheck(definition, column) ?? [])).choices
}

const isKey = ({ constraints }: CatalogTable, column: string): boolean =>
  constraints.some(({ kind, columns }) => kind === 'primary_key' && columns.length === 1 && columns[0] === column)

const isFilled = ({ identity, default: value }: CatalogColumn): boolean => identity !== null || value !== null

/** Whether two defaults are one value. What no file could say stays, until the file says something else. */
function saysTheSame(column: CatalogColumn, now: CatalogColumn): boolean {
  if (column.default === null || column.default === now.default) return column.default === now.default
  const said = readDefault(column.default, column)
  if (said === undefined || now.default === null) return said === undefined && now.default === null
  return JSON.stringify(readDefault(now.default, now)) === JSON.stringify(said)
}
