import { parse } from 'postgres-array'
import type { Cell, Items } from '../cell.js'

/**
 * Parses PostgreSQL's text form of an array, which may contain nested arrays.
 * @param read converts the text of an item; null stands for a null
 * @throws Error for any other text
 */
export function readArray<Item>(text: string, read: (cell: Cell) => Item): Items<Item> {
  if (!ARRAY.test(text)) throw new Error('not the text form of an array')
  return mapItems(parse(text), read)
}

/** An array, with bounds if they do not start at 1. The parser accepts any text without braces as an empty array. */
const ARRAY = /^(?:\[[\d:[\]-]+\]=)?\{.*\}$/s

/** Maps the items of an array, and of arrays within it. */
export function mapItems<From, To>(items: Items<From>, map: (item: From) => To): Items<To> {
  return items.map((item) => (Array.isArray(item) ? mapItems(item as Items<From>, map) : map(item as From)))
}

/** The exact JSON text of each item of a list whose items are neither lists nor objects. */
export function itemSources(source: string): readonly string[] {
  const sources: string[] = []
  let from = source.indexOf('[') + 1
  let isText = false
  for (let at = from; at < source.length; at += 1) {
    const character = source[at]
    if (character === '"') isText = !isText
    else if (isText && character === '\\') at += 1
    else if (!isText && (character === ',' || character === ']')) {
      const item = source.slice(from, at).trim()
      if (item !== '') sources.push(item)
      from = at + 1
    }
  }
  return sources
}
