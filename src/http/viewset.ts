import { type BulkOperation, isReading, type Operation as OperationName } from '../config/spec.js'
import { EXPORT_FORMATS, type ExportFormat } from '../features/export.js'
import { featureParameters } from '../features/index.js'
import { detailName, recordPath } from '../resource/bodies/links.js'
import { describeResource } from '../resource/description.js'
import type { Resource } from '../resource/resource.js'
import { type Hooks, named, optionsOf as transactionOf } from './registrations/hooks.js'
import type { Endpoint } from './middleware/endpoint.js'
import { compileEndpoint } from './middleware/index.js'
import { rejectAny, rejectSelection, rejectsParameters, rejectsSelection } from './middleware/parameters.js'
import { createMany } from './operations/create-many.js'
import { exportOperation } from './operations/export.js'
import { BULK_FORMS, OPERATIONS } from './operations/index.js'
import type { Operation } from './operations/operation.js'
import type { AnyReplacement } from './registrations/replacement.js'
import type { FindPlace, Route, RouteOptions } from './route.js'

/** The parts that plugins add to the generated operations of a resource. */
export interface Additions {
  readonly hooks: readonly { readonly hooks: Hooks; readonly place: FindPlace }[]
  /** Where computed fields are registered. */
  readonly computed: readonly FindPlace[]
  /** By operation, with their sources. */
  readonly replacements: ReadonlyMap<OperationName, ReplacedBy>
}

/** The replacement of an operation. */
export interface ReplacedBy extends Pick<Route, 'source' | 'place'> {
  readonly replacement: AnyReplacement
}

/** For a resource without plugins. */
export const NO_ADDITIONS: Additions = { hooks: [], computed: [], replacements: new Map() }

/** Creates the routes of a resource: `<name>-list` on its path, `<name>-detail` on the path of one record. */
export function viewset(resource: Resource, additions = NO_ADDITIONS): readonly Route[] {
  const { operations, bulk, dialect, exported } = resource.spec
  const route = (form: Form) => generatedRoute(resource, form, additions)
  const isPartial = (name: OperationName) => featureParameters(resource.spec, name).some((each) => each.partial)
  const isExported = exported && !dialect && operations.includes('list')
  return [
    ...(isExported ? EXPORT_FORMATS.map((format) => exportRoute(resource, format, additions)) : []),
    ...operations.filter(isPartial).map((name) => partialRoute(route({ name }))),
    ...(bulk.operations.includes('create') ? [createManyRoute(resource, additions)] : []),
    ...operations.map((name) =>
      route(name === 'create' && bulk.operations.includes(name) ? { name, bulk: name } : { name }),
    ),
    ...bulk.operations.filter((name) => name !== 'create').map((name) => route({ name, bulk: name })),
  ]
}

/** An operation, for one record or several. */
interface Form {
  readonly name: OperationName
  /** Set if it applies to several records. */
  readonly bulk?: BulkOperation
}

function generatedRoute(resource: Resource, form: Form, additions: Additions): Route {
  const { name, bulk } = form
  const { dialect, path } = resource.spec
  const operation = bulk ? BULK_FORMS[bulk](resource) : OPERATIONS[name](resource)
  const at =
    operation.on === 'collection'
      ? { name: `${resource.spec.name}-list`, path }
      : { name: detailName(resource.spec.name), path: path + recordPath(resource.spec) }
  const endpoint = endpointOf(resource, { form, operation, path: at.path }, additions)
  const other = additions.replacements.get(name)
  return {
    ...at,
    method: operation.method,
    ...compileEndpoint(endpoint),
    source: other?.source ?? `resource ${resource.spec.name}`,
    generated: { resource, operation: name, ...(bulk && bulk !== 'create' && { bulk: true }) },
    options: optionsOf(resource, operation.on),
    ...(dialect && { dialect: dialect.name }),
    ...(other?.place && { place: other.place }),
    ...(additions.computed.length > 0 && endpoint.respondsJson && { computed: additions.computed }),
    ...(endpoint.hooks.length > 0 && { hooks: additions.hooks.map(({ place }) => place) }),
  }
}

/** Creates several records, on a path of its own so that clients know the shape of the body and the response. `create` accepts an array as well. */
function createManyRoute(resource: Resource, additions: Additions): Route {
  const { name, path, dialect } = resource.spec
  const operation = createMany(resource, dialect?.bulk)
  const at = { name: `${name}-bulk`, path: `${path}${dialect?.bulk ?? 'bulk'}/` }
  const endpoint = endpointOf(
    resource,
    { form: { name: 'create', bulk: 'create' }, operation, path: at.path },
    additions,
  )
  return {
    ...generatedRoute(resource, { name: 'create' }, additions),
    ...at,
    ...compileEndpoint(endpoint),
    generated: { resource, operation: 'create', bulk: true },
    options: { headers: { 'Accept-Post': 'application/json' }, describe: () => describeResource(resource) },
  }
}

/** Returns partial records, on a path of its own so that clients know that members may be missing. The main path accepts `fields` as well. */
function partialRoute(whole: Route): Route {
  const generated = whole.generated && { ...whole.generated, partial: true as const }
  const at = { name: `${whole.name}-partial`, path: `${whole.path}partial/` }
  return {
    ...whole,
    ...at,
    ...(generated && { generated }),
    options: whole.options && { ...whole.options, headers: {} },
  }
}

/** Returns the records of all pages. */
function exportRoute(resource: Resource, format: ExportFormat, additions: Additions): Route {
  const { name, path } = resource.spec
  const operation = exportOperation(resource, format)
  const at = { name: `${name}-export-${format}`, path: `${path}export.${format}/` }
  const endpoint = endpointOf(resource, { form: { name: 'list' }, operation, path: at.path }, additions)
  return {
    ...generatedRoute(resource, { name: 'list' }, additions),
    ...at,
    ...compileEndpoint(endpoint),
    generated: { resource, operation: 'list', exports: format },
    options: { headers: {}, describe: () => describeResource(resource) },
  }
}

interface Placed {
  readonly form: Form
  readonly operation: Operation
  readonly path: string
}

function endpointOf(resource: Resource, { form, operation, path }: Placed, additions: Additions): Endpoint {
  const { name } = form
  const { spec } = resource
  const hooks = isReading(name) ? [] : additions.hooks.map(named)
  const respondsJson = name !== 'destroy' || spec.dialect?.destroyed === 'record'
  // A response with computed fields can fail, which must roll the write back.
  const mayFail = !isReading(name) && respondsJson && spec.computed.length > 0
  const needsTransaction = operation.transaction !== undefined || hooks.length > 0 || mayFail
  return {
    resource,
    operation,
    path,
    respondsJson,
    showsRecords: respondsJson,
    checkQuery: queryCheck(resource, form),
    idempotency: name === 'create' ? spec.idempotency : undefined,
    replacement: additions.replacements.get(name)?.replacement,
    transaction: needsTransaction ? { ...operation.transaction, ...transactionOf(hooks) } : undefined,
    hooks,
  }
}

/** Bulk deletes check their own query. */
function queryCheck(resource: Resource, { name, bulk }: Form): Endpoint['checkQuery'] {
  if (bulk !== 'destroy' && rejectsParameters(resource, name)) return rejectAny
  return !bulk && rejectsSelection(resource, name) ? rejectSelection : undefined
}

const MEDIA_TYPES: Readonly<Record<'create' | 'partial_update', readonly [header: string, types: string]>> = {
  create: ['Accept-Post', 'application/json'],
  partial_update: ['Accept-Patch', 'application/json, application/merge-patch+json'],
}

function optionsOf(resource: Resource, on: Operation['on']): RouteOptions {
  const { spec } = resource
  const headers = (['create', 'partial_update'] as const)
    .filter((name) => spec.operations.includes(name) && on === (name === 'create' ? 'collection' : 'item'))
    .map((name) => MEDIA_TYPES[name])
  if (on === 'collection' && spec.bulk.operations.includes('partial_update')) {
    headers.push(['Accept-Patch', 'application/json'])
  }
  return { headers: Object.fromEntries(headers), describe: () => describeResource(resource) }
}
