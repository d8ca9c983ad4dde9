import { tableAlias, tableSql } from '../../../fields/table-name.js'
import type { FieldSpec, ModelRelation, ModelSpec } from '../../../config/spec.js'
import { identifier, literal } from '../../../fields/sql-literal.js'
import { exact } from '../../../lookups/exact.js'
import type { Row, Scopes } from '../../../resource/plan.js'
import { columnsIn, refersSql } from '../columns.js'
import type { Narrow } from '../projections.js'
import type { Parameters } from '../parameters.js'
import { compare } from '../lists/where.js'

/** Renders the scope of a table as more conditions of a `where`; empty if it has none. Every scoped statement uses this. */
export function scopeClause(table: string, scopes: Scopes | undefined, params: Parameters, name?: string): string {
  const scope = scopes?.get(table)
  return scope === undefined ? '' : scope.map((condition) => ` and ${compare(condition, params, name)}`).join('')
}

/** Narrows the related records in one statement. */
export function narrowing(scopes: Scopes | undefined, params: Parameters): Narrow | undefined {
  return scopes && (({ model }, name) => scopeClause(model.table, scopes, params, name))
}

/** Enclose the name of the relation in the error for a record outside the scope; it is empty if the row itself is outside. */
const OUTSIDE = 'outside the scope: '
const END = ';'

/**
 * Additions to `returning` that make the statement fail if a written row is outside the scope or refers to a record outside. The database checks the
 * row as stored, after defaults and triggers.
 * @param fields the fields that are written
 * @param added selects columns of the rows that the statement adds
 */
export function scopeChecks(
  model: ModelSpec,
  fields: readonly FieldSpec[],
  scopes: Scopes | undefined,
  { params, added }: { readonly params: Parameters; readonly added?: SelectAdded | undefined },
): string {
  if (scopes === undefined) return ''
  const table = tableAlias(model.table)
  const own = scopeClause(model.table, scopes, params, table)
  const written = model.relations.filter(({ parts }) => parts.some(({ field }) => fields.includes(field)))
  const related = written.map((relation) => {
    const narrowed = scopeClause(relation.target.table, scopes, params, RELATED)
    return narrowed === '' ? '' : insideCheck(relation.name, refersTo(model, relation, narrowed, added))
  })
  return `${own === '' ? '' : insideCheck('', `true${own}`)}${related.join('')}`
}

/** Selects columns of the rows that a statement adds. */
export type SelectAdded = (columns: string) => string

/** An alias that no table can have. */
export const RELATED = identifier('@related')

/**
 * The condition that a relation is null, or refers to a record for which a condition on the table `RELATED` holds. A statement does not see the rows
 * that it adds to a table, so `added` selects them.
 */
export function refersTo(model: ModelSpec, relation: ModelRelation, condition: string, added?: SelectAdded): string {
  const { target, parts } = relation
  const table = tableAlias(model.table)
  const stored = tableSql(target.table)
  const missing = parts.map(({ field }) => `${table}.${identifier(field.column)} is null or `)
  const there = `${refersSql(relation, table, RELATED)}${condition}`
  const columns = columnsIn(there, model)
  const isAdded = added !== undefined && target.table === model.table
  const records = isAdded ? `(select ${columns} from ${stored} union all ${added(columns)})` : stored
  return `${missing.join('')}exists (select from ${records} ${RELATED} where ${there})`
}

export function insideCheck(name: string, condition: string): string {
  return failUnless(condition, `${OUTSIDE}${name}${END}`)
}

/** Returns the name that a failed `insideCheck` has put into the message; undefined for other messages. */
export function outsideName(message: string): string | undefined {
  return message.split(OUTSIDE, 2)[1]?.split(END, 1)[0]
}

const OR_FAIL = "then '1' else concat"

/**
 * An addition to `returning`: casting the text to a number fails, with the text in the error message. PostgreSQL evaluates constants while it plans,
 * when there may be no row; the result of `concat` is none.
 */
export function failUnless(condition: string, message: string): string {
  return `, (case when ${condition} ${OR_FAIL}(${literal(message)}) end)::int`
}

/** Whether a statement has an addition by `failUnless`. */
export function mayFail({ text }: { readonly text: string }): boolean {
  return text.includes(OR_FAIL)
}

/** Fills fields that a row leaves out and its scope fixes to one value. */
export function filledByScope({ table }: ModelSpec, row: Row, scopes: Scopes | undefined): Row {
  const equal = scopes?.get(table)?.filter(({ lookup }) => lookup === exact) ?? []
  const missing = equal.filter(({ field }) => !Object.hasOwn(row, field.name))
  return missing.length === 0
    ? row
    : { ...row, ...Object.fromEntries(missing.map(({ field, value }) => [field.name, value])) }
}
