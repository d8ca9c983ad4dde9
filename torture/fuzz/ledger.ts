import type { Random } from '../random.js'
import type { Told } from './document.js'
import type { Asked } from './requests.js'
import type { Schema } from './schemas.js'

/** Facts about the tables that the document does not contain. */
export interface Tables {
  /** The tables, by the part of the path that names their records. */
  readonly paths: Readonly<Record<string, string>>
  /** Where fields lead that refer to records, by their names. */
  readonly references: Readonly<Record<string, string>>
  /** The tables that lose records when one loses some. */
  readonly takesAlong: Readonly<Record<string, readonly string[]>>
  /** Fields whose values are unique. */
  readonly unique: readonly string[]
}

/** The records that certainly exist, according to the responses. */
export interface Ledger {
  /** The key of a record that the field of this name can be, on this path. */
  any(path: string, field: string, random: Random): unknown
  count(path: string): number
  learn(asked: Asked, told: Told): void
  /** Whether existing or missing records justify this rejection of a valid request. */
  excuses(asked: Asked, told: Told): boolean
}

const MAX_WORDS = 10

export function createLedger({ paths, references, takesAlong, unique }: Tables): Ledger {
  const there = new Map<string, Set<unknown>>()
  /** Values that a record may have had, of fields that are unique. */
  const taken = new Set<unknown>()
  const tableOf = (path: string) => paths[path.split('/')[2] ?? ''] ?? ''
  const keysOf = (table: string) => {
    const keys = there.get(table) ?? new Set()
    there.set(table, keys)
    return keys
  }
  const targetOf = (path: string, field: string) => (field === 'id' ? tableOf(path) : references[field])

  return { any, count: (path) => keysOf(tableOf(path)).size, learn, excuses }

  function any(path: string, field: string, random: Random): unknown {
    const keys = [...keysOf(targetOf(path, field) ?? '')]
    return keys.length === 0 ? undefined : random.pick(keys)
  }

  function learn({ operation: { method, path }, path: { id }, query: { ids }, body }: Asked, { text }: Told): void {
    const table = tableOf(path)
    for (const field of unique) for (const value of valuesOf(body, field)) taken.add(value)
    if (method === 'DELETE') {
      for (const key of [id ?? ids].flat()) keysOf(table).delete(key)
      for (const other of takesAlong[table] ?? []) keysOf(other).clear()
    } else if (text !== '' && (id === undefined || method !== 'POST'))
      for (const key of keysIn(JSON.parse(text))) keysOf(table).add(key)
  }

  function excuses({ operation: { path }, path: { id }, query, body }: Asked, { status, text }: Told): boolean {
    const isAbsent = (table: string | undefined) => (key: unknown) =>
      key !== null && table !== undefined && !keysOf(table).has(key)
    const own = [id ?? query['ids'] ?? (Array.isArray(body) ? valuesOf(body, 'id') : [])].flat()
    if (status === 404 || status === 412) return own.some(isAbsent(tableOf(path)))
    if (status === 409) {
      const blamed = fieldsIn(JSON.parse(text) as Rejection)
      const isBlamed = (field: string) => {
        const values = valuesOf(body, field)
        if (unique.includes(field)) return values.some((value, at) => taken.has(value) || values.indexOf(value) < at)
        return values.some(isAbsent(references[field]))
      }
      return blamed.length > 0 && blamed.every(isBlamed)
    }
    return status === 400 && (hasManyWords(query) || asksForTwoPages(query, text))
  }
}

/** A problem document, or one in the words of the dialect `crud`. */
interface Rejection {
  readonly errors?: Readonly<Record<string, string>>
  readonly message: string | readonly string[]
}

/** The fields that an error names; `1.seller` is the `seller` of an item. */
function fieldsIn({ errors = {}, message }: Rejection): readonly string[] {
  const messages = Array.isArray(message) ? (message as readonly string[]) : Object.keys(errors)
  return messages.map((text) => /^(?:\d+\.)?(\w+)/.exec(text)?.[1] ?? text)
}

function hasManyWords({ search, q }: Schema): boolean {
  return (
    String(search ?? q ?? '')
      .split(/\s+/u)
      .filter((word) => word !== '').length > MAX_WORDS
  )
}

/** No document can say that two parameters exclude each other. */
function asksForTwoPages(query: Schema, text: string): boolean {
  const [, one = '', other = ''] = /parameter `(\w+)` (?:cannot be combined with|contradicts) `(\w+)`/.exec(text) ?? []
  return one in query && other in query
}

/** Every value that a body gives a field, in all of its items. */
function valuesOf(body: unknown, field: string): readonly unknown[] {
  if (Array.isArray(body)) return body.flatMap((item) => valuesOf(item, field))
  if (typeof body !== 'object' || body === null) return []
  const { [field]: value, bulk } = body as Schema
  return [
    ...(value === undefined || value === null ? [] : [value]),
    ...(bulk === undefined ? [] : valuesOf(bulk, field)),
  ]
}

/** The keys of the records in a response: a record, or a list in any envelope. */
function keysIn(answer: unknown): readonly unknown[] {
  if (Array.isArray(answer)) return answer.flatMap(keysIn)
  if (typeof answer !== 'object' || answer === null) return []
  const { id, results, data, snippet, snippets } = answer as Schema
  return id === undefined ? [results, data, snippet, snippets].flatMap(keysIn) : [id]
}
