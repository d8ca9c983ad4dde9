import type { CatalogConstraint, CatalogIndex } from '../../introspect/catalog/catalog.js'
import type { Step } from '../../files/steps.js'
import {
  both,
  find,
  has,
  isOurConstraint,
  isOurIndex,
  isSame,
  type Named,
  nameless,
  type Pair,
  refersToRetyped,
  usesOf,
} from '../compare/pair.js'
import { renamePart } from './part-steps.js'
import { type NameChange, renamesInOrder } from './rename-order.js'

type Renamed<Part> = readonly (readonly [old: Part, now: Part])[]

/** The constraints whose names change with that of their table or column, each with its wanted form. */
export function renamedConstraints(pair: Pair): Renamed<CatalogConstraint> {
  const isOnRetyped = (key: CatalogConstraint) =>
    key.kind === 'foreign_key' && (usesOf(key).some((column) => pair.retyped.has(column)) || refersToRetyped(key, pair))
  return renamedOf(pair.from.constraints, pair.to.constraints, {
    isOurs: (each) => isOurConstraint(pair, each),
    // PostgreSQL checks a foreign key against each new type of its columns at once, so one of two types would not fit.
    isSame: (old, now) => old.kind === now.kind && isSame(old, now) && !isOnRetyped(old),
  })
}

/** The same for indexes. */
export function renamedIndexes(pair: Pair): Renamed<CatalogIndex> {
  return renamedOf(pair.from.indexes, pair.to.indexes, {
    isOurs: (each) => isOurIndex(pair, each),
    isSame: (old, now) => nameless(old) === nameless(now),
  })
}

interface Comparison<Part> {
  readonly isOurs: (part: Part) => boolean
  readonly isSame: (old: Part, now: Part) => boolean
}

/** The parts that are the same under another name, if that name is free or becomes free. */
function renamedOf<Part extends Named>(
  from: readonly Part[],
  to: readonly Part[],
  { isOurs, isSame }: Comparison<Part>,
): Renamed<Part> {
  const stays = (part: Part, others: readonly Part[]) => {
    const other = find(others, part.name)
    return other !== undefined && isSame(part, other)
  }
  const left = new Set(from.filter((old) => !stays(old, to) && isOurs(old)))
  let renamed: Renamed<Part> = to.flatMap((now) => {
    const old = stays(now, from) ? undefined : [...left].find((each) => isSame(each, now))
    if (old === undefined) return []
    left.delete(old)
    return [[old, now] as const]
  })
  // A name that another part keeps, or needs, is not free.
  for (let before = -1; before !== renamed.length; ) {
    before = renamed.length
    const [olds, nows] = [renamed.map(([old]) => old), renamed.map(([, now]) => now)]
    renamed = renamed.filter(
      ([old, now]) => (!has(from, now.name) || has(olds, now.name)) && (!has(to, old.name) || has(nows, old.name)),
    )
  }
  return renamed
}

interface PartRename extends NameChange {
  readonly kind: 'constraint' | 'index' | 'sequence'
  readonly table: string
}

/** The steps that rename constraints, indexes and sequences. */
export function renamedParts(pairs: readonly Pair[]): readonly Step[] {
  return renamesInOrder(pairs.flatMap(renamesOf), ({ kind, table, from, to }) => renamePart(kind, table, { from, to }))
}

function renamesOf(pair: Pair): readonly PartRename[] {
  const { wanted, from, to, former } = pair
  const table = wanted.name
  const sequences = both(from.columns, to.columns).filter(
    ([old, now]) =>
      old.sequence !== now.sequence && (former.table(table) !== table || former.column(table, now.name) !== now.name),
  )
  return [
    ...renamedConstraints(pair).map(([old, now]): PartRename => {
      // Keys have indexes, whose names differ in all tables.
      const space = old.kind === 'check' || old.kind === 'foreign_key' ? table : ''
      return { kind: 'constraint', table, space, from: old.name, to: now.name }
    }),
    ...renamedIndexes(pair).map(
      ([old, now]): PartRename => ({ kind: 'index', table, space: '', from: old.name, to: now.name }),
    ),
    ...sequences.flatMap(([old, now]): readonly PartRename[] =>
      old.sequence !== null && now.sequence !== null
        ? [{ kind: 'sequence', table, space: '', from: old.sequence, to: now.sequence }]
        : [],
    ),
  ]
}
