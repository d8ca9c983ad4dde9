import type { FieldSpec } from '../config/spec.js'
import type { JsonMergePatch } from '../fields/json-text.js'
import { type JsonBody, readJsonBody } from '../json-body.js'
import type { Json } from '../json.js'
import { Problem } from '../problem.js'
import { arrayLiteral } from './where.js'

/** PostgreSQL functions take no more arguments, and each member is two. */
const MOST_MEMBERS = 50

/** Each object of a patch is a select of its own, and planning thousands of them takes seconds. */
const MOST_OBJECTS = 500

/**
 * The SQL of what a stored JSON value becomes by a merge patch (RFC 7396). The database merges while it holds the row, so
 * that nothing that is written meanwhile is lost, and so that numbers keep their digits.
 * @param add makes a parameter of a value, and answers its place
 * @throws Problem `validation` for a patch that reaches into too many objects
 */
export function mergedInto(
  { target, field }: { readonly target: string; readonly field: FieldSpec },
  patch: JsonMergePatch,
  add: (value: string) => string,
): string {
  const objects = countObjects(patch.value)
  if (objects > MOST_OBJECTS) {
    const message = `${field.label} has ${objects} objects to be merged, and at most ${MOST_OBJECTS} can be; replace it by PUT`
    throw new Problem('validation', message, { faults: [{ field: field.name, message }] })
  }
  return merged(target, readObject(patch.text), { add, depth: 0 })
}

function countObjects(value: Json): number {
  return isObject(value) ? Object.values(value).reduce((sum: number, each) => sum + countObjects(each), 1) : 0
}

interface Level {
  readonly add: (value: string) => string
  readonly depth: number
}

function merged(target: string, patch: JsonBody, { add, depth }: Level): string {
  const at = `m${depth}`
  const of = (wanted: (value: Json) => boolean) => patch.keys.filter((key) => wanted(patch.value(key) ?? null))
  const removed = of((value) => value === null)
  const replaced = of((value) => value !== null && !isObject(value))
  const nested = of(isObject).map((key) => {
    const name = `${add(key)}::text`
    return `${name}, ${merged(`${at}.v -> ${name}`, readObject(patch.source(key)), { add, depth: depth + 1 })}`
  })
  const object = `(case when jsonb_typeof(${at}.v) = 'object' then ${at}.v else '{}' end)`
  const parts = [
    removed.length === 0 ? object : `(${object} - ${add(arrayLiteral(removed))}::text[])`,
    ...(replaced.length === 0 ? [] : [`${add(objectText(patch, replaced))}::jsonb`]),
    ...chunks(nested).map((members) => `jsonb_build_object(${members.join(', ')})`),
  ]
  return `(select ${parts.join(' || ')} from (select ${target}) ${at}(v))`
}

function isObject(value: Json): value is Readonly<Record<string, Json>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readObject(text: string): JsonBody {
  return readJsonBody(Buffer.from(text))
}

function objectText(patch: JsonBody, keys: readonly string[]): string {
  return `{${keys.map((key) => `${JSON.stringify(key)}:${patch.source(key)}`).join(',')}}`
}

function chunks(members: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(members.length / MOST_MEMBERS) }, (_, index) =>
    members.slice(index * MOST_MEMBERS, (index + 1) * MOST_MEMBERS),
  )
}
