import { orderBy, totalOrder } from '../config/indexes/coverage.js'
import type { OrderSpec, ResourceSpec } from '../config/spec.js'
import { Problem } from '../problem.js'
import { quote } from './query.js'

/** Compiles the parser of `ordering`: fields separated by commas, with `-` for descending. */
export function compileOrder(spec: ResourceSpec): (text: string | undefined) => readonly OrderSpec[] {
  const choices = new Map<string, OrderSpec>()
  for (const field of spec.orderable) {
    const nulls = spec.nulls[field.name]
    choices.set(field.name, orderBy(field, false, nulls))
    choices.set(`-${field.name}`, orderBy(field, true, nulls))
  }
  const allowed = spec.orderable.map((field) => field.name).join(', ')

  const readOne = (name: string): OrderSpec => {
    const order = choices.get(name)
    if (order) return order
    const help =
      allowed === '' ? 'this list has one order only' : `allowed are ${allowed}, each with an optional leading -`
    throw new Problem('invalid_query', `the parameter \`ordering\` names ${quote(name)}; ${help}`)
  }

  const standard = totalOrder(spec.model, spec.defaultOrder)
  return (text) => {
    if (text === undefined) return standard
    const order = text.split(',', choices.size + 1).map(readOne)
    if (new Set(order.map(({ field }) => field)).size < order.length) {
      throw new Problem('invalid_query', 'the parameter `ordering` names a field twice')
    }
    return totalOrder(spec.model, order)
  }
}
