import type { Json } from '../../foundation/json.js'
import { type JsonObject, readJsonObject } from '../../foundation/json-body.js'
import { isStorable } from './formats.js'

/** A stored JSON value, as handlers see it: its exact text, and its JavaScript value. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Numbers that JavaScript cannot represent are rounded here, not in `text`. */
  get value(): Json {
    return JSON.parse(this.text)
  }

  /**
   * Replies write `text` instead.
   * @throws TypeError if `JSON.stringify` would write other digits, or `null`, for a number of more than 15 digits or beyond the range of JavaScript
   */
  toJSON(): Json {
    if (isRounded(this.text))
      throw new TypeError('a stored JSON value has numbers that JSON.stringify rounds; use its text')
    return this.value
  }
}

/** A JSON object that an update merges into the stored value (RFC 7396) instead of replacing it. */
export class JsonMergePatch extends JsonText {
  /** The bytes that the merged value may have, as PostgreSQL prints it. */
  readonly maxBytes: number
  #object: JsonObject | undefined

  constructor(text: string, maxBytes: number) {
    super(text)
    this.maxBytes = maxBytes
  }

  /** The patch with the objects in it, parsed once. */
  get object(): JsonObject {
    return (this.#object ??= readJsonObject(this.text))
  }
}

/** Each object of a patch is a separate select, and planning thousands of them takes seconds. */
const MAX_OBJECTS = 500

/** The error in a merge patch, whatever is stored: the end of a sentence that begins with the field's label. */
export function unmergeable({ object }: JsonMergePatch): string | undefined {
  const objects = countObjects(object)
  return objects <= MAX_OBJECTS
    ? undefined
    : `has ${objects} objects to be merged, and at most ${MAX_OBJECTS} can be; replace it by PUT`
}

function countObjects({ objects }: JsonObject): number {
  return [...objects.values()].reduce((sum, each) => sum + countObjects(each), 1)
}

/** Whether JavaScript loses digits of a number in a JSON text. */
export function isRounded(text: string): boolean {
  return [...withoutStrings(text).matchAll(NUMBERS)].some(([number]) => !isExact(number))
}

function isExact(number: string): boolean {
  const written = String(Number(number))
  return written === number || (Number.isFinite(Number(number)) && decimalOf(written) === decimalOf(number))
}

/** Returns the same text for all spellings of a decimal number, whatever its sign. */
function decimalOf(number: string): string {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace(/^[-+]/, '').split('.')
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = withoutTrailingZeros(digits)
  if (significant === '') return '0'
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

export function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return digits.slice(0, end)
}

const MAX_DEPTH = 100
const MAX_NUMBER_LENGTH = 1000
export const NUMBERS = /-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/g

/** The name of the rule of PostgreSQL's `jsonb` that a JSON value breaks; undefined if there is none. */
export function unstorable(json: Json, source: string): 'text' | 'depth' | 'numbers' | undefined {
  const flaw = flawOf(json)
  return flaw ?? (numbersFit(source) ? undefined : 'numbers')
}

function flawOf(json: Json): 'text' | 'depth' | undefined {
  // A list of pending values instead of recursion, because the value comes from a client.
  const left: { readonly value: Json; readonly depth: number }[] = [{ value: json, depth: 0 }]
  for (let next = left.pop(); next; next = left.pop()) {
    const { value, depth } = next
    if (typeof value === 'string' && !isStorable(value)) return 'text'
    if (typeof value !== 'object' || value === null) continue
    if (depth === MAX_DEPTH) return 'depth'
    if (!Array.isArray(value) && !Object.keys(value).every(isStorable)) return 'text'
    for (const each of Object.values(value)) left.push({ value: each, depth: depth + 1 })
  }
  return undefined
}

/**
 * `jsonb` writes numbers in full, even `1e99`. A few bytes must not become a huge response, so neither one number nor
 * all numbers together may grow far beyond the size of the request.
 */
function numbersFit(source: string): boolean {
  let growth = 0
  for (const [number] of withoutStrings(source).matchAll(NUMBERS)) {
    const length = writtenOut(number)
    if (length > MAX_NUMBER_LENGTH) return false
    growth += Math.max(0, length - number.length)
  }
  return growth <= 8 * source.length + 65_536
}

function writtenOut(number: string): number {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e')
  return mantissa.length + Math.abs(Number(exponent))
}

/** A JSON text with one quote in place of each string. */
export function withoutStrings(source: string): string {
  const parts: string[] = []
  let from = 0
  for (let open = source.indexOf('"'); open >= 0; open = source.indexOf('"', from)) {
    parts.push(source.slice(from, open))
    from = afterString(source, open)
  }
  return [...parts, source.slice(from)].join('"')
}

function afterString(source: string, open: number): number {
  for (let at = open + 1; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1
    else if (source[at] === '"') return at + 1
  }
  return source.length
}
