import { inspect } from 'node:util'
import type { Typed } from './field-type.js'

/** PostgreSQL's text form of a value; null is null. */
export type Cell = string | null

/** Thrown for a cell that its field's type cannot read, because the column has a different type. */
export class UnreadableCell extends Error {}

/**
 * Converts a cell to the field's value.
 * @throws UnreadableCell
 */
export function readCell({ type, options }: Typed, cell: Cell | undefined): unknown {
  if (cell == null) return null
  try {
    return type.read(cell, options)
  } catch (cause) {
    throw new UnreadableCell(`a column has a value that is not a \`${type.name}\``, { cause })
  }
}

/**
 * Converts a field's value to a cell.
 * @throws TypeError for a value that the type does not have, which only code can give: the compiler does not check plugins in JavaScript
 */
export function writeCell({ type, options }: Typed, value: unknown): Cell {
  if (value == null) return null
  const cell: unknown = type.write(value, options)
  if (typeof cell === 'string') return cell
  throw new TypeError(`${inspect(value, { depth: 0 })} is not a value of the type \`${type.name}\``)
}

/** PostgreSQL's own spelling of a value, as its messages have it. */
export function printCell({ type, options }: Typed, value: unknown): string {
  return value == null ? 'null' : (type.print ?? type.write)(value, options)
}

/** Converts a value to the text of a query parameter; null is null. */
export function formatCell({ type, options }: Typed, value: unknown): Cell {
  return value == null ? null : (type.format ?? type.write)(value, options)
}

/** The items of an array, or of the arrays within it. */
export type Items<Item> = readonly (Item | Items<Item>)[]

/** PostgreSQL's text form of an array. */
export function arrayLiteral(items: Items<Cell>, write = writeItem): string {
  return `{${items.map((item) => (typeof item === 'object' && item !== null ? arrayLiteral(item, write) : write(item))).join(',')}}`
}

/** PostgreSQL prints an item in quotes only if it needs them. */
export function printItem(cell: Cell): string {
  return cell !== null && /^(?!null$)[^\t-\r {},"\\]+$/i.test(cell) ? cell : writeItem(cell)
}

function writeItem(cell: Cell): string {
  return cell === null ? 'NULL' : `"${cell.replaceAll(/["\\]/g, '\\$&')}"`
}
