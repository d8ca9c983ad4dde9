import { type BulkOperation, isReading, type Operation } from '../config/spec.js'
import { detailName } from '../resource/links.js'
import { describeResource } from '../resource/description.js'
import type { Resource } from '../resource/resource.js'
import { ACTIONS, policyOf } from './actions.js'
import { answeringJson } from './accept.js'
import {
  checkCreations,
  createMany,
  createSeveral,
  destroyMany,
  readSeveral,
  severalPolicy,
  updateMany,
} from './bulk.js'
import { type Hooks, hooked, named, optionsOf as transactionOf } from './hooks.js'
import { idempotent } from './idempotency.js'
import { refusesParameters, refusesSelection, takingNoParameters, takingNoSelection } from './parameters.js'
import { undoable } from './undoable.js'
import type { FindPlace, Handler, Method, Route, RouteOptions } from './route.js'

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
  /** Where what computes fields of answers is registered. */
  readonly computed: readonly FindPlace[]
  /** By operation, with who made it. */
  readonly replacements: ReadonlyMap<Operation, ReplacedBy>
}

interface ReplacedBy extends Pick<Route, 'source' | 'place'> {
  readonly instead: (generated: Handler) => Handler
}

/** Of a resource to which no plugin adds anything. */
export const NO_ADDITIONS: Additions = { hooks: [], computed: [], replacements: new Map() }

/** The routes of a resource: `<name>-list` on its path, `<name>-detail` on the path of one record. */
export function viewset(resource: Resource, { hooks, computed, replacements } = NO_ADDITIONS): readonly Route[] {
  const { name, path, operations, model, dialect, bulk } = resource.spec
  const places = {
    collection: { name: `${name}-list`, path },
    item: { name: detailName(name), path: `${path}{${model.primaryKey.name}}/` },
  }
  const run = hooks.map(named)
  const withCode = (plain: Handler): Handler => {
    if (run.length > 0) return hooked(plain, resource, run)
    return resource.spec.computed.length > 0 ? undoable(plain, resource) : plain
  }
  const routeOf = (operation: Operation, several?: BulkOperation): Route => {
    const { method } = PLACES[operation]
    const on = several ? 'collection' : PLACES[operation].on
    const plain = several ? BULK[several](resource) : ACTIONS[operation](resource)
    const around = isReading(operation) ? [] : hooks
    const act = isReading(operation) ? plain : withCode(plain)
    const other = replacements.get(operation)
    const answers = operation !== 'destroy' || dialect?.destroyed === 'record'
    const done = other ? other.instead(act) : act
    const kept = operation === 'create' ? oncePerKey(resource, done, run) : done
    const isBare = several !== 'destroy' && refusesParameters(resource, operation)
    const isWhole = !several && refusesSelection(resource, operation)
    const handle = isBare ? takingNoParameters(kept) : isWhole ? takingNoSelection(kept) : kept
    return {
      ...places[on],
      method,
      handle: answers ? answeringJson(handle) : handle,
      source: other?.source ?? `resource ${name}`,
      generated: { resource, operation, ...(several && several !== 'create' && { bulk: true }) },
      options: optionsOf(resource, on),
      ...(dialect && { dialect: dialect.name }),
      ...(other?.place && { place: other.place }),
      ...(computed.length > 0 && answers && { computed }),
      ...(around.length > 0 && { hooks: around.map(({ place }) => place) }),
    }
  }
  /** Makes several records on a path of its own, so that clients know what they send and get; `create` takes an array as well. */
  const creationOfSeveral = (): Route => {
    const at = { name: `${name}-bulk`, path: `${path}${dialect?.bulk ?? 'bulk'}/` }
    const policy = severalPolicy(resource, dialect?.bulk)
    const { idempotency } = resource.spec
    const act = withCode(createSeveral(resource, policy))
    const kept = idempotency
      ? idempotent(act, { idempotency, path: at.path, policy, options: transactionOf(run) }, (context) =>
          readSeveral(resource, context, policy),
        )
      : act
    return {
      ...routeOf('create'),
      ...at,
      handle: answeringJson(refusesParameters(resource, 'create') ? takingNoParameters(kept) : kept),
      generated: { resource, operation: 'create', bulk: true },
      options: { headers: { 'Accept-Post': 'application/json' }, describe: () => describeResource(resource.spec) },
    }
  }
  /** Reads parts of records on a path of its own, so that clients know when members are missing; `fields` is taken beside it as well. */
  const partialReading = (operation: Operation): Route => {
    const whole = routeOf(operation)
    const at = { name: `${whole.name}-partial`, path: `${whole.path}partial/` }
    return { ...whole, ...at, generated: { resource, operation, partial: true }, options: undefined }
  }
  const isSparse = resource.selectable && resource.spec.sparseFields
  return [
    ...(isSparse ? operations.filter(isReading).map(partialReading) : []),
    ...(bulk.operations.includes('create') ? [creationOfSeveral()] : []),
    ...operations.map((operation) =>
      routeOf(operation, operation === 'create' ? bulk.operations.find((each) => each === operation) : undefined),
    ),
    ...bulk.operations.filter((operation) => operation !== 'create').map((operation) => routeOf(operation, operation)),
  ]
}

const BULK: Readonly<Record<BulkOperation, (resource: Resource) => Handler>> = {
  // On the route of one.
  create: (resource) => createMany(resource, ACTIONS.create(resource)),
  partial_update: updateMany,
  destroy: destroyMany,
}

function oncePerKey(resource: Resource, handle: Handler, hooks: readonly Hooks[]): Handler {
  const { idempotency, path } = resource.spec
  if (!idempotency) return handle
  const keyed = { idempotency, path, policy: policyOf(resource, 'create'), options: transactionOf(hooks) }
  return idempotent(handle, keyed, (context) => checkCreations(resource, context))
}

const MEDIA_TYPES: Readonly<Record<'create' | 'partial_update', readonly [header: string, types: string]>> = {
  create: ['Accept-Post', 'application/json'],
  partial_update: ['Accept-Patch', 'application/json, application/merge-patch+json'],
}

function optionsOf({ spec }: Resource, on: Place['on']): RouteOptions {
  const headers = (['create', 'partial_update'] as const)
    .filter((operation) => spec.operations.includes(operation) && PLACES[operation].on === on)
    .map((operation) => MEDIA_TYPES[operation])
  if (on === 'collection' && spec.bulk.operations.includes('partial_update')) {
    headers.push(['Accept-Patch', 'application/json'])
  }
  return { headers: Object.fromEntries(headers), describe: () => describeResource(spec) }
}
