import { formatCell } from '../fields/cell.js'
import type { Typed } from '../fields/field-type.js'
import type { CodeSource } from './operands.js'

/**
 * Reads operands for a field that do not come from a query string.
 * @param needs makes the error for a wrong value: `a list`
 * @param read reads one value; undefined for a wrong one. By default, a value as handlers have it
 */
export function codeSource(
  typed: Typed,
  needs: (wanted: string) => Error,
  read: (typed: Typed, given: unknown) => unknown = valueOf,
): CodeSource {
  const items = typed.type.items?.(typed.options)
  return {
    value: (given) => read(typed, given),
    ofType: `of the type \`${typed.type.name}\``,
    needs,
    items: items && codeSource(items, needs, read),
  }
}

/** Normalises a value of the type. Undefined for any other value, including null, because comparisons with null are never true. */
export function valueOf(field: Typed, value: unknown): unknown {
  try {
    const text = formatCell(field, value)
    return text === null ? undefined : field.type.parse(text, field.options)
  } catch {
    return undefined
  }
}
