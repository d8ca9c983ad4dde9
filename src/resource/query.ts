import { BETWEEN_COMMAS } from '../dialects/parameters.js'
import { Problem } from '../foundation/problem.js'

/** Decoded query parameters by name. */
export type Query = ReadonlyMap<string, string>

const MAX_PARAMETERS = 100
const MAX_SHOWN_LENGTH = 64

/**
 * Parses `a=1&b=2`. It is strict: repeated parameters, empty names and text other than percent-encoded UTF-8 are rejected. Ignored parameters
 * (`isIgnored`) may be repeated; the values of lists (`isList`) are separated by commas.
 * @throws Problem `invalid_query`
 */
export function parseQuery(
  search: string,
  isIgnored: (name: string) => boolean,
  isList: (name: string) => boolean = () => false,
): Query {
  const query = new Map<string, string>()
  for (const pair of search.split('&')) {
    if (pair === '') continue
    const [name, text] = readPair(pair)
    if (query.has(name) && !isIgnored(name)) {
      const help = isList(name) ? BETWEEN_COMMAS : 'give it once'
      throw new Problem('invalid_query', `the parameter ${quote(name)} is given twice; ${help}`)
    }
    query.set(name, text)
    if (query.size > MAX_PARAMETERS) throw tooMany(MAX_PARAMETERS)
  }
  return query
}

type Value = string | number | bigint | boolean
/** Query parameters as values. */
export type ListParameters = Readonly<Record<string, Value | readonly Value[] | undefined>>

/** Serialises query parameters; the values of a list are separated by commas. Undefined ones are left out. */
export function formatQuery(parameters: ListParameters): string {
  const spelled = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue
    spelled.append(name, typeof value === 'object' ? value.map(formatItem).join(',') : String(value))
  }
  return spelled.toString()
}

function formatItem(value: unknown): string {
  return String(value).replaceAll(/[\\,]/g, '\\$&')
}

/** A parameter with one of its values. */
export type Pair = readonly [name: string, text: string]

/**
 * Parses `a=1&a=2`, where parameters may be repeated.
 * @throws Problem `invalid_query`
 */
export function parsePairs(search: string): readonly Pair[] {
  const pairs = search.split('&').filter((pair) => pair !== '')
  if (pairs.length > MAX_PAIRS) throw tooMany(MAX_PAIRS)
  return pairs.map(readPair)
}

/** Higher than `MAX_PARAMETERS`, because dialects send each id as a separate parameter. */
const MAX_PAIRS = 2_000

function readPair(pair: string): Pair {
  const equals = pair.indexOf('=')
  const name = decode(equals < 0 ? pair : pair.slice(0, equals))
  if (name === '') throw new Problem('invalid_query', 'a query parameter has no name')
  return [name, decode(equals < 0 ? '' : pair.slice(equals + 1))]
}

function tooMany(most: number): Problem {
  return new Problem('invalid_query', `the query has more than ${most} parameters`)
}

/** Quotes a client's text for an error message: shortened, with spaces visible, and without characters that could disturb a line of text or a page. */
export function quote(name: string): string {
  const shown = name.length > MAX_SHOWN_LENGTH ? `${name.slice(0, MAX_SHOWN_LENGTH)}…` : name
  return `\`${shown.replaceAll(' ', '␣').replaceAll(/[\p{C}\p{Z}`<>"'&\\]/gu, '\uFFFD')}\``
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw new Problem('invalid_query', `${quote(text)} is not percent-encoded UTF-8`, { cause })
  }
}
