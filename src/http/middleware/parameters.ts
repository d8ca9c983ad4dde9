import type { Operation, ResourceSpec } from '../../config/spec.js'
import { SELECTION } from '../../features/index.js'
import { Problem } from '../../foundation/problem.js'
import { parsePairs, parseQuery, quote } from '../../resource/query.js'
import type { Resource } from '../../resource/resource.js'
import type { Stage } from './endpoint.js'

/** Rejects unknown query parameters with 400. */
export const parameters: Stage = (next, { checkQuery }) => {
  if (!checkQuery) return next
  return (context, input) => {
    if (context.search !== '') checkQuery(context.search)
    return next(context, input)
  }
}

/** Whether an operation on one record, or on the records of its body, has no query parameters and rejects any. */
export function rejectsParameters(
  { spec, selectable }: Pick<Resource, 'spec' | 'selectable'>,
  operation: Operation,
): boolean {
  const takesSome = operation === 'list' || (operation === 'retrieve' && selectable)
  return !takesSome && isStrict(spec)
}

/** Whether an operation rejects `fields` and `expand`. Dialects do not have them. */
export function rejectsSelection({ spec }: Pick<Resource, 'spec'>, operation: Operation): boolean {
  return spec.dialect !== undefined && spec.unknownQuery === 'refuse' && operation !== 'list'
}

/** @throws Problem `invalid_query` if the request selects parts of records */
export function rejectSelection(search: string): void {
  const pair = parsePairs(search).find(([name]) => SELECTION.includes(name))
  if (pair === undefined) return
  throw new Problem('invalid_query', `${quote(pair[0])} is not a parameter here: dialects always return whole records`)
}

/** Whether a resource rejects unknown parameters. Clients of a dialect send its parameters to every path. */
export function isStrict({ dialect, unknownQuery }: ResourceSpec): boolean {
  return dialect === undefined && unknownQuery === 'refuse'
}

/** @throws Problem `invalid_query` for any parameter */
export function rejectAny(search: string): void {
  const [unknown] = parseQuery(search, () => true).keys()
  if (unknown === undefined) return
  throw new Problem('invalid_query', `this endpoint has no query parameters; got ${quote(unknown)}`)
}
