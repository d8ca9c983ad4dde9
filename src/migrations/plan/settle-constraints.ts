import type { CatalogConstraint, CatalogIndex, CatalogTable } from '../introspect/catalog.js'
import { type Demand, demandOfType, joinDemands, readCheck } from '../introspect/meaning.js'
import { find, has } from './pair.js'
import { isPlainIndex, isPlainUnique, readForeignKey, reasonAgainstRelation } from '../introspect/sayable.js'
import type { IsLeft, SettlingPair } from './settling-pair.js'
import type { WantedConstraint } from './sql.js'

interface Settling {
  readonly isLeft: IsLeft
  /** Columns whose type changes: a check of ours is made anew for it, because it would keep the words of the old one. */
  readonly retyped: ReadonlySet<string>
}

/** Wants the constraints that are there, where they do what is wanted or cannot be said. */
export function settleConstraints(pair: SettlingPair, { isLeft, retyped }: Settling): SettlingPair {
  const settled = pair.to.constraints.map((constraint) => {
    const isRemade = constraint.kind === 'check' && constraint.columns.some((name) => name && retyped.has(name))
    return { constraint, ...heldBy(pair, constraint, isRemade) }
  })
  const replaced = new Set(settled.flatMap(({ constraint, parts }) => (parts ? [constraint.name] : [])))
  const standing = distinct(settled.flatMap(({ parts }) => parts ?? []))
  const kept = [...pair.to.constraints.filter(({ name }) => !replaced.has(name)), ...standing]
  const left = pair.from.constraints.filter(
    (each) => !has(kept, each.name) && pair.isOurs(each) && isLeft(each, isUnsayable(each, pair)),
  )
  const indexes = distinct(settled.flatMap(({ index }) => index ?? []))
  return {
    ...pair,
    wanted: {
      ...pair.wanted,
      constraints: [...pair.wanted.constraints.filter(({ name }) => !replaced.has(name)), ...standing.map(asWanted)],
    },
    to: { ...pair.to, constraints: [...kept, ...left], indexes: [...pair.to.indexes, ...indexes] },
  }
}

const distinct = <Part extends { readonly name: string }>(parts: readonly Part[]): readonly Part[] => [
  ...new Map(parts.map((part) => [part.name, part])).values(),
]

function asWanted({ name, kind, columns, definition, target, targetColumns }: CatalogConstraint): WantedConstraint {
  const [targetColumn] = targetColumns
  if (kind === 'other') throw new Error(`a constraint of no known kind: ${name}`)
  return {
    name,
    kind,
    columns: columns.filter((column) => column !== null),
    definition,
    target: target ?? undefined,
    ...(targetColumn === undefined ? {} : { targetColumn }),
  }
}

/** What takes the place of a wanted constraint: parts with the same effect, or a unique index; nothing when it is to be made. */
interface Held {
  readonly parts?: readonly CatalogConstraint[]
  readonly index?: CatalogIndex
}

function heldBy(pair: SettlingPair, constraint: CatalogConstraint, isRemade: boolean): Held {
  const { from, to, isOurs } = pair
  const [column, ...others] = constraint.columns
  const alike = from.constraints.filter((each) => each.kind === constraint.kind && each.validated)
  if (alike.some((each) => each.name === constraint.name && each.definition === constraint.definition)) return {}
  const stands = STANDS[constraint.kind] ?? (() => [])
  const foreign = stands(
    alike.filter((each) => !isOurs(each) || (each.name === constraint.name && !isRemade)),
    constraint,
    pair,
  )
  if (foreign.length > 0) return { parts: foreign }
  if (isRemade) return {}
  // Ours by its former name: it is renamed, and keeps its words.
  const former = alike
    .filter((each) => isOurs(each) && !has(to.constraints, each.name))
    .find((each) => stands([each], constraint, pair).length > 0)
  if (former) return { parts: [{ ...former, name: constraint.name }] }
  if (constraint.kind === 'check' && others.length === 0 && !has(from.constraints, constraint.name)) {
    const live = find(from.columns, column ?? '')
    if (live && isHeldBy([], constraint, pair)) return { parts: [] }
  }
  const index =
    constraint.kind === 'unique' &&
    from.indexes.find(
      (each) => isPlainIndex(from.name, each, 'unique') && each.columns.join() === constraint.columns.join(),
    )
  return index ? { parts: [], index } : {}
}

/** Those of some constraints that do together what a wanted one does. */
type Stands = (
  parts: readonly CatalogConstraint[],
  wanted: CatalogConstraint,
  pair: SettlingPair,
) => readonly CatalogConstraint[]

const sameDefinition: Stands = (parts, { definition }) =>
  parts.filter((each) => each.definition === definition).slice(0, 1)

const STANDS: Partial<Readonly<Record<CatalogConstraint['kind'], Stands>>> = {
  primary_key: sameDefinition,
  unique: sameDefinition,
  foreign_key: (parts, wanted) => {
    const reference = JSON.stringify(readForeignKey(wanted))
    return parts.filter((each) => JSON.stringify(readForeignKey(each)) === reference).slice(0, 1)
  },
  check: (parts, wanted, pair) => {
    const asked = demandsOn(wanted.columns[0] ?? '', pair)
    const within = parts.filter((each) => {
      const demand = each.columns.join() === wanted.columns.join() ? readLive(each, pair) : undefined
      return demand !== undefined && Object.keys(demand).every((key) => key in asked)
    })
    return isHeldBy(within, wanted, pair) ? within : []
  },
}

/** All that the file asks of the values of a column. */
function demandsOn(column: string, { to }: SettlingPair): Demand {
  const now = find(to.columns, column)
  const checks = to.constraints.filter(({ kind, columns }) => kind === 'check' && columns.join() === column)
  return joinDemands(checks.flatMap(({ definition }) => (now && readCheck(definition, now)) ?? []))
}

function readLive({ definition, columns: [name] }: CatalogConstraint, { from }: SettlingPair): Demand | undefined {
  const live = find(from.columns, name ?? '')
  return live && readCheck(definition, live)
}

/** Whether checks and the type of the column say together what the wanted one says, neither more nor less. */
function isHeldBy(checks: readonly CatalogConstraint[], wanted: CatalogConstraint, pair: SettlingPair): boolean {
  const [column = '', ...others] = wanted.columns
  const [live, now] = [find(pair.from.columns, column ?? ''), find(pair.to.columns, column ?? '')]
  const asked = live && now && others.length === 0 ? readCheck(wanted.definition, now) : undefined
  if (!live || !asked) return false
  const sum = joinDemands([demandOfType(live), ...checks.flatMap((each) => readLive(each, pair) ?? [])])
  return Object.keys(asked).every((key) => isSame(key as keyof Demand, asked, sum))
}

function isSame(key: keyof Demand, one: Demand, other: Demand): boolean {
  const spell = (value: Demand[typeof key]) =>
    Array.isArray(value) ? JSON.stringify(value.toSorted()) : String(Number(value))
  return other[key] !== undefined && spell(one[key]) === spell(other[key])
}

/** Whether a constraint with a name as the generator gives them says what no file could: then it is somebody else's. */
function isUnsayable(constraint: CatalogConstraint, pair: SettlingPair): boolean {
  const { asked, known, from } = pair
  const { kind, target } = constraint
  if (kind === 'check') return !constraint.validated
  if (kind === 'unique') return !isPlainUnique(constraint)
  if (kind !== 'foreign_key') return false
  // Tables without a model are none of the file's business.
  if (!find(asked, target ?? '')) return true
  const now = { key: constraint, table: from }
  return [now, beforeRenames(now, pair)].every(
    ({ key, table }) => reasonAgainstRelation(key, table, find(known, target ?? '')) !== undefined,
  )
}

interface KeyOfTable {
  readonly key: CatalogConstraint
  readonly table: CatalogTable
}

function beforeRenames({ key, table }: KeyOfTable, { former }: SettlingPair): KeyOfTable {
  const renamed = (constraint: CatalogConstraint): CatalogConstraint => ({
    ...constraint,
    columns: constraint.columns.map((column) => column && former(column)),
  })
  const columns = table.columns.map((column) => ({ ...column, name: former(column.name) }))
  return { key: renamed(key), table: { ...table, columns, constraints: table.constraints.map(renamed) } }
}
