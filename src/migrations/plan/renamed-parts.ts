import type { CatalogConstraint, CatalogIndex } from '../introspect/catalog.js'
import type { Step } from '../files/steps.js'
import { both, extra, isOurConstraint, isOurIndex, isSame, nameless, type Pair } from './pair.js'
import { renamePart } from './part-steps.js'

/** The constraints whose names change with that of their table or column, each with its wanted form. */
export function renamedConstraints(pair: Pair): readonly (readonly [CatalogConstraint, CatalogConstraint])[] {
  const old = extra(pair.from.constraints, pair.to.constraints).filter((each) => isOurConstraint(pair, each))
  return extra(pair.to.constraints, pair.from.constraints).flatMap((now) => {
    const same = old.find((each) => each.kind === now.kind && isSame(each, now))
    return same ? [[same, now] as const] : []
  })
}

/** The same for indexes. */
export function renamedIndexes(pair: Pair): readonly (readonly [CatalogIndex, CatalogIndex])[] {
  const old = extra(pair.from.indexes, pair.to.indexes).filter((each) => isOurIndex(pair, each))
  return extra(pair.to.indexes, pair.from.indexes).flatMap((now) => {
    const same = old.find((each) => nameless(each) === nameless(now))
    return same ? [[same, now] as const] : []
  })
}

/** The steps that rename constraints, indexes and counters of a table. */
export function renamedParts(pair: Pair): readonly Step[] {
  const { wanted, from, to, former } = pair
  const name = (kind: 'constraint' | 'index' | 'sequence', old: string, now: string) =>
    renamePart(kind, wanted.name, { from: old, to: now })
  const counters = both(from.columns, to.columns).filter(
    ([old, now]) =>
      old.sequence !== now.sequence &&
      (former.table(wanted.name) !== wanted.name || former.column(wanted.name, now.name) !== now.name),
  )
  return [
    ...renamedConstraints(pair).map(([old, now]) => name('constraint', old.name, now.name)),
    ...renamedIndexes(pair).map(([old, now]) => name('index', old.name, now.name)),
    ...counters.flatMap(([old, now]) =>
      old.sequence !== null && now.sequence !== null ? [name('sequence', old.sequence, now.sequence)] : [],
    ),
  ]
}
