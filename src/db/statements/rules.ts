import type { Rule, UserSpec } from '../../config/spec.js'
import { writeCell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import { tableSql } from '../../fields/table-name.js'
import { valueOf } from '../../lookups/code-source.js'
import { type Caller, type CallerKey, type FilledCondition, fillRule } from '../../resource/access.js'
import type { Parameters } from './parameters.js'

/** The caller and the parameters of one statement. */
export interface Asking {
  readonly caller: Caller
  readonly params: Parameters
}

/** The SQL of a rule about the record of `owner`, which is the name of a table in the statement; `true` if it holds for every record. */
export function ruleSql(rule: Rule | undefined, owner: string, asking: Asking): string {
  if (rule === undefined) return 'true'
  const alternatives = fillRule(rule, asking.caller).map((all) => all.map((each) => conditionSql(each, owner, asking)))
  if (alternatives.length === 0) return 'false'
  const texts = alternatives.map((all) => all.join(' and '))
  return texts.length === 1 ? (texts[0] ?? 'false') : `(${texts.map((text) => `(${text})`).join(' or ')})`
}

/** Names that no table of a statement has. */
const alias = (depth: number): string => identifier(`@rule${depth}`)

function conditionSql(condition: FilledCondition, owner: string, asking: Asking, depth = 1): string {
  const [relation, ...others] = condition.relations
  if (relation === undefined) return comparisonSql(condition, `${owner}.${identifier(condition.field.column)}`, asking)
  const { field, target } = relation
  const related = alias(depth)
  const inner = conditionSql({ ...condition, relations: others }, related, asking, depth + 1)
  const key = `${related}.${identifier(target.column)} = ${owner}.${identifier(field.column)}`
  return `exists (select from ${tableSql(target.table)} ${related} where ${key} and ${inner})`
}

function comparisonSql({ field, lookup, value }: FilledCondition, column: string, asking: Asking): string {
  const { caller, params } = asking
  if ('given' in value)
    return lookup.sql(column, { field, value: value.given, bind: (cell) => params.add(cell(value.given)) })
  if ('user' in value) return `${column} = ${userSql(value.user, caller.subject ?? '', params)}`
  const { model, field: of, rows } = value.set
  const name = identifier('@set')
  const found = ruleSql(rows, name, asking)
  // An array is built once for a statement, and an index can then be searched for its values.
  return `${column} = any(array(select ${name}.${identifier(of.column)} from ${tableSql(model.table)} ${name} where ${found}))`
}

function userSql({ model, key, match }: UserSpec, subject: string, params: Parameters): string {
  const value = valueOf(match, subject)
  if (value === undefined) return 'null'
  return `(select ${identifier(key.column)} from ${tableSql(model.table)} where ${identifier(match.column)} = ${params.add(writeCell(match, value))})`
}

/** The SQL of a value to write. */
export function callerKeySql({ user, subject }: CallerKey, params: Parameters): string {
  return userSql(user, subject, params)
}
