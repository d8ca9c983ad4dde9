import type { Json } from '../../foundation/json.js'
import type { Limits } from '../existing-column.js'
import type { Rule } from '../field-type.js'
import { withoutTrailingZeros } from './json-text.js'

/** Longer JSON text of an integer is rejected: the rest could only be zeros. */
export const MAX_INTEGER_LENGTH = 64

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** The integer that a JSON number's text means (`1e3` is 1000), with every digit; undefined if it is not an integer. */
export function exactInteger(source: string): bigint | undefined {
  const [, sign, whole, fraction = '', exponent = '0'] = NUMBER.exec(source) ?? []
  if (whole === undefined || source.length > MAX_INTEGER_LENGTH) return undefined
  const digits = withoutTrailingZeros(`${whole}${fraction}`)
  if (!/[1-9]/.test(digits)) return 0n
  const zeros = Number(exponent) + whole.length - digits.length
  if (zeros < 0 || zeros > MAX_INTEGER_LENGTH) return undefined
  return BigInt(`${sign}${digits}${'0'.repeat(zeros)}`)
}

/** Parses an integer from its canonical text: no plus sign, no leading zeros. */
export function canonicalInteger(text: string): bigint | undefined {
  return /^(?:0|-?[1-9]\d{0,18})$/.test(text) ? BigInt(text) : undefined
}

/** A plain decimal as a number of the smallest steps of a column; undefined if it lies between two steps, or is not a plain decimal. */
export function toSteps(text: string, decimals: number): bigint | undefined {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === '' || /[1-9]/.test(fraction.slice(decimals))) return undefined
  return BigInt(`${sign}${whole}${fraction.slice(0, decimals).padEnd(decimals, '0')}`)
}

/** The plain decimal for a number of steps, with all decimals. */
export function fromSteps(steps: bigint, decimals: number): string {
  if (decimals === 0) return String(steps)
  const digits = String(steps < 0n ? -steps : steps).padStart(decimals + 1, '0')
  return `${steps < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/** The options `minimum` and `maximum` for the limits of a column. */
export function boundOptions({ minimum, maximum }: Limits, format: (text: string) => Json) {
  return {
    ...(minimum === undefined ? {} : { minimum: format(minimum) }),
    ...(maximum === undefined ? {} : { maximum: format(maximum) }),
  }
}

/** Compares two plain decimals (`-12.50`) exactly: negative, zero or positive. */
export function compareDecimals(left: string, right: string): number {
  const scale = Math.max(fractionOf(left).length, fractionOf(right).length)
  const difference = scaled(left, scale) - scaled(right, scale)
  return difference === 0n ? 0 : difference > 0n ? 1 : -1
}

function fractionOf(text: string): string {
  return text.split('.')[1] ?? ''
}

function scaled(text: string, scale: number): bigint {
  return BigInt(text.replace('.', '') + '0'.repeat(scale - fractionOf(text).length))
}

interface Bounds {
  readonly minimum?: string | undefined
  readonly maximum?: string | undefined
}

/**
 * The rule that keeps a number within bounds, which are SQL literals; undefined without bounds.
 * It has no schema: types add one, or validate the range in `admits`.
 */
export function rangeRule({ minimum, maximum }: Bounds, cast: string): Rule | undefined {
  if (minimum === undefined && maximum === undefined) return undefined
  const bound = (column: string, operator: string, value: string | undefined) =>
    value === undefined ? [] : [`${column} ${operator} '${value}'::${cast}`]
  return {
    name: 'range',
    schema: {},
    message: rangeMessage(minimum, maximum),
    check: (column) => [...bound(column, '>=', minimum), ...bound(column, '<=', maximum)].join(' and '),
  }
}

/** The message for a value out of range. */
export function rangeMessage(minimum: string | undefined, maximum: string | undefined): string {
  if (maximum === undefined) return `must be at least ${minimum}`
  if (minimum === maximum) return `must be exactly ${maximum}`
  return minimum === undefined ? `must be at most ${maximum}` : `must be between ${minimum} and ${maximum}`
}
