/** A JSON value in which numbers keep their digits and objects the order of their members. */
export type Exact = string | boolean | null | Digits | readonly Exact[] | Members

/** A number as it is written. */
interface Digits {
  readonly digits: string
}

export type Members = ReadonlyMap<string, Exact>

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** The maximum nesting that pages show: the functions below call themselves for each level, and indentation grows with the square of it. */
const MAX_DEPTH = 256

/** Parses JSON text; returns undefined if it is invalid or nested too deeply. */
export function readExact(text: string): Exact | undefined {
  try {
    // Prefixes every string, including keys, with `s`, and turns every number into a string with the prefix `n`.
    const marked = text.replace(TOKEN, (token) => (token.startsWith('"') ? `"s${token.slice(1)}` : `"n${token}"`))
    return unmark(JSON.parse(marked), 0)
  } catch {
    return undefined
  }
}

function unmark(value: unknown, depth: number): Exact {
  if (depth > MAX_DEPTH) throw new RangeError(`more than ${MAX_DEPTH} levels`)
  if (typeof value === 'string') return value.startsWith('n') ? { digits: value.slice(1) } : value.slice(1)
  if (Array.isArray(value)) return value.map((item) => unmark(item, depth + 1))
  if (typeof value === 'object' && value !== null)
    return new Map(Object.entries(value).map(([key, member]) => [key.slice(1), unmark(member, depth + 1)]))
  return value === true || value === false ? value : null
}

export function isMembers(value: Exact | undefined): value is Members {
  return value instanceof Map
}

export function isList(value: Exact | undefined): value is readonly Exact[] {
  return Array.isArray(value)
}

/** Serialises a value on one line, or with every member on its own line. */
export function printJson(value: Exact, shape: 'line' | 'lines', indent = ''): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if ('digits' in value) return value.digits
  const inner = `${indent}  `
  const items = isList(value)
    ? value.map((item) => printJson(item, shape, inner))
    : [...value].map(([key, member]) => `${JSON.stringify(key)}: ${printJson(member, shape, inner)}`)
  const [open, close] = isList(value) ? ['[', ']'] : ['{', '}']
  if (items.length === 0 || shape === 'line') return `${open}${items.join(', ')}${close}`
  return `${open}\n${items.map((item) => inner + item).join(',\n')}\n${indent}${close}`
}

/** Formats a value for people: text without quotes, anything else as JSON. */
export function textOf(value: Exact): string {
  return typeof value === 'string' ? value : printJson(value, 'line')
}
