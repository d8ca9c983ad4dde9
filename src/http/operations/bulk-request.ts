import type { JsonBody } from '../../foundation/json-body.js'
import { Problem } from '../../foundation/problem.js'
import type { Id } from '../../resource/plan.js'
import { quote } from '../../resource/query.js'
import type { Resource } from '../../resource/resource.js'
import type { BodyPolicy, Context } from '../route.js'

/** How the body of a bulk request is parsed: an array, or in some dialects an object with one member that holds it. */
export function bulkBodyPolicy({ spec, bulkLimit }: Resource, within?: string): BodyPolicy {
  const policy = { mediaTypes: ['application/json'], optional: false, limit: bulkLimit, items: spec.bulk.max }
  return within === undefined ? policy : { ...policy, within }
}

/** @throws Problem `malformed_body` for a body that is a single object */
export function itemsOf({ items }: JsonBody): readonly JsonBody[] {
  if (items) return items
  throw new Problem('malformed_body', 'the body must be an array of JSON objects')
}

export function arrayOf(items: readonly string[]): string {
  return `[${items.join(',')}]`
}

/** Several records have no common version. */
export function rejectConditions({ headers }: Context): void {
  const name = ['If-Match', 'If-None-Match'].find((each) => headers[each.toLowerCase()] !== undefined)
  if (name === undefined) return
  throw new Problem('malformed_request', `${name} applies to a single record, but this request names several`)
}

/**
 * Locks the records in the order of their ids, so that requests for the same records cannot deadlock.
 * @param twice the problem of an id that is another spelling of an earlier one
 * @throws Problem `not_found` naming the missing records
 */
export async function lockAll(
  resource: Resource,
  inside: Context,
  ids: readonly Id[],
  twice: (text: string, place: number, earlier: number) => Problem,
): Promise<void> {
  const store = inside.documents(resource)
  const locked = await store.lockMany(ids)
  const there = new Set(locked.map(resource.key.text))
  if (there.size === ids.length) return
  const named = new Map<string, number>()
  const missing: (readonly [place: number, id: string])[] = []
  for (const [place, id] of ids.entries()) {
    const text = resource.key.text(id)
    // A key that ignores case can be stored in another spelling.
    const [stored] = there.has(text) ? [text] : (await store.lockMany([id])).map(resource.key.text)
    if (stored === undefined) {
      missing.push([place, text])
      continue
    }
    const earlier = named.get(stored)
    if (earlier !== undefined) throw twice(text, place, earlier)
    named.set(stored, place)
  }
  if (missing.length > 0) notFoundAt(resource, missing)
}

const MAX_NAMED = 20

/**
 * @param missing the records, each with its place and the text of its id
 * @throws Problem `not_found`
 */
export function notFoundAt({ key }: Resource, missing: readonly (readonly [place: number, id: string])[]): never {
  const named = missing.slice(0, MAX_NAMED).map(([place, id]) => [place, quote(id)] as const)
  const more = missing.length > named.length ? `, and ${missing.length - named.length} more` : ''
  const detail = `no record has the ${key.name} ${named.map(([, shown]) => shown).join(', ')}${more}; nothing was changed`
  const errors = named.flatMap(([place]) =>
    key.fields.map(({ name, label }) => ({ field: `${place}.${name}`, message: `${label} does not exist` })),
  )
  throw new Problem('not_found', detail, { errors })
}
