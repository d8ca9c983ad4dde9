import type { Json } from '../../json.js'
import type { CatalogColumn } from './catalog.js'
import { type Expression, readExpression } from './expression.js'

/** The restrictions of checks on one column, as settings of resources.yaml. Numbers are texts, so that no digit is lost. */
export interface Demand {
  readonly minimum?: string
  readonly maximum?: string
  /** Bounds of the length of a text. */
  readonly min?: number
  readonly max?: number
  readonly choices?: readonly string[]
}

/** The kind of a column's values, which decides which comparisons apply. */
type Kind = 'whole' | 'exact' | 'float' | 'text'

const KINDS: readonly (readonly [type: RegExp, kind: Kind])[] = [
  [/^(?:smallint|integer|bigint)$/, 'whole'],
  [/^numeric\(\d+,\d+\)$/, 'exact'],
  [/^(?:real|double precision)$/, 'float'],
  [/^(?:text|character varying(?:\(\d+\))?)$/, 'text'],
]

const MIRRORED: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' }

/** Parses a check on one column; returns undefined if resources.yaml cannot express it. */
export function readCheck(definition: string, column: CatalogColumn): Demand | undefined {
  const inner = /^CHECK \((.*)\)$/s.exec(definition)?.[1]
  const kind = KINDS.find(([type]) => type.test(column.type))?.[1]
  const expression = inner === undefined ? undefined : readExpression(inner)
  if (!kind || !expression) return undefined
  const parts = expression.kind === 'and' ? flatten(expression.parts) : [expression]
  const demands = parts.map((part) => demandOf(part, column, kind))
  return demands.every((demand) => demand !== undefined) ? withoutIdle(joinDemands(demands), column) : undefined
}

/** A maximum length beyond that of the column's type restricts nothing. */
function withoutIdle(demand: Demand, { type }: CatalogColumn): Demand {
  const room = /^character varying\((\d+)\)$/.exec(type)?.[1]
  const { max, ...others } = demand
  return room !== undefined && max !== undefined && max >= Number(room) ? others : demand
}

function flatten(parts: readonly Expression[]): readonly Expression[] {
  return parts.flatMap((part) => (part.kind === 'and' ? flatten(part.parts) : [part]))
}

function demandOf(part: Expression, column: CatalogColumn, kind: Kind): Demand | undefined {
  if (part.kind !== 'compare') return undefined
  const { operator, left, right } = part
  if (left.kind === 'value' && right.kind !== 'value') {
    const mirrored = MIRRORED[operator]
    return mirrored
      ? demandOf({ kind: 'compare', operator: mirrored, left: right, right: left }, column, kind)
      : undefined
  }
  if (operator === 'in') return choicesOf(left, right, { column, kind })
  if (right.kind !== 'value') return undefined
  if (left.kind === 'call') return lengthOf(left, { operator, bound: right.text }, { column, kind })
  if (left.kind !== 'column' || left.name !== column.name) return undefined
  if (kind === 'text') return operator === '<>' && right.text === '' ? { min: 1 } : undefined
  return rangeOf({ operator, bound: right.text }, column, kind)
}

interface Where {
  readonly column: CatalogColumn
  readonly kind: Kind
}

interface Bound {
  readonly operator: string
  readonly bound: string
}

function choicesOf(left: Expression, right: Expression, { column, kind }: Where): Demand | undefined {
  if (kind !== 'text' || left.kind !== 'column' || left.name !== column.name || right.kind !== 'list') return undefined
  const choices = right.items.flatMap((item) => (item.kind === 'value' ? [item.text] : []))
  return choices.length === right.items.length && areChoices(choices) ? { choices } : undefined
}

/** Whether these values are valid `choices` in resources.yaml. */
export function areChoices(choices: readonly string[]): boolean {
  return (
    new Set(choices).size === choices.length && choices.every((choice) => choice !== '' && [...choice].length <= 255)
  )
}

function lengthOf(
  { name, argument }: Extract<Expression, { kind: 'call' }>,
  { operator, bound }: Bound,
  { column, kind }: Where,
): Demand | undefined {
  if (kind !== 'text' || !/^(?:char_length|character_length|length)$/.test(name)) return undefined
  if (argument.kind !== 'column' || argument.name !== column.name || !/^\d{1,7}$/.test(bound)) return undefined
  const length = Number(bound)
  if (operator === '=' && length > 0) return { min: length, max: length }
  if (operator === '>=') return { min: length }
  if (operator === '>') return { min: length + 1 }
  if (operator === '<=' && length > 0) return { max: length }
  return operator === '<' && length > 1 ? { max: length - 1 } : undefined
}

function rangeOf({ operator, bound }: Bound, { type }: CatalogColumn, kind: Kind): Demand | undefined {
  const units = unitsOf(bound, type, kind)
  if (units === undefined) {
    const number = Number(bound)
    if (kind !== 'float' || !Number.isFinite(number)) return undefined
    return operator === '>=' ? { minimum: String(number) } : operator === '<=' ? { maximum: String(number) } : undefined
  }
  const { value, scale } = units
  const text = (digits: bigint) => spell(digits, scale)
  if (operator === '>=') return { minimum: text(value) }
  if (operator === '>') return { minimum: text(value + 1n) }
  if (operator === '<=') return { maximum: text(value) }
  return operator === '<' ? { maximum: text(value - 1n) } : undefined
}

/** Converts a number to a count of the smallest steps of the column; returns undefined if it lies between two steps. */
function unitsOf(
  bound: string,
  type: string,
  kind: Kind,
): { readonly value: bigint; readonly scale: number } | undefined {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(bound) ?? []
  if (whole === '' || (kind !== 'whole' && kind !== 'exact')) return undefined
  const scale = kind === 'exact' ? Number(/,(\d+)\)/.exec(type)?.[1]) : 0
  if (/[1-9]/.test(fraction.slice(scale))) return undefined
  return { value: BigInt(`${sign}${whole}${fraction.slice(0, scale).padEnd(scale, '0')}`), scale }
}

function spell(value: bigint, scale: number): string {
  if (scale === 0) return String(value)
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0')
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** Combines restrictions: the narrowest of each kind. */
export function joinDemands(demands: readonly Demand[]): Demand {
  return demands.reduce((one, other) => {
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

const highest = <Bound extends string | number>(one?: Bound, other?: Bound): Bound | undefined =>
  one === undefined || (other !== undefined && isLess(one, other)) ? other : one

const lowest = <Bound extends string | number>(one?: Bound, other?: Bound): Bound | undefined =>
  one === undefined || (other !== undefined && isLess(other, one)) ? other : one

/** All bounds of a column have the same number of decimals, so they compare as integers. */
function isLess(one: string | number, other: string | number): boolean {
  const [left, right] = [String(one), String(other)]
  const whole = /^-?\d+(?:\.\d+)?$/
  if (!whole.test(left) || !whole.test(right) || fractionLength(left) !== fractionLength(right))
    return Number(left) < Number(right)
  return BigInt(left.replace('.', '')) < BigInt(right.replace('.', ''))
}

const fractionLength = (text: string): number => text.split('.')[1]?.length ?? 0

/** The restrictions that a type has by itself, besides those of its field. */
export function demandOfType({ type, labels }: CatalogColumn): Demand {
  if (type === 'smallint') return { minimum: '-32768', maximum: '32767' }
  return labels ? { choices: labels } : {}
}

/** A default that resources.yaml can express: a value, or a function call. */
export type Default = { readonly call: 'now' | 'uuid' } | { readonly literal: Json }

const CALLS: Readonly<Record<string, Default>> = {
  'now()': { call: 'now' },
  CURRENT_TIMESTAMP: { call: 'now' },
  'transaction_timestamp()': { call: 'now' },
  'gen_random_uuid()': { call: 'uuid' },
}

/** Parses a default; returns undefined if resources.yaml cannot express it. */
export function readDefault(sql: string, column: CatalogColumn): Default | undefined {
  const call = CALLS[sql]
  if (call) return 'call' in call && CALLED[call.call].test(column.type) ? call : undefined
  const expression = readExpression(sql)
  if (expression?.kind === 'column' && /^(?:true|false)$/.test(expression.name) && column.type === 'boolean')
    return { literal: expression.name === 'true' }
  if (expression?.kind !== 'value') return undefined
  const read = column.labels ? readText : LITERALS.find(([type]) => type.test(column.type))?.[1]
  const literal = read?.(expression.text, column)
  return literal === undefined ? undefined : { literal }
}

const CALLED = { now: /^timestamp(?:\(6\))? with time zone$/, uuid: /^uuid$/ } as const

const readText = (text: string): Json => text

/** Converts a value to its form in JSON bodies, which is the same for all spellings of the value. */
const LITERALS: readonly (readonly [type: RegExp, read: (text: string, column: CatalogColumn) => Json | undefined])[] =
  [
    [/^(?:text|character varying(?:\(\d+\))?|uuid)$/, readText],
    [/^(?:smallint|integer)$/, (text) => (/^-?\d{1,10}$/.test(text) ? Number(text) : undefined)],
    [/^bigint$/, (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : undefined)],
    [/^(?:real|double precision)$/, (text) => (/^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : undefined)],
    [
      /^numeric\(\d+,\d+\)$/,
      (text, { type }) => {
        const units = unitsOf(text, type, 'exact')
        return units && spell(units.value, units.scale)
      },
    ],
    [/^boolean$/, (text) => (/^t/.test(text) ? true : /^f/.test(text) ? false : undefined)],
    [/^date$/, (text) => (/^\d{4}-\d\d-\d\d$/.test(text) ? text : undefined)],
    [
      /^jsonb$/,
      (text) => {
        const value = JSON.parse(text) as Json
        return typeof value === 'object' && !Array.isArray(value) ? undefined : value
      },
    ],
  ]
