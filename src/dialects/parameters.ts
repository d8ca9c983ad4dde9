import type { Json } from '../foundation/json.js'
import { errorOfJson } from '../foundation/json-body.js'
import { exact } from '../lookups/exact.js'
import { lookupsNamed } from '../lookups/index.js'
import type { Lookup } from '../lookups/lookup.js'
import { readCount, type PageSizes, type ParameterDescription } from '../pagination/paginator.js'
import { Problem } from '../foundation/problem.js'
import type { Comparison, QueryParameters, Vocabulary } from './dialect.js'

/** The advice for a repeated parameter that accepts several values. */
export const BETWEEN_COMMAS = 'give it once, with its values separated by commas'

/**
 * Returns the given parameters of these names, each with a single value; repeating the same value is allowed. The values of `lists` are separated by
 * commas.
 * @throws Problem `invalid_query` for a parameter with two values
 */
export function single(
  given: QueryParameters,
  names: readonly string[],
  lists: readonly string[] = [],
): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const name of names) {
    const [value, ...others] = given.get(name) ?? []
    if (value === undefined) continue
    if (others.some((other) => other !== value)) {
      const message = 'is given twice with different values'
      throw rejected(name, lists.includes(name) ? `${message}; ${BETWEEN_COMMAS}` : message)
    }
    found.set(name, value)
  }
  return found
}

/** Converts the parameters that are not the dialect's own to comparisons; `interpret` determines the field and the lookup. */
export function comparisons(
  given: QueryParameters,
  own: readonly string[],
  interpret: (name: string) => Pick<Comparison, 'field' | 'lookups'>,
): readonly Comparison[] {
  return [...given]
    .filter(([name]) => !own.includes(name))
    .map(([parameter, values]) => ({ parameter, ...interpret(parameter), values }))
}

/** `created_at__gte` is a lookup of `created_at`, unless a field has this name. */
export function byLookup(
  name: string,
  { isField }: Pick<Vocabulary, 'isField'>,
): Pick<Comparison, 'field' | 'lookups'> {
  const at = name.lastIndexOf('__')
  const lookups = lookupsNamed(name.slice(at + 2))
  return at < 0 || lookups.length === 0 || isField(name)
    ? { field: name, lookups: [exact] }
    : { field: name.slice(0, at), lookups }
}

/** Parses the number of rows. There is no limit: a list longer than a page is sent in pieces. */
export function readRows(query: ReadonlyMap<string, string>, name: string, fallback: number): number {
  return toSize(readCount(query, name, 1n, BigInt(fallback)))
}

/** Describes the parameter of `readRows`. */
export function describeRows(name: string, { pageSize }: PageSizes): ParameterDescription {
  return {
    name,
    description: 'The number of records to return, without an upper limit.',
    schema: { type: 'integer', minimum: 1, default: pageSize },
  }
}

/** No table has that many rows, and all numbers up to it are exact. */
export function toSize(rows: bigint): number {
  return rows > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(rows)
}

/** A dialect's names for lookups. If a name means several lookups, the first that the resource offers applies. */
export type LookupWords = ReadonlyMap<string, readonly Lookup[]>

const NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/**
 * Parses a JSON parameter. Numbers are returned as text, so that no digit is lost.
 * @throws Problem `invalid_query`
 */
export function readJson(name: string, text: string): Json {
  try {
    // Validated first: in valid JSON every string is closed; an open one would be scanned again from each quote in it.
    JSON.parse(text)
  } catch {
    throw rejected(name, 'is not JSON')
  }
  // `JSON.parse` keeps the last of duplicate keys.
  const error = errorOfJson(text)
  if (error !== undefined) throw rejected(name, error)
  return JSON.parse(text.replaceAll(NUMBER, (part) => (part.startsWith('"') ? part : `"${part}"`))) as Json
}

/**
 * Returns the members of a JSON object in a parameter.
 * @throws Problem `invalid_query`
 */
export function readMembers(name: string, json: Json | undefined): readonly (readonly [string, Json])[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw rejected(name, 'must be a JSON object')
  return Object.entries(json)
}

/** Returns the text of a JSON value for comparison; undefined for null, a list or an object. */
export function textOf(json: Json | undefined): string | undefined {
  return typeof json === 'string' ? json : typeof json === 'boolean' ? String(json) : undefined
}

/** The problem of an invalid parameter; `message` continues the sentence after its name. */
export function rejected(name: string, message: string): Problem {
  return new Problem('invalid_query', `the parameter \`${name}\` ${message}`)
}
