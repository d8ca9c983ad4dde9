import { Problem } from '../problem.js'

/** The parameters of a query string, decoded, each given once. */
export type Query = ReadonlyMap<string, string>

const MOST_PARAMETERS = 100
const LONGEST_SHOWN = 64

/**
 * Reads `a=1&b=2`. Nothing is guessed: a parameter given twice, a name that is empty and text that is not
 * percent-encoded UTF-8 are refused. Parameters that `isIgnored` says nobody reads may come twice.
 * @throws Problem `invalid_query`
 */
export function parseQuery(search: string, isIgnored: (name: string) => boolean): Query {
  const query = new Map<string, string>()
  for (const pair of search.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    if (name === '') throw new Problem('invalid_query', 'a query parameter has no name')
    if (query.has(name) && !isIgnored(name))
      throw new Problem('invalid_query', `the parameter ${quote(name)} is given twice; give it once`)
    query.set(name, decode(equals < 0 ? '' : pair.slice(equals + 1)))
    if (query.size > MOST_PARAMETERS) {
      throw new Problem('invalid_query', `more than ${MOST_PARAMETERS} query parameters are given`)
    }
  }
  return query
}

/** A name from the client as an error may repeat it: bounded, and of characters that stand in names only. */
export function quote(name: string): string {
  const shown = name.length > LONGEST_SHOWN ? `${name.slice(0, LONGEST_SHOWN)}…` : name
  return `\`${shown.replaceAll(/[^\p{L}\p{N}_.,$[\]…-]/gu, '\uFFFD')}\``
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw new Problem('invalid_query', `${quote(text)} is not percent-encoded UTF-8`, { cause })
  }
}
