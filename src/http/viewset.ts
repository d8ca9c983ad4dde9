import type { Operation } from '../config/spec.js'
import { detailName } from '../resource/links.js'
import type { Resource } from '../resource/resource.js'
import { ACTIONS } from './actions.js'
import { type Hooks, hooked } from './hooks.js'
import type { FindPlace, Handler, Method, Route } from './route.js'

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
  readonly hooks: readonly { readonly hooks: Hooks; readonly place: FindPlace }[]
  /** By operation, with who made it. */
  readonly replacements: ReadonlyMap<Operation, ReplacedBy>
}

interface ReplacedBy extends Pick<Route, 'source' | 'place'> {
  readonly instead: (generated: Handler) => Handler
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
    const around = READS.has(operation) ? [] : hooks
    const run = around.map((each) => each.hooks)
    const generated: Route = {
      ...places[on],
      method,
      handle: run.length > 0 ? hooked(plain, resource, run) : plain,
      source: `resource ${name}`,
      ...(dialect && { dialect: dialect.name }),
      ...(around.length > 0 && { hooks: around.map(({ place }) => place) }),
    }
    const other = replacements.get(operation)
    if (!other) return generated
    const { instead, ...who } = other
    return { ...generated, ...who, handle: instead(generated.handle) }
  })
}
