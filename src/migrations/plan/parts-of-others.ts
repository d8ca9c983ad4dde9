import type { Limits } from '../../fields/existing-column.js'
import { identifier } from '../../fields/sql-literal.js'
import { alter } from '../files/steps.js'
import type { CatalogColumn, CatalogConstraint } from '../introspect/catalog/catalog.js'
import { joinLimits, readCheck } from '../introspect/catalog/constraint-parser.js'
import { readForeignKey } from '../introspect/catalog/foreign-key.js'
import { isOnly } from '../introspect/catalog/plain-parts.js'
import { extra, find, has, isOurConstraint, isSame, type Pair } from './compare/pair.js'
import { enumOf, nameOfEnum } from './steps/replace-enum.js'
import { asTexts } from './steps/retyped-parts.js'

/** Rejects new choices that a check created by hand does not accept. `added` has these choices by the name of their enum. */
export function rejectedChoices(pair: Pair, added: ReadonlyMap<string, readonly string[]>): readonly string[] {
  return pair.from.columns.flatMap((column) => {
    const choices = column.labels ? added.get(nameOfEnum(enumOf(column))) : undefined
    if (!choices) return []
    const text = { ...column, type: 'text', labels: null }
    const isTooNarrow = ({ definition }: CatalogConstraint) =>
      isNarrower(readCheck(asTexts(definition, new Set([enumOf(column)])), text) ?? {}, { choices })
    return checksOfOthers(pair, column.name).filter(isTooNarrow).map(tooNarrow(pair, column.name))
  })
}

function checksOfOthers(pair: Pair, column: string): readonly CatalogConstraint[] {
  return pair.from.constraints.filter(
    (each) =>
      each.kind === 'check' &&
      isOnly(each.columns, column) &&
      !isOurConstraint(pair, each) &&
      !has(pair.to.constraints, each.name),
  )
}

function tooNarrow(pair: Pair, column: string): (check: CatalogConstraint) => string {
  return (check) =>
    `${pair.wanted.name}.${column} cannot accept every value of its field, because the check ${check.name} was created by hand, as ${check.definition}: ` +
    dropFirst(pair, check)
}

/** The migration by hand runs before the plan, so the table has its former name. */
function dropFirst({ wanted, former }: Pair, { name }: CatalogConstraint): string {
  const drop = alter(former.table(wanted.name), `drop constraint ${identifier(name)}`)
  return `drop it in a migration by hand, and plan again: ${drop}`
}

/** Rejects a new or wider rule if a check created by hand does not accept all of its values. */
export function narrowerChecks(pair: Pair): readonly string[] {
  const { from, to } = pair
  return to.columns.flatMap((column) => {
    const there = find(from.columns, column.name)
    const isOnIt = ({ kind, columns }: CatalogConstraint) => kind === 'check' && isOnly(columns, column.name)
    const isNew = (each: CatalogConstraint) => !isSame(each, find(from.constraints, each.name))
    const limits = (checks: readonly CatalogConstraint[], on: CatalogColumn) =>
      joinLimits(checks.flatMap(({ definition }) => readCheck(definition, on) ?? []))
    const asked = limits(to.constraints.filter(isOnIt).filter(isNew), column)
    const isText = there?.labels && column.labels === null
    // The rules of a `char(n)` column are read as those of the new type, because `char(n)` has none.
    const before = isText || there?.type.startsWith('character(') ? column : there
    const now = (check: CatalogConstraint) =>
      isText ? { ...check, definition: asTexts(check.definition, new Set([enumOf(there)])) } : check
    return checksOfOthers(pair, column.name)
      .filter((each) => before && isNarrower(limits([now(each)], before), asked))
      .map(tooNarrow(pair, column.name))
  })
}

function isNarrower(there: Limits, asked: Limits): boolean {
  const isAbove = (one: string | number | undefined, other: string | number | undefined) =>
    one !== undefined && other !== undefined && Number(one) > Number(other)
  return (
    isAbove(there.minimum, asked.minimum) ||
    isAbove(asked.maximum, there.maximum) ||
    isAbove(there.min, asked.min) ||
    isAbove(asked.max, there.max) ||
    (there.choices !== undefined && asked.choices?.some((choice) => !there.choices?.includes(choice)) === true)
  )
}

/** Rejects a new relation if its columns have a foreign key that was created by hand with another `on_delete`. */
export function otherActions(pair: Pair): readonly string[] {
  const { wanted, from, to } = pair
  const others = from.constraints.filter((each) => !isOurConstraint(pair, each) && !has(to.constraints, each.name))
  return extra(to.constraints, from.constraints).flatMap((now) =>
    others
      .filter((old) => isSameReference(old, now) && readForeignKey(old)?.onDelete !== readForeignKey(now)?.onDelete)
      .map(
        (old) =>
          `the relation by ${now.columns.join(', ')} of ${wanted.name} cannot have the \`on_delete\` of the configuration, because the foreign key ${old.name} ` +
          `was created by hand, as ${old.definition}: ${dropFirst(pair, old)}`,
      ),
  )
}

function isSameReference(one: CatalogConstraint, other: CatalogConstraint): boolean {
  if (one.kind !== 'foreign_key' || other.kind !== 'foreign_key') return false
  const pairsOf = ({ columns, targetColumns }: CatalogConstraint) =>
    columns.map((column, place) => JSON.stringify([column, targetColumns[place]])).toSorted()
  return one.target === other.target && pairsOf(one).join() === pairsOf(other).join()
}
