import type { CatalogConstraint } from '../../introspect/catalog/catalog.js'
import { readCheck } from '../../introspect/catalog/constraint-parser.js'
import { sameColumns } from '../../introspect/catalog/plain-parts.js'
import { find, has, isTakenOver, type Pair } from './pair.js'

/** The checks of other tools that state a rule as it was, by the name of the new check that replaces them. */
export function replacedChecks(pair: Pair): ReadonlyMap<string, readonly CatalogConstraint[]> {
  const { wanted, from, to, retyped } = pair
  // The checks of a column whose type changes are dropped before it does.
  const gone = new Set(
    from.constraints.filter(
      (each) =>
        isTakenOver(pair, each) &&
        !has(to.constraints, each.name) &&
        each.columns.every((column) => column !== null && has(to.columns, column) && !retyped.has(column)),
    ),
  )
  const replaced = wanted.constraints
    .filter(({ name, kind }) => kind === 'check' && !has(from.constraints, name))
    .map(({ name, columns }) => {
      const limits = limitsOf(find(to.constraints, name), to.columns)
      const old = [...gone].filter(
        (each) =>
          sameColumns(each.columns, columns) && limitsOf(each, from.columns).some((limit) => limits.includes(limit)),
      )
      for (const each of old) gone.delete(each)
      return [name, old] as const
    })
  return new Map(replaced.filter(([, old]) => old.length > 0))
}

/** The options of a field that a check states. */
function limitsOf(check: CatalogConstraint | undefined, columns: Pair['from']['columns']): readonly string[] {
  const column = find(columns, check?.columns[0] ?? '')
  return Object.keys((check && column && readCheck(check.definition, column)) ?? {})
}
