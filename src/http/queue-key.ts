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
  const { table, primaryKey } = resource.spec.model
  return { resource: table, name, record: params[primaryKey.name] }
}
