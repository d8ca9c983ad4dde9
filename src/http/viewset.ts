import type { Operation } from '../config/spec.js'
import { detailName } from '../resource/links.js'
import type { Resource } from '../resource/resource.js'
import { ACTIONS } from './actions.js'
import type { Method, Route } from './route.js'

interface Place {
  readonly method: Method
  readonly on: 'collection' | 'item'
}

const PLACES: Readonly<Record<Operation, Place>> = {
  list: { method: 'GET', on: 'collection' },
  create: { method: 'POST', on: 'collection' },
  retrieve: { method: 'GET', on: 'item' },
  update: { method: 'PUT', on: 'item' },
  partial_update: { method: 'PATCH', on: 'item' },
  destroy: { method: 'DELETE', on: 'item' },
}

/** The routes of a resource: `<name>-list` on its path, `<name>-detail` on the path of one record. */
export function viewset(resource: Resource): readonly Route[] {
  const { name, path, operations, model, dialect } = resource.spec
  const places = {
    collection: { name: `${name}-list`, path },
    item: { name: detailName(name), path: `${path}{${model.primaryKey.name}}/` },
  }
  return operations.map((operation) => {
    const { method, on } = PLACES[operation]
    const handle = ACTIONS[operation](resource)
    const route = { ...places[on], method, handle, source: `resource ${name}`, generated: { resource, operation } }
    return dialect === undefined ? route : { ...route, dialect: dialect.name }
  })
}
