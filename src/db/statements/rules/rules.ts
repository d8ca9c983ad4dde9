import { isOwnTable, type Rule, type RuleCondition, type UserSpec } from '../../../config/spec.js'
import { writeCell } from '../../../fields/cell.js'
import { identifier } from '../../../fields/sql-literal.js'
import { tableSql } from '../../../fields/table-name.js'
import { type Caller, type CallerKey, operandOf, subjectAs, type Membership } from '../../../resource/access.js'
import { comparedColumn, sameText } from '../../../fields/compared-column.js'
import { exact } from '../../../lookups/exact.js'
import { has } from '../../../lookups/has.js'
import { refersSql } from '../columns.js'
import { type Parameters, parameters } from '../parameters.js'
import type { Statement } from '../../database.js'

/** The caller and the parameters of one statement. */
export interface Asking {
  readonly caller: Caller
  readonly params: Parameters
}

/** The SQL of a rule about the record of `owner`, which is the name of a table in the statement; `true` if it holds for every record. */
export function ruleSql(rule: Rule | undefined, owner: string, asking: Asking): string {
  if (rule === undefined) return 'true'
  const alternatives = rule.filter((all) => all.every((each) => isGiven(each, asking)))
  if (alternatives.length === 0) return 'false'
  const texts = alternatives.map((all) => all.map((each) => conditionSql(each, owner, asking)).join(' and '))
  return texts.length === 1 ? (texts[0] ?? 'false') : `(${texts.map((text) => `(${text})`).join(' or ')})`
}

/** Whether the caller has what a condition compares with. */
function isGiven(condition: RuleCondition, { caller, params }: Asking): boolean {
  return 'literal' in condition.value || params.given(operandOf(condition), caller) !== undefined
}

/** Names that no table of a statement has. */
function alias(depth: number): string {
  return identifier(`@rule${depth}`)
}

function conditionSql(condition: RuleCondition, owner: string, asking: Asking, depth = 1): string {
  const relation = condition.relations[depth - 1]
  if (relation === undefined) return comparisonSql(condition, comparedColumn(condition.field, owner), asking)
  const { field, target } = relation
  const related = alias(depth)
  const inner = conditionSql(condition, related, asking, depth + 1)
  const key = refersSql({ target, parts: [{ field, to: target }] }, owner, related)
  return `exists (select from ${tableSql(target.table)} ${related} where ${key} and ${inner})`
}

function comparisonSql(condition: RuleCondition, column: string, asking: Asking): string {
  const { field, lookup, value } = condition
  const { caller, params } = asking
  if ('literal' in value) {
    const { literal } = value
    return lookup.sql(column, { field, value: literal, bind: (cell) => params.addFixed(cell(literal)) })
  }
  if ('user' in value) return `${column} = ${userSql(value.user, caller, params)}`
  if (!('set' in value)) {
    const operand = operandOf(condition)
    // A subject is another's if it differs in case. Elsewhere, the column decides which texts are equal.
    const isSame = 'subject' in value && (lookup === exact || lookup === has)
    const places: string[] = []
    const text = lookup.sql(column, {
      field,
      get value() {
        params.dependsOnValue()
        return operand(caller)
      },
      bind(cell) {
        const place = params.addGiven(operand, caller, cell)
        places.push(place)
        return place
      },
    })
    return isSame ? `${text}${places.map((place) => sameText(field, column, place)).join('')}` : text
  }
  const { model, field: of, rows } = value.set
  const name = identifier('@set')
  const found = ruleSql(rows, name, asking)
  // An array is built once for a statement, and an index can then be searched for its values.
  return `${column} = any(array(select ${comparedColumn(of, name)} from ${tableSql(model.table)} ${name} where ${found}))`
}

function userSql({ model, key, match }: UserSpec, caller: Caller, params: Parameters): string {
  const subject = subjectAs(match)
  if (params.given(subject, caller) === undefined) return 'null'
  const place = params.addGiven(subject, caller, (value) => writeCell(match, value))
  const column = comparedColumn(key)
  // Tables of other programs can have a subject twice: then nobody knows whose record it is.
  const [selected, once] = isOwnTable(model) ? [column, ''] : [`(array_agg(${column}))[1]`, ' having count(*) = 1']
  const matched = comparedColumn(match)
  const found = `${matched} = ${place}${sameText(match, matched, place)}`
  return `(select ${selected} from ${tableSql(model.table)} where ${found}${once})`
}

/** The SQL of a value to write. */
export function callerKeySql({ user, caller }: CallerKey, params: Parameters): string {
  return userSql(user, caller, params)
}

/** Selects a text for each membership, by which its values for a caller can be compared with later ones. */
export function membershipStatement(memberships: readonly Membership[], caller: Caller): Statement {
  const params = parameters()
  const texts = memberships.map((membership) => {
    if ('user' in membership) return `${userSql(membership.user, caller, params)}::text`
    const { model, field, rows } = membership.set
    const name = identifier('@set')
    const value = `${name}.${identifier(field.column)}::text`
    const found = ruleSql(rows, name, { caller, params })
    return `(select md5(string_agg(distinct ${value}, ',' order by ${value})) from ${tableSql(model.table)} ${name} where ${found})`
  })
  return { text: `select ${texts.join(', ')}`, values: params.values, retry: true }
}
