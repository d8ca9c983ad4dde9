import type { CatalogConstraint } from '../../introspect/catalog/catalog.js'
import { readCheck } from '../../introspect/catalog/constraint-parser.js'
import { sameColumns } from '../../introspect/catalog/plain-parts.js'
import { find, has, isTakenOver, type Pair } from './pair.js'

/** The checks that were taken over and that a new check replaces, by the name of the new check. */
export function replacedChecks(pair: Pair): ReadonlyMap<string, readonly CatalogConstraint[]> {
  const { wanted, from, to, retyped } = pair
  // Checks on a column whose type changes are dropped before the type changes.
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

/** The names of the rules that a check states, such as `minimum`. */
function limitsOf(check: CatalogConstraint | undefined, columns: Pair['from']['columns']): readonly string[] {
  const column = find(columns, check?.columns[0] ?? '')
  return Object.keys((check && column && readCheck(check.definition, column)) ?? {})
}
