import type { Limits } from '../../../fields/existing-column.js'
import type { CatalogConstraint, CatalogIndex, CatalogTable } from '../../introspect/catalog/catalog.js'
import { joinLimits, limitsOfType, readCheck } from '../../introspect/catalog/constraint-parser.js'
import { find, has, withoutStorage } from './pair.js'
import { readForeignKey, reasonAgainstRelation } from '../../introspect/catalog/foreign-key.js'
import { isOnly, isPlainIndex, isPlainUnique, sameColumns } from '../../introspect/catalog/plain-parts.js'
import type { IsLeft, ReconcilePair } from './reconcile-pair.js'
import type { WantedConstraint } from '../sql.js'

interface ReconcileOptions {
  readonly isLeft: IsLeft
  /** Columns whose type changes: their generated checks are rebuilt, because a check keeps the casts of the old type. */
  readonly retyped: ReadonlySet<string>
}

/** Keeps existing constraints that satisfy the configuration or that it cannot express. */
export function reconcileConstraints(pair: ReconcilePair, { isLeft, retyped }: ReconcileOptions): ReconcilePair {
  const reconciled = pair.to.constraints.map((constraint) => {
    const isRemade = constraint.kind === 'check' && constraint.columns.some((name) => name && retyped.has(name))
    return { constraint, ...findMatch(pair, constraint, isRemade) }
  })
  const replaced = new Set(reconciled.flatMap(({ constraint, parts }) => (parts ? [constraint.name] : [])))
  const standing = distinct(reconciled.flatMap(({ parts }) => parts ?? []))
  const kept = [...pair.to.constraints.filter(({ name }) => !replaced.has(name)), ...standing]
  const left = pair.from.constraints.filter(
    (each) => !has(kept, each.name) && pair.isOurs(each) && isLeft(each, isInexpressible(each, pair)),
  )
  const indexes = distinct(reconciled.flatMap(({ index }) => index ?? []))
  return {
    ...pair,
    wanted: {
      ...pair.wanted,
      constraints: [...pair.wanted.constraints.filter(({ name }) => !replaced.has(name)), ...standing.map(asWanted)],
    },
    to: { ...pair.to, constraints: [...kept, ...left], indexes: [...pair.to.indexes, ...indexes] },
  }
}

function distinct<Part extends { readonly name: string }>(parts: readonly Part[]): readonly Part[] {
  return [...new Map(parts.map((part) => [part.name, part])).values()]
}

function asWanted({ name, kind, columns, definition, target, targetColumns }: CatalogConstraint): WantedConstraint {
  if (kind === 'other') throw new Error(`a constraint of no known kind: ${name}`)
  return {
    name,
    kind,
    columns: columns.filter((column) => column !== null),
    definition,
    target: target ?? undefined,
    targetColumns,
  }
}

/** Finds existing parts with the effect of a wanted constraint, or a unique index; finds nothing if the constraint must be created. */
interface Match {
  readonly parts?: readonly CatalogConstraint[]
  readonly index?: CatalogIndex
}

function findMatch(pair: ReconcilePair, constraint: CatalogConstraint, isRemade: boolean): Match {
  const { from, to, isOurs, isTakenOver } = pair
  const [column, ...others] = constraint.columns
  const alike = from.constraints.filter((each) => each.kind === constraint.kind && each.validated)
  if (alike.some((each) => each.name === constraint.name && each.definition === constraint.definition)) return {}
  const match = MATCHERS[constraint.kind] ?? (() => [])
  const foreign = match(
    alike.filter((each) => !isOurs(each) || isTakenOver(each) || (each.name === constraint.name && !isRemade)),
    constraint,
    pair,
  )
  if (foreign.length > 0) return { parts: foreign }
  if (isRemade) return {}
  // A generated constraint under its former name: it is renamed and keeps its expression. A check of another tool keeps its name.
  const former = alike
    .filter((each) => isOurs(each) && !has(to.constraints, each.name))
    .find((each) => match([each], constraint, pair).length > 0)
  if (former) return { parts: [isTakenOver(former) ? former : { ...former, name: constraint.name }] }
  if (constraint.kind === 'check' && others.length === 0 && !has(from.constraints, constraint.name)) {
    const live = find(from.columns, column ?? '')
    if (live && isMatchedBy([], constraint, pair)) return { parts: [] }
  }
  const index =
    constraint.kind === 'unique' &&
    from.indexes.find(
      (each) =>
        isPlainIndex(from.name, withoutStorage(each), 'unique') && sameColumns(each.columns, constraint.columns),
    )
  return index ? { parts: [], index } : {}
}

/** Selects the constraints that together have the effect of the wanted one. */
type Matcher = (
  parts: readonly CatalogConstraint[],
  wanted: CatalogConstraint,
  pair: ReconcilePair,
) => readonly CatalogConstraint[]

const sameDefinition: Matcher = (parts, { definition }) =>
  parts.filter((each) => each.definition === definition).slice(0, 1)

const MATCHERS: Partial<Readonly<Record<CatalogConstraint['kind'], Matcher>>> = {
  // A key may be deferrable, or include other columns.
  primary_key: (parts, { columns }) => parts.filter((each) => sameColumns(each.columns, columns)),
  unique: sameDefinition,
  foreign_key: (parts, wanted) => {
    const reference = JSON.stringify(readForeignKey(wanted))
    return parts.filter((each) => JSON.stringify(readForeignKey(each)) === reference).slice(0, 1)
  },
  check: (parts, wanted, pair) => {
    const asked = limitsOn(wanted.columns[0] ?? '', pair)
    const within = parts.filter((each) => {
      const limits = sameColumns(each.columns, wanted.columns) ? readLive(each, pair) : undefined
      return limits !== undefined && Object.keys(limits).every((key) => key in asked)
    })
    return isMatchedBy(within, wanted, pair) ? within : []
  },
}

/** The combined restrictions of the configuration on a column. */
export function limitsOn(column: string, { to }: Pick<ReconcilePair, 'to'>): Limits {
  const now = find(to.columns, column)
  const checks = to.constraints.filter(({ kind, columns }) => kind === 'check' && isOnly(columns, column))
  return joinLimits(checks.flatMap(({ definition }) => (now && readCheck(definition, now)) ?? []))
}

function readLive({ definition, columns: [name] }: CatalogConstraint, { from }: ReconcilePair): Limits | undefined {
  const live = find(from.columns, name ?? '')
  return live && readCheck(definition, live)
}

/** Whether existing checks and the type of the column together restrict exactly as the wanted check does. */
function isMatchedBy(checks: readonly CatalogConstraint[], wanted: CatalogConstraint, pair: ReconcilePair): boolean {
  const [column = '', ...others] = wanted.columns
  const [live, now] = [find(pair.from.columns, column ?? ''), find(pair.to.columns, column ?? '')]
  const asked = live && now && others.length === 0 ? readCheck(wanted.definition, now) : undefined
  if (!live || !asked) return false
  const sum = joinLimits([limitsOfType(live), ...checks.flatMap((each) => readLive(each, pair) ?? [])])
  return Object.keys(asked).every((key) => isSame(key as keyof Limits, asked, sum))
}

function isSame(key: keyof Limits, one: Limits, other: Limits): boolean {
  const format = (value: Limits[typeof key]) =>
    Array.isArray(value) ? JSON.stringify(value.toSorted()) : String(Number(value))
  return other[key] !== undefined && format(one[key]) === format(other[key])
}

/** Whether a constraint with a generated name cannot be expressed in resources.yaml: then another tool made it. */
function isInexpressible(constraint: CatalogConstraint, pair: ReconcilePair): boolean {
  const { asked, known, dropped, from } = pair
  const { kind, target } = constraint
  if (kind === 'check') return !constraint.validated
  if (kind === 'unique') return !isPlainUnique(constraint)
  if (kind !== 'foreign_key') return false
  // The configuration has no say about tables without a model, unless it drops them.
  if (!find(asked, target ?? '')) return !dropped.includes(target ?? '')
  const now = { key: constraint, table: from }
  return [now, beforeRenames(now, pair)].every(
    ({ key, table }) =>
      reasonAgainstRelation(key, { live: table, managed: true }, find(known, target ?? '')) !== undefined,
  )
}

interface KeyOfTable {
  readonly key: CatalogConstraint
  readonly table: CatalogTable
}

function beforeRenames({ key, table }: KeyOfTable, { former }: ReconcilePair): KeyOfTable {
  const renamed = (constraint: CatalogConstraint): CatalogConstraint => ({
    ...constraint,
    columns: constraint.columns.map((column) => column && former(column)),
  })
  const columns = table.columns.map((column) => ({ ...column, name: former(column.name) }))
  return { key: renamed(key), table: { ...table, columns, constraints: table.constraints.map(renamed) } }
}
