import { spellCell } from '../fields/cell.js'
import type { Typed } from '../fields/field-type.js'
import type { CodeSource } from './operands.js'

/** How values that code sets are checked for a field. `needs` makes the error of a wrong value: `a list`. */
export function codeSource(typed: Typed, needs: (wanted: string) => Error): CodeSource {
  const items = typed.type.items?.(typed.options)
  return {
    value: (given) => valueOf(typed, given),
    ofType: `of the type \`${typed.type.name}\``,
    needs,
    items: items && codeSource(items, needs),
  }
}

/** Normalises a value of the type. Undefined for any other value, including null, because comparisons with null are never true. */
export function valueOf(field: Typed, value: unknown): unknown {
  try {
    const text = spellCell(field, value)
    return text === null ? undefined : field.type.parse(text, field.options)
  } catch {
    return undefined
  }
}
