import type { JsonMergePatch } from '../../fields/json-text.js'
import type { JsonObject } from '../../json-body.js'
import { arrayLiteral } from '../../fields/cell.js'

/** PostgreSQL functions take no more arguments, and each member is two. */
const MOST_MEMBERS = 50

/**
 * The SQL of what a stored JSON value becomes by a merge patch (RFC 7396). The database merges while it holds the row, so
 * that nothing that is written meanwhile is lost, and so that numbers keep their digits.
 * @param add makes a parameter of a value, and answers its place
 */
export function mergedInto(target: string, patch: JsonMergePatch, add: (value: string) => string): string {
  return merged(target, patch.object, { add, depth: 0 })
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
  return Array.from({ length: Math.ceil(members.length / MOST_MEMBERS) }, (_, index) =>
    members.slice(index * MOST_MEMBERS, (index + 1) * MOST_MEMBERS),
  )
}
