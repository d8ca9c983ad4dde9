import type { ResourceSpec } from '../config/spec.js'
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

/** @returns undefined for a resource whose records are always shown whole */
export function compileSelection(spec: ResourceSpec, members: readonly string[]): SelectionReader | undefined {
  // A dialect has parameters of its own.
  if (!spec.sparseFields || spec.dialect) return undefined
  return {
    parameters: ['fields'],
    read(query) {
      const text = query.get('fields')
      return text === undefined ? undefined : select(text, members)
    },
  }
}

function select(text: string, known: readonly string[]): Selection {
  const names = text.split(',', known.length + 1)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw new Problem(
      'invalid_query',
      `the parameter \`fields\` names ${quote(unknown)}; known are ${known.join(', ')}`,
    )
  }
  const members = new Set(names)
  if (members.size < names.length) throw new Problem('invalid_query', 'the parameter `fields` names a field twice')
  return Object.freeze({ key: known.filter((name) => members.has(name)).join(), members })
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
