import type { Operation } from '../config/spec.js'
import { detailName } from '../resource/links.js'
import type { Resource } from '../resource/resource.js'
import { ACTIONS } from './actions.js'
import { type Hooks, hooked } from './hooks.js'
import type { Handler, Method, Route } from './route.js'

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

/** What plugins add to the generated operations of a resource. */
export interface Additions {
  readonly hooks: readonly Hooks[]
  /** By operation, with who made it. */
  readonly replacements: ReadonlyMap<
    Operation,
    { readonly instead: (generated: Handler) => Handler; readonly source: string }
  >
}

const NONE: Additions = { hooks: [], replacements: new Map() }

const READS: ReadonlySet<Operation> = new Set(['list', 'retrieve'])

/** The routes of a resource: `<name>-list` on its path, `<name>-detail` on the path of one record. */
export function viewset(resource: Resource, { hooks, replacements } = NONE): readonly Route[] {
  const { name, path, operations, model, dialect } = resource.spec
  const places = {
    collection: { name: `${name}-list`, path },
    item: { name: detailName(name), path: `${path}{${model.primaryKey.name}}/` },
  }
  return operations.map((operation) => {
    const { method, on } = PLACES[operation]
    const plain = ACTIONS[operation](resource)
    const handle = hooks.length > 0 && !READS.has(operation) ? hooked(plain, resource, hooks) : plain
    const route = { ...places[on], method, handle, source: `resource ${name}`, ...(dialect && { dialect: dialect.name }) }
    const other = replacements.get(operation)
    return other ? { ...route, handle: other.instead(handle), source: other.source } : route
  })
}
