import { JsonText } from './json-text.js'

/**
 * Returns the JSON text of a value. Unlike `JSON.stringify`, it rounds no bigint and no number of a stored JSON value, at any
 * depth. Zeros at the end of a fraction may be lost.
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

/** Tries the native writer first: it is several times faster, and throws for every value that it would round. */
function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return write(value, '', [])
  }
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
