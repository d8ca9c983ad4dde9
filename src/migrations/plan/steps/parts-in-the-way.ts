import type { Step } from '../../files/steps.js'
import type { CatalogConstraint, CatalogIndex } from '../../introspect/catalog/catalog.js'
import {
  find,
  has,
  isOurConstraint,
  isOurIndex,
  isSame,
  losesKey,
  type Pair,
  refersToRetyped,
  usesOf,
} from '../compare/pair.js'
import { replacedChecks } from '../compare/replaced-checks.js'
import { partsOnRetyped } from './retyped-parts.js'
import { dropConstraint, dropIndex } from './part-steps.js'
import { renamedConstraints, renamedIndexes } from './renamed-parts.js'

/** A part of a table that is dropped or added, and whether it points to another table. */
export interface PartStep {
  readonly step: Step
  readonly points: boolean
  /** The table that gets a unique constraint by it, so that foreign keys can refer to it. */
  readonly unique?: string
}

/** The steps that drop unwanted constraints and indexes, and those that must be dropped and put back. */
export function partsInTheWay(pair: Pair, _index: number, pairs: readonly Pair[]): readonly PartStep[] {
  const { wanted, from, to } = pair
  const renamed = new Set(renamedConstraints(pair).map(([old]) => old.name))
  const replaced = new Set([...replacedChecks(pair).values()].flat().map(({ name }) => name))
  const moved = new Set(renamedIndexes(pair).map(([old]) => old.name))
  return [
    ...from.constraints
      .filter(({ name, kind }) => kind !== 'primary_key' && !renamed.has(name) && !replaced.has(name))
      .filter((each) => (has(to.constraints, each.name) ? isAside(each, pair, pairs) : isGone(pair, each)))
      .map((constraint) => ({
        step: dropConstraint(wanted.name, constraint, isWeaker(pair, constraint)),
        points: constraint.kind === 'foreign_key',
      })),
    ...from.indexes
      .filter(({ name }) => !moved.has(name))
      .filter((index) => {
        const now = find(to.indexes, index.name)
        return now ? now.definition !== index.definition && isOurIndex(pair, index) : isGone(pair, index)
      })
      .map((index) => ({
        step: dropIndex(wanted.name, index, {
          isWeaker: !has(to.indexes, index.name) && !isOn(pair.dropped, index),
          served: servedBy(pair, index),
        }),
        points: false,
      })),
    ...retypedParts(pair).drops.map((step) => ({ step, points: false })),
  ]
}

/** Drops checks and indexes before the type of their column changes and adds them again afterwards, unless another step drops them. */
export function retypedParts(pair: Pair): ReturnType<typeof partsOnRetyped> {
  const { to } = pair
  return partsOnRetyped(pair, (part) => {
    const now = find<CatalogConstraint | CatalogIndex>('kind' in part ? to.constraints : to.indexes, part.name)
    return now ? now.definition === part.definition : !isGone(pair, part)
  })
}

/** A foreign key that stays, for which PostgreSQL then has no index. */
function servedBy(pair: Pair, index: CatalogIndex): CatalogConstraint | undefined {
  const isWhole = ({ definition }: CatalogIndex) => !/ WHERE /.test(definition)
  if (!isWhole(index)) return undefined
  const keys = pair.to.constraints.filter(({ kind }) => kind === 'unique' || kind === 'primary_key')
  const others = [...pair.to.indexes.filter(isWhole), ...keys]
  const leads = (columns: readonly (string | null)[], key: CatalogConstraint) =>
    columns.slice(0, key.columns.length).toSorted().join() === key.columns.toSorted().join()
  return pair.from.constraints.find(
    (key) =>
      key.kind === 'foreign_key' &&
      !isGone(pair, key) &&
      leads(index.columns, key) &&
      !others.some(({ columns }) => leads(columns, key)),
  )
}

/** Whether the table accepts more without a constraint: it is not put back under any name, and its columns stay. */
function isWeaker({ to, dropped }: Pair, constraint: CatalogConstraint): boolean {
  const isBack = to.constraints.some(
    ({ name, definition }) => name === constraint.name || definition === constraint.definition,
  )
  return !isBack && !isOn(dropped, constraint)
}

/** An unwanted part is dropped if migrations made it. Any part is dropped with its column, because PostgreSQL would do that anyway. */
function isGone(pair: Pair, part: CatalogConstraint | CatalogIndex): boolean {
  if (isOn(pair.dropped, part)) return true
  return 'kind' in part ? isOurConstraint(pair, part) : isOurIndex(pair, part)
}

export function isOn(names: ReadonlySet<string>, part: CatalogConstraint | CatalogIndex): boolean {
  return usesOf(part).some((column) => names.has(column))
}

/** Whether a constraint must be dropped and put back: one of its columns changes its type, or the table that it refers to may be dropped. */
export function isAside(constraint: CatalogConstraint, pair: Pair, pairs: readonly Pair[]): boolean {
  const { kind, name, target, targetColumns } = constraint
  const own = isOn(pair.retyped, constraint)
  if (kind !== 'foreign_key') return own && !isSame(constraint, find(pair.to.constraints, name))
  const other = pairs.find(({ wanted }) => wanted.name === target)
  const isMoved =
    (!other || losesKey(other, targetColumns)) &&
    isOurConstraint(pair, constraint) &&
    !isSame(constraint, find(pair.to.constraints, name))
  return own || isMoved || refersToRetyped(constraint, pair)
}
