import { JsonMergePatch } from '../../fields/spelling/json-text.js'
import type { JsonObject } from '../../foundation/json-body.js'
import { arrayLiteral } from '../../fields/cell.js'
import { literal } from '../../fields/sql-literal.js'
import type { Row } from '../../resource/plan.js'

/** PostgreSQL functions take 100 arguments, and each member needs two. */
const MAX_MEMBERS = 50

/**
 * Returns the SQL that applies a merge patch (RFC 7396) to a stored JSON value. The database merges while it holds the row lock, so that concurrent
 * changes are not lost and numbers keep their digits.
 * @param add adds a parameter and returns its placeholder
 */
export function mergedInto(target: string, patch: JsonMergePatch, add: (value: string) => string): string {
  return merged(target, patch.object, { add, depth: 0 })
}

/** Enclose the name of the field in the error of a merged value that is too long. */
const TOO_LONG = 'too long after the merge: '
const END = ';'

/**
 * Returns the SQL of a merged value that fails if the value is too long. A stored value that was too long before may become shorter. Only for values
 * that are stored: in a condition, it would fail for records that the request does not see.
 */
export function limitedTo(field: string, stored: string, merged: string, { maxBytes }: JsonMergePatch): string {
  const size = 'octet_length(merged.v::text)'
  const fits = `${size} <= ${maxBytes} or ${size} <= octet_length(${stored}::text)`
  // `concat` keeps PostgreSQL from evaluating the cast while it plans, and `offset` from merging twice.
  const failure = `to_jsonb(concat(${literal(`${TOO_LONG}${field}${END}`)})::int)`
  return `(select case when ${fits} then v else ${failure} end from (select ${merged} offset 0) merged(v))`
}

/** Returns the name of the field whose merged value was too long, from the message of the failure; undefined for other messages. */
export function tooLongName(message: string): string | undefined {
  return message.split(TOO_LONG, 2)[1]?.split(END, 1)[0]
}

/** Whether the change of a row is a patch of some of its values. */
export function hasPatch(row: Row): boolean {
  for (const name in row) if (row[name] instanceof JsonMergePatch) return true
  return false
}

interface Level {
  readonly add: (value: string) => string
  readonly depth: number
}

function merged(target: string, { members, objects }: JsonObject, { add, depth }: Level): string {
  const at = `m${depth}`
  const plain = [...members].filter(([key]) => !objects.has(key))
  const removed = plain.filter(([, text]) => text === 'null').map(([key]) => key)
  const replaced = plain.filter(([, text]) => text !== 'null')
  const nested = [...objects].map(([key, inside]) => {
    const name = `${add(key)}::text`
    return `${name}, ${merged(`${at}.v -> ${name}`, inside, { add, depth: depth + 1 })}`
  })
  const object = `(case when jsonb_typeof(${at}.v) = 'object' then ${at}.v else '{}' end)`
  const parts = [
    removed.length === 0 ? object : `(${object} - ${add(arrayLiteral(removed))}::text[])`,
    ...(replaced.length === 0 ? [] : [`${add(objectText(replaced))}::jsonb`]),
    ...chunks(nested).map((members) => `jsonb_build_object(${members.join(', ')})`),
  ]
  return `(select ${parts.join(' || ')} from (select ${target}) ${at}(v))`
}

function objectText(members: readonly (readonly [key: string, text: string])[]): string {
  return `{${members.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`
}

function chunks(members: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(members.length / MAX_MEMBERS) }, (_, index) =>
    members.slice(index * MAX_MEMBERS, (index + 1) * MAX_MEMBERS),
  )
}
