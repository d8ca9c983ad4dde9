import type { Json, JsonSchema } from '../../../foundation/json.js'
import { identifier } from '../../../fields/sql-literal.js'
import { brokenRule, createValidator } from '../../../config/parse/check/check-fields.js'
import { areChoices } from '../../../fields/types/choice.js'
import { formOf, formsOf } from '../../../fields/columns.js'
import { compareDecimals, fromSteps, toSteps } from '../../../fields/spelling/exact-number.js'
import { type Comparison, type ExistingColumn, keepsValues, type Limits } from '../../../fields/existing-column.js'
import type { FieldType } from '../../../fields/field-type.js'
import { DECIMAL } from '../../../fields/spelling/formats.js'
import type { CatalogColumn } from './catalog.js'
import { type Expression, readExpression } from './expression.js'

const MIRRORED: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' }

/** Parses a check on one column; returns undefined if resources.yaml cannot express it. */
export function readCheck(definition: string, column: CatalogColumn): Limits | undefined {
  const inner = withoutNull(/^CHECK \((.*)\)$/s.exec(definition)?.[1], column)
  const { type, form } = formOf(column) ?? {}
  const comparison = form?.comparison
  const expression = inner === undefined ? undefined : readExpression(inner)
  if (!type || !comparison || !expression) return undefined
  const parts = expression.kind === 'and' ? flatten(expression.parts) : [expression]
  const limits = parts.map((part) => limitsOf(part, { name: column.name, comparison }))
  if (!limits.every((each) => each !== undefined)) return undefined
  const joined = withoutIdle(joinLimits(limits), comparison)
  return hasLengths(type, joined) ? joined : undefined
}

/** Removes a leading `is null or` from a check, because every check accepts null anyway. */
function withoutNull(inner: string | undefined, { name }: CatalogColumn): string | undefined {
  const start = [name, identifier(name)].map((each) => `((${each} IS NULL) OR `).find((each) => inner?.startsWith(each))
  return start === undefined ? inner : inner?.slice(start.length, -1)
}

/** Whether the lengths are not above what the options of a type can be. */
function hasLengths({ options }: FieldType, { min = 0, max = 0 }: Limits): boolean {
  const mostOf = (schema: JsonSchema | undefined) => Number(schema?.['maximum'] ?? Number.POSITIVE_INFINITY)
  return min <= mostOf(options['min']) && max <= mostOf(options['max'])
}

/** A maximum length above the limit of the column's type restricts nothing. */
function withoutIdle(limits: Limits, comparison: Comparison): Limits {
  const { max, ...others } = limits
  const room = comparison.as === 'text' ? comparison.room : undefined
  return room !== undefined && max !== undefined && max >= room ? others : limits
}

function flatten(parts: readonly Expression[]): readonly Expression[] {
  return parts.flatMap((part) => (part.kind === 'and' ? flatten(part.parts) : [part]))
}

/** The column that a check restricts. */
interface Subject {
  readonly name: string
  readonly comparison: Comparison
}

/** Whether an expression is the column, perhaps cast to a type that keeps each value and the order of values. */
function isSubject(expression: Expression, { name, comparison }: Subject): boolean {
  if (expression.kind !== 'column' || expression.name !== name) return false
  return expression.casts.every((type) => keepsValues(comparison, type))
}

function limitsOf(part: Expression, subject: Subject): Limits | undefined {
  if (part.kind !== 'compare') return undefined
  const { operator, left, right } = part
  if (left.kind === 'value' && right.kind !== 'value') {
    const mirrored = MIRRORED[operator]
    return mirrored ? limitsOf({ kind: 'compare', operator: mirrored, left: right, right: left }, subject) : undefined
  }
  if (operator === 'in') return choicesOf(left, right, subject)
  if (right.kind !== 'value') return undefined
  if (left.kind === 'call') return lengthOf(left, { operator, bound: right.text }, subject)
  if (!isSubject(left, subject)) return undefined
  if (subject.comparison.as === 'text') return textLimits(operator, right.text)
  if (subject.comparison.as !== 'number') return undefined
  return rangeOf({ operator, bound: right.text }, subject.comparison.decimals)
}

/** PostgreSQL prints a list of one choice as a comparison. */
function textLimits(operator: string, text: string): Limits | undefined {
  if (operator === '=') return areChoices([text]) ? { choices: [text] } : undefined
  return operator === '<>' && text === '' ? { min: 1 } : undefined
}

interface Bound {
  readonly operator: string
  readonly bound: string
}

function choicesOf(left: Expression, right: Expression, subject: Subject): Limits | undefined {
  if (subject.comparison.as !== 'text' || !isSubject(left, subject) || right.kind !== 'list') return undefined
  const choices = right.items.flatMap((item) => (item.kind === 'value' ? [item.text] : []))
  return choices.length === right.items.length && areChoices(choices) ? { choices } : undefined
}

/** The functions whose result the options `min` and `max` bound. */
const LENGTHS: Readonly<Partial<Record<Comparison['as'], readonly string[]>>> = {
  text: ['char_length', 'character_length', 'length'],
  bytes: ['octet_length', 'length'],
  list: ['cardinality'],
  json: ['octet_length'],
}

function lengthOf(
  { name, argument }: Extract<Expression, { kind: 'call' }>,
  { operator, bound }: Bound,
  subject: Subject,
): Limits | undefined {
  const functions = LENGTHS[subject.comparison.as]
  if (functions?.includes(name) !== true) return undefined
  if (!isSubject(argument, subject) || !/^\d{1,10}$/.test(bound)) return undefined
  const length = Number(bound)
  if (operator === '=' && length > 0) return { min: length, max: length }
  if (operator === '>=') return { min: length }
  if (operator === '>') return { min: length + 1 }
  if (operator === '<=' && length > 0) return { max: length }
  return operator === '<' && length > 1 ? { max: length - 1 } : undefined
}

function rangeOf({ operator, bound }: Bound, decimals: number | 'any' | undefined): Limits | undefined {
  if (decimals === undefined || decimals === 'any') {
    const number = decimals === 'any' ? bound : String(Number(bound))
    if (!Number.isFinite(Number(number))) return undefined
    return operator === '>=' ? { minimum: number } : operator === '<=' ? { maximum: number } : undefined
  }
  const steps = toSteps(bound, decimals)
  if (steps === undefined) return undefined
  if (operator === '>=') return { minimum: fromSteps(steps, decimals) }
  if (operator === '>') return { minimum: fromSteps(steps + 1n, decimals) }
  if (operator === '<=') return { maximum: fromSteps(steps, decimals) }
  return operator === '<' ? { maximum: fromSteps(steps - 1n, decimals) } : undefined
}

/** Combines restrictions: the narrowest of each kind applies. */
export function joinLimits(limits: readonly Limits[]): Limits {
  return limits.reduce<Limits>((one, other) => {
    const [minimum, maximum] = [highest(one.minimum, other.minimum), lowest(one.maximum, other.maximum)]
    const [min, max] = [highest(one.min, other.min), lowest(one.max, other.max)]
    const choices =
      one.choices && other.choices
        ? one.choices.filter((each) => other.choices?.includes(each))
        : (one.choices ?? other.choices)
    return {
      ...(minimum === undefined ? {} : { minimum }),
      ...(maximum === undefined ? {} : { maximum }),
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
      ...(choices === undefined ? {} : { choices }),
    }
  }, {})
}

function highest<Bound extends string | number>(one?: Bound, other?: Bound): Bound | undefined {
  return one === undefined || (other !== undefined && isLess(one, other)) ? other : one
}

function lowest<Bound extends string | number>(one?: Bound, other?: Bound): Bound | undefined {
  return one === undefined || (other !== undefined && isLess(other, one)) ? other : one
}

function isLess(one: string | number, other: string | number): boolean {
  const [left, right] = [String(one), String(other)]
  return [left, right].every((text) => DECIMAL.test(text))
    ? compareDecimals(left, right) < 0
    : Number(left) < Number(right)
}

/** The limits that the type of a column has, in addition to the limits of its field. */
export function limitsOfType(column: ExistingColumn): Limits {
  return joinLimits(formsOf(column).map(({ form }) => form.limits ?? {}))
}

/** A default that resources.yaml can express: a value, or a function call. */
export type Default = { readonly call: string } | { readonly literal: Json }

/** Other spellings of functions that a field type can call. */
const SYNONYMS: Readonly<Record<string, string>> = { CURRENT_TIMESTAMP: 'now()', 'transaction_timestamp()': 'now()' }

/** Parses a default; returns undefined if resources.yaml cannot express it. */
export function readDefault(sql: string, column: ExistingColumn): Default | undefined {
  const { type, form } = formOf(column) ?? {}
  if (!type || !form) return undefined
  const called = Object.entries(type.functions ?? {}).find(([, call]) => call === (SYNONYMS[sql] ?? sql))
  if (called) return { call: called[0] }
  const expression = readExpression(sql)
  if (expression?.kind === 'column') {
    // The words `true` and `false` are read as names.
    const value = form.literal?.(expression.name)
    return typeof value === 'boolean' && String(value) === expression.name ? { literal: value } : undefined
  }
  if (expression?.kind !== 'value' || !isValueOf(column, expression)) return undefined
  const literal = form.literal?.(expression.text)
  const options = form.options(limitsOfType(column))
  return literal === undefined || (options && !followsRules(type, options, literal)) ? undefined : { literal }
}

const validate = createValidator()

/** Whether a value follows the rules of a field. */
export function followsRules(type: FieldType, options: object, value: Json): boolean {
  return brokenRule(type, options, value, validate) === undefined
}

/** Whether a constant has the column's type or a similar one with the same text form. */
function isValueOf(column: ExistingColumn, { quoted, casts }: Extract<Expression, { kind: 'value' }>): boolean {
  const comparison = formOf(column)?.form.comparison
  if (comparison?.as === 'text' && !quoted) return false
  return casts.every((cast) => {
    if (withoutSizes(cast) === withoutSizes(column.type)) return true
    const other = formOf({ type: withoutSizes(cast), collation: null, labels: null })?.form.comparison
    return (
      comparison !== undefined && (other?.as === comparison.as || (cast === 'numeric' && comparison.as === 'number'))
    )
  })
}

/** In casts, `character` has its name in the catalogue. */
function withoutSizes(type: string): string {
  return type === 'bpchar' ? 'character' : type.replace(/\([\d,]+\)/, '')
}
