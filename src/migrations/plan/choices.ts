import type { CatalogTable } from '../introspect/catalog.js'
import { joinLimits, readCheck } from '../introspect/constraint-parser.js'
import { find } from './pair.js'

/** The texts that the checks on a column allow; undefined if they allow any. */
export function choicesOf({ columns, constraints }: CatalogTable, name: string): readonly string[] | undefined {
  const column = find(columns, name)
  const checks = constraints.filter(({ kind, columns: [first] }) => kind === 'check' && first === name)
  return column && joinLimits(checks.flatMap(({ definition }) => readCheck(definition, column) ?? [])).choices
}
