import type { FieldType } from './field-type.js'

/** PostgreSQL's text form of a value; null is null. */
export type Cell = string | null

/** What a value belongs to: a type, and the options it was declared with. */
export interface Typed {
  readonly type: FieldType
  readonly options: object
}

/** A field's value from its cell. */
export function readCell({ type, options }: Typed, cell: Cell | undefined): unknown {
  return cell == null ? null : type.read(cell, options)
}

/** The cell of a field's value. */
export function writeCell({ type, options }: Typed, value: unknown): Cell {
  return value == null ? null : type.write(value, options)
}

/** A value as the text of a query parameter; null is null. */
export function spellCell({ type, options }: Typed, value: unknown): Cell {
  return value == null ? null : (type.spell ?? type.write)(value, options)
}

/** PostgreSQL's text form of an array. */
export function arrayLiteral(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`
}
