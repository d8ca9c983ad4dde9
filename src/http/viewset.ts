import type { Operation } from '../config/spec.js'
import { detailName } from '../resource/links.js'
import { describeResource } from '../resource/description.js'
import type { Resource } from '../resource/resource.js'
import { ACTIONS } from './actions.js'
import { answeringJson } from './accept.js'
import type { Method, Route, RouteOptions } from './route.js'

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
    const act = ACTIONS[operation](resource)
    const answers = operation !== 'destroy' || dialect?.destroyed === 'record'
    const route = {
      ...places[on],
      method,
      handle: answers ? answeringJson(act) : act,
      source: `resource ${name}`,
      options: optionsOf(resource, on),
    }
    return dialect === undefined ? route : { ...route, dialect: dialect.name }
  })
}

const MEDIA_TYPES: Readonly<Record<'create' | 'partial_update', readonly [header: string, types: string]>> = {
  create: ['Accept-Post', 'application/json'],
  partial_update: ['Accept-Patch', 'application/json, application/merge-patch+json'],
}

function optionsOf({ spec }: Resource, on: Place['on']): RouteOptions {
  const headers = (['create', 'partial_update'] as const)
    .filter((operation) => spec.operations.includes(operation) && PLACES[operation].on === on)
    .map((operation) => MEDIA_TYPES[operation])
  return { headers: Object.fromEntries(headers), describe: () => describeResource(spec) }
}
