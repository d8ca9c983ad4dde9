import type { ExpansionSpec, ResourceSpec } from '../config/spec.js'
import { Problem } from '../problem.js'
import type { Selection } from './plan.js'
import { parseQuery, type Query, quote } from './query.js'

/** Reads what clients ask to see of records. */
export interface SelectionReader {
  readonly parameters: readonly string[]
  /**
   * undefined for all that answers show.
   * @throws Problem `invalid_query`
   */
  read(query: Query): Selection | undefined
}

/** Related records that one request can ask for: each is looked for once for each record. */
export const MOST_EXPANDED = 10

/** @returns undefined for a resource whose records are always shown whole, and by themselves */
export function compileSelection(spec: ResourceSpec, members: readonly string[]): SelectionReader | undefined {
  // A dialect has parameters of its own.
  if (spec.dialect || (!spec.sparseFields && spec.expand.length === 0)) return undefined
  const paths = pathsOf(spec.expand)
  return {
    parameters: [...(spec.sparseFields ? ['fields'] : []), ...(paths.length > 0 ? ['expand'] : [])],
    read(query) {
      const fields = spec.sparseFields ? query.get('fields') : undefined
      const related = paths.length > 0 ? query.get('expand') : undefined
      if (fields === undefined && related === undefined) return undefined
      const shown = fields === undefined ? undefined : readNames('fields', fields, members)
      const asked = related === undefined ? [] : readNames('expand', related, paths)
      if (asked.length > MOST_EXPANDED)
        throw new Problem('invalid_query', `the parameter \`expand\` takes at most ${MOST_EXPANDED} relations`)
      return Object.freeze({
        key: `${shown?.join() ?? '*'} ${asked.join()}`,
        members: shown && new Set(shown),
        expand: prune(spec.expand, asked),
      })
    },
  }
}

/** The paths of all related records, each before those that it leads to. */
export function pathsOf(expansions: readonly ExpansionSpec[]): readonly string[] {
  return expansions.flatMap(({ path, expand }) => [path, ...pathsOf(expand)])
}

/** The names between commas, in the order of those that are known. */
function readNames(parameter: string, text: string, known: readonly string[]): readonly string[] {
  const names = text.split(',', known.length + 1)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    const message = `the parameter \`${parameter}\` names ${quote(unknown)}; known are ${known.join(', ')}`
    throw new Problem('invalid_query', message)
  }
  const given = new Set(names)
  if (given.size < names.length)
    throw new Problem('invalid_query', `the parameter \`${parameter}\` names a field twice`)
  return known.filter((name) => given.has(name))
}

/** What is asked for, and what leads there. */
function prune(expansions: readonly ExpansionSpec[], asked: readonly string[]): readonly ExpansionSpec[] {
  return expansions
    .filter(({ path }) => asked.some((name) => name === path || name.startsWith(`${path}.`)))
    .map((expansion) => ({ ...expansion, expand: prune(expansion.expand, asked) }))
}

/** @returns the parser of the query string of a request for one record; it throws Problem `invalid_query` */
export function compileRecordQuery(
  { unknownQuery }: Pick<ResourceSpec, 'unknownQuery'>,
  { parameters, read }: SelectionReader,
): (search: string) => Selection | undefined {
  const isUnknown = (name: string) => !parameters.includes(name)
  return (search) => {
    if (search === '') return undefined
    const query = parseQuery(search, (name) => unknownQuery === 'ignore' && isUnknown(name))
    const unknown = unknownQuery === 'refuse' ? [...query.keys()].find(isUnknown) : undefined
    if (unknown === undefined) return read(query)
    const allowed = `allowed are ${parameters.join(', ')}`
    throw new Problem('invalid_query', `a record takes no parameter ${quote(unknown)}; ${allowed}`)
  }
}
