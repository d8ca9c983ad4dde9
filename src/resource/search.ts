import type { ResourceSpec } from '../config/spec.js'
import { Problem } from '../problem.js'
import type { Search } from './plan.js'
import { quote } from './query.js'

/** Characters that a search has at most, and words: each is compared with every field that is searched. */
export const LONGEST_SEARCH = 200
const MOST_WORDS = 10

/** Reads the text of the parameter by which clients search; undefined when there is no word in it, so that every record matches. */
export type SearchReader = (parameter: string, text: string) => Search | undefined

/** @returns the reader of searches of a resource; it throws Problem `invalid_query` */
export function compileSearch({ search: fields }: Pick<ResourceSpec, 'search'>): SearchReader {
  return (parameter, text) => {
    const name = quote(parameter)
    if ([...text].length > LONGEST_SEARCH)
      throw new Problem('invalid_query', `${name} takes at most ${LONGEST_SEARCH} characters`)
    if (fields.some(({ type, options }) => type.parse(text, options) === undefined))
      throw new Problem('invalid_query', `the value of ${name} is no text that a field could hold`)
    const words = [...new Set(text.split(/\s+/u).filter((word) => word !== ''))]
    if (words.length > MOST_WORDS) throw new Problem('invalid_query', `${name} takes at most ${MOST_WORDS} words`)
    return words.length === 0 ? undefined : { fields, words }
  }
}
