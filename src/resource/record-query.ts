import type { ResourceSpec } from '../config/spec.js'
import { type FeaturePlans, featureParameters } from '../features/index.js'
import { Problem } from '../foundation/problem.js'
import type { Selection } from './plan.js'
import { parseQuery, quote } from './query.js'

/**
 * @returns the parser of query strings for one record, which throws Problem `invalid_query`; undefined for a resource whose
 * records are always complete and without related records
 */
export function compileRecordQuery(spec: ResourceSpec): ((search: string) => Selection | undefined) | undefined {
  const parameters = featureParameters(spec, 'retrieve')
  if (parameters.length === 0) return undefined
  const known = new Map(parameters.map((parameter) => [parameter.name, parameter]))
  const isIgnored = (name: string) => spec.unknownQuery === 'ignore' && !known.has(name)
  return (search) => {
    if (search === '') return undefined
    const query = parseQuery(search, isIgnored)
    const unknown = [...query.keys()].find((name) => !known.has(name) && !isIgnored(name))
    if (unknown !== undefined) {
      const allowed = `allowed are ${[...known.keys()].join(', ')}`
      throw new Problem('invalid_query', `a single record has no parameter ${quote(unknown)}; ${allowed}`)
    }
    const asked: FeaturePlans = {}
    for (const [name, text] of query) known.get(name)?.read?.(text, asked)
    return asked.selection
  }
}
