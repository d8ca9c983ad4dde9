import type { Json } from '../json.js'
import { faultOfJson } from '../json-body.js'
import { exact } from '../lookups/exact.js'
import { lookupNamed } from '../lookups/index.js'
import type { Lookup } from '../lookups/lookup.js'
import { readCount, type PageSizes, type ParameterDescription } from '../pagination/paginator.js'
import { Problem } from '../problem.js'
import type { Comparison, Given, Vocabulary } from './dialect.js'

/** What to do instead of giving a parameter twice that takes several values. */
export const BETWEEN_COMMAS = 'give it once, with its values between commas'

/**
 * The parameters with these names that are given, each with its one value; said twice in the same words it is still one. `lists` are those
 * whose values stand between commas.
 * @throws Problem `invalid_query` for a parameter with two values
 */
export function single(
  given: Given,
  names: readonly string[],
  lists: readonly string[] = [],
): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const name of names) {
    const [value, ...others] = given.get(name) ?? []
    if (value === undefined) continue
    if (others.some((other) => other !== value)) {
      const fault = 'is given twice with different values'
      throw refused(name, lists.includes(name) ? `${fault}; ${BETWEEN_COMMAS}` : fault)
    }
    found.set(name, value)
  }
  return found
}

/** The parameters that are none of a dialect's own, as comparisons: `interpret` says of which field, and how. */
export function comparisons(
  given: Given,
  own: readonly string[],
  interpret: (name: string) => Pick<Comparison, 'field' | 'lookups'>,
): readonly Comparison[] {
  return [...given]
    .filter(([name]) => !own.includes(name))
    .map(([parameter, values]) => ({ parameter, ...interpret(parameter), values }))
}

/** `created_at__gte` is a lookup of `created_at`, unless a field is called so. */
export function byLookup(
  name: string,
  { isField }: Pick<Vocabulary, 'isField'>,
): Pick<Comparison, 'field' | 'lookups'> {
  const at = name.lastIndexOf('__')
  const lookup = lookupNamed(name.slice(at + 2))
  return at < 0 || lookup === undefined || isField(name)
    ? { field: name, lookups: [exact] }
    : { field: name.slice(0, at), lookups: [lookup] }
}

/** How many rows a client asks for. There is no limit: what is longer than a page is sent in pieces. */
export function readRows(query: ReadonlyMap<string, string>, name: string, fallback: number): number {
  return toSize(readCount(query, name, 1n, BigInt(fallback)))
}

/** What `readRows` takes. */
export function describeRows(name: string, { pageSize }: PageSizes): ParameterDescription {
  return {
    name,
    description: 'How many records the answer has; as many as are asked for.',
    schema: { type: 'integer', minimum: 1, default: pageSize },
  }
}

/** No table has so many rows, and every number up to here is exact. */
export function toSize(rows: bigint): number {
  return rows > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(rows)
}

/** What a dialect calls a lookup of ours, or several of which the first that a resource offers is meant. */
export type LookupWords = ReadonlyMap<string, readonly Lookup[]>

const NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/**
 * The value of a parameter that is JSON. Numbers are read as the text of their digits, so that none is lost.
 * @throws Problem `invalid_query`
 */
export function readJson(name: string, text: string): Json {
  try {
    // In valid JSON every string is closed; an open one would be scanned again from each quote in it.
    JSON.parse(text)
  } catch {
    throw refused(name, 'is not JSON')
  }
  // Of a key that is given twice, `JSON.parse` keeps the last.
  const fault = faultOfJson(text)
  if (fault !== undefined) throw refused(name, fault)
  return JSON.parse(text.replaceAll(NUMBER, (part) => (part.startsWith('"') ? part : `"${part}"`))) as Json
}

/**
 * A JSON object of a parameter, as its members.
 * @throws Problem `invalid_query`
 */
export function readMembers(name: string, json: Json | undefined): readonly (readonly [string, Json])[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw refused(name, 'must be a JSON object')
  return Object.entries(json)
}

/** The text of a JSON value that a field can be compared with; undefined for null, a list or an object. */
export function textOf(json: Json | undefined): string | undefined {
  return typeof json === 'string' ? json : typeof json === 'boolean' ? String(json) : undefined
}

/** A parameter that cannot be read: `fault` goes on after its name. */
export function refused(name: string, fault: string): Problem {
  return new Problem('invalid_query', `the parameter \`${name}\` ${fault}`)
}
