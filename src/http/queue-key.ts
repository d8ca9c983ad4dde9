import type { FieldSpec } from '../config/spec.js'
import type { QueueKey } from '../db/database.js'
import type { Route } from './route.js'
import type { Params } from './route-table.js'

/** The key of a request's transactions in the fair queue: the resource of its route, and the record if the route changes just one. */
export function queueKeyOf(route: Route | undefined, params: Params): QueueKey {
  if (!route) return {}
  const { generated, action } = route
  const resource = generated?.resource ?? action?.resource
  const name = `${route.method} ${route.name}`
  if (!resource) return { resource: name, name }
  const { table, key } = resource.spec.model
  return { resource: table, name, record: recordOf(key, params) }
}

/** The record that a path names, as a text; undefined for the path of a list. */
function recordOf(key: readonly FieldSpec[], params: Params): string | undefined {
  const [first, ...others] = key
  if (first === undefined || others.length === 0) return first && params[first.name]
  const parts = key.map(({ name }) => params[name])
  return parts.includes(undefined) ? undefined : parts.join('/')
}
