import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { identifier, literal } from '../../fields/sql-literal.js'
import { exact } from '../../lookups/exact.js'
import type { Row, Scopes } from '../../resource/plan.js'
import type { Narrow } from './projections.js'
import { compare, type Parameters } from './where.js'

/** Renders the scope of a table as more of a `where`; empty where it has none. Every statement that is narrowed is narrowed by it. */
export function scopeClause(table: string, scopes: Scopes | undefined, params: Parameters, name?: string): string {
  const scope = scopes?.get(table)
  return scope === undefined ? '' : scope.map((condition) => ` and ${compare(condition, params, name)}`).join('')
}

/** Narrows the related records of one statement. */
export function narrowing(scopes: Scopes | undefined, params: Parameters): Narrow | undefined {
  return scopes && ((table, name) => scopeClause(table, scopes, params, name))
}

/** Precedes, in the error of a rejected row, the name of the relation that leads out of the scope; of no relation, the row itself does. */
export const OUTSIDE = 'outside the scope: '

/**
 * More of a `returning`, which makes the statement fail when a written row is outside the scope, or refers to a record outside: the
 * database sees the row as it is stored, defaults and triggers included.
 * @param fields the fields that are written
 */
export function scopeChecks(
  model: ModelSpec,
  fields: readonly FieldSpec[],
  scopes: Scopes | undefined,
  params: Parameters,
): string {
  if (scopes === undefined) return ''
  const table = identifier(model.table)
  const own = scopeClause(model.table, scopes, params, table)
  const related = fields.map(({ name, column, target }) => {
    const narrowed = target ? scopeClause(target.table, scopes, params, RELATED) : ''
    if (!target || narrowed === '') return ''
    const reference = `${table}.${identifier(column)}`
    const there = `${RELATED}.${identifier(target.column)} = ${reference}${narrowed}`
    return check(
      name,
      `${reference} is null or exists (select from ${identifier(target.table)} ${RELATED} where ${there})`,
    )
  })
  return `${own === '' ? '' : check('', `true${own}`)}${related.join('')}`
}

/** No table is named so. */
const RELATED = identifier('@related')

/** The conversion of the text fails, with the text in its message. */
function check(name: string, condition: string): string {
  return `, (case when ${condition} then '1' else ${literal(`${OUTSIDE}${name}`)} end)::int`
}

/** A row with the values that its scope leaves no choice about, where it has none of its own. */
export function filledByScope({ table }: ModelSpec, row: Row, scopes: Scopes | undefined): Row {
  const equal = scopes?.get(table)?.filter(({ lookup }) => lookup === exact) ?? []
  const missing = equal.filter(({ field }) => !Object.hasOwn(row, field.name))
  return missing.length === 0
    ? row
    : { ...row, ...Object.fromEntries(missing.map(({ field, value }) => [field.name, value])) }
}
