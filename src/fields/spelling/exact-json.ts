import { JsonText } from './json-text.js'

/**
 * Returns the JSON text of a value. Unlike `JSON.stringify`, it rounds no bigint, and writes stored JSON values as they are, at any depth: `1.50` stays
 * `1.50`.
 * @throws TypeError for a value without JSON text: undefined, a function, a circular structure
 */
export function toJsonText(value: unknown): string {
  const text = stringify(value)
  if (text === undefined) throw new TypeError(`a ${typeof value} has no JSON text`)
  return text
}

/** Whether `toJsonText` keeps a value: JSON has no NaN, infinity or invalid date, and `JSON.stringify` writes null in their place. */
export function hasJsonForm(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (value instanceof Date) return !Number.isNaN(value.getTime())
  if (typeof value !== 'object' || value === null || hasToJson(value)) return true
  return Object.values(value).every(hasJsonForm)
}

/** Uses the native writer if it can: it is several times faster, throws for a bigint, and writes stored JSON values in its own spelling. */
function stringify(value: unknown): string | undefined {
  if (hasStored(value)) return write(value, '', [])
  try {
    return JSON.stringify(value)
  } catch {
    return write(value, '', [])
  }
}

/** Values nested deeper may be circular. */
const MAX_DEPTH = 50

/** Whether a value contains a stored JSON value; true for those that are nested too deeply to find out. */
function hasStored(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  if (value instanceof JsonText || depth === MAX_DEPTH) return true
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  return parts.some((each) => hasStored(each, depth + 1))
}

function write(given: unknown, key: string, ancestors: readonly object[]): string | undefined {
  if (given instanceof JsonText) return given.text
  const value = hasToJson(given) ? given.toJSON(key) : given
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (ancestors.includes(value)) throw new TypeError('a circular structure has no JSON text')
  const inside = [...ancestors, value]
  if (Array.isArray(value)) {
    return `[${Array.from(value, (item, index) => write(item, String(index), inside) ?? 'null').join(',')}]`
  }
  const members = Object.entries(value).flatMap(([name, member]) => {
    const text = write(member, name, inside)
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`]
  })
  return `{${members.join(',')}}`
}

function hasToJson(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function'
}
