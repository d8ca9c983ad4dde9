import { type FieldSpec, ADDED_ID, type ModelSpec, type Operation, type ResourceSpec } from '../config/spec.js'
import type { ListDescription } from '../dialects/dialect.js'
import type { ExportFormat } from '../features/export.js'
import type { ResponseParts, QueryParameter } from '../features/feature.js'
import { describeFilter } from '../features/filterable.js'
import { featureParameters, featureResponses, placesPage } from '../features/index.js'
import { mayEstimate } from '../features/pagination.js'
import type { ValueDescription } from '../http/operation-description.js'
import { mayBeView } from '../http/operations/request.js'
import { rejectsParameters, rejectsSelection } from '../http/middleware/parameters.js'
import { exact } from '../lookups/exact.js'
import { isIn } from '../lookups/in.js'
import { VALUES } from '../lookups/operands.js'
import { PROBLEMS } from '../foundation/problem.js'
import { lookupsOf, mostValuesOf, sortableBy } from '../resource/lists/dialect-list.js'
import { joinKey } from '../resource/keys/record-key.js'
import type { Resource } from '../resource/resource.js'
import type { FieldSchemas } from './field-schema.js'
import type { JsonPart } from './json-part.js'
import { headersNamed } from './responses.js'
import type { JsonSchema } from '../foundation/json.js'

/** The operation to describe, and the resource it belongs to. */
export interface Subject {
  readonly resource: Resource
  readonly operation: Operation
  readonly schemas: FieldSchemas
  /** Whether writes may conflict with other records. */
  readonly canConflict: boolean
  /** Whether hooks of plugins run around it. */
  readonly hooked?: boolean | undefined
  /** Whether it returns parts of records. */
  readonly partial?: boolean | undefined
  /** Whether it applies to several records at once. */
  readonly bulk?: boolean | undefined
  /** The format of a list without pages. */
  readonly exports?: ExportFormat | undefined
}

/** The parts that a feature adds to the description of an operation. */
export interface Addition {
  readonly parameters?: readonly JsonPart[]
  /** The statuses of error responses. */
  readonly rejections?: readonly number[]
  /** The names of response headers; all are components. */
  readonly headers?: readonly string[]
  /** Whether the success response has no body if the caller may not see the record. */
  readonly mayLackBody?: boolean
  /** Additional success responses, by status. */
  readonly answers?: Readonly<Record<number, JsonPart>>
}

/** Describes the parts that a feature adds to an operation; empty if the resource does not have it. */
type Feature = (subject: Subject) => Addition

const featured: Feature = ({ resource: { spec }, operation, partial = false, bulk, exports }) => {
  // If a dialect has all filters in one parameter, features describe theirs as part of it.
  const isApart = !spec.dialect || describeDialect(spec)?.filters !== undefined
  const all = isApart ? featureParameters(spec, operation) : []
  const parameters = all
    .filter((each) => (partial || !each.partial) && !(exports && placesPage(each)))
    .map(queryParameter)
  const parts = featureResponses(spec, { operation, bulk })
  return {
    parameters: [...parameters, ...parts.flatMap(({ requestHeaders = {} }) => headerParameters(requestHeaders))],
    rejections: [
      ...(operation === 'list' || all.length > 0 ? [400] : []),
      ...parts.flatMap(({ problems = [] }) => problems.map((type) => PROBLEMS[type].status)),
    ],
    headers: parts.flatMap(({ headers = [] }) => headers),
    mayLackBody: parts.some((part) => part.mayLackBody),
    answers: Object.fromEntries(
      parts.flatMap(({ answers = {} }) =>
        Object.entries(answers).map(([status, { description, headers }]) => [
          status,
          { description, headers: headersNamed(...headers) },
        ]),
      ),
    ),
  }
}

/** The headers of a request. */
export function headerParameters(headers: NonNullable<ResponseParts['requestHeaders']>): readonly JsonPart[] {
  return Object.entries(headers).map(([name, { description, required, schema }]) => {
    return { name, in: 'header', description, required, schema }
  })
}

/** The list parameters of a dialect. */
const speaking: Feature = ({ resource: { spec }, operation }) => {
  const described = operation === 'list' ? describeDialect(spec) : undefined
  if (described === undefined) return {}
  const { parameters, headers = [] } = described
  return {
    parameters: [...parameters.map((each) => ({ in: 'query', ...each })), ...dialectFilters(spec, described)],
    headers: [
      'Link',
      'X-Total-Count',
      ...(mayEstimate(spec.pagination.count, true) ? ['X-Total-Count-Estimated'] : []),
      ...headers,
    ],
    rejections: [400],
  }
}

/** Describes the lists of a resource in its dialect. */
export function describeDialect(spec: ResourceSpec): ListDescription | undefined {
  return spec.dialect?.describe(spec.pagination, [...sortableBy(spec).keys()])
}

/** The filters that the dialect can express and the resource offers; those for equality can be repeated. */
function dialectFilters(spec: ResourceSpec, { filters }: ListDescription): readonly JsonPart[] {
  if (!filters) return []
  return [...lookupsOf(spec)].flatMap(([path, { field, related, lookups }]) =>
    filters(path).flatMap(({ name, lookups: meant }): readonly JsonPart[] => {
      const lookup = meant.find((each) => lookups.has(each))
      if (lookup === undefined) return []
      const described = queryParameter(describeFilter({ name, path, field, related, lookup }, spec))
      const list = lookup === exact && lookups.has(isIn) ? VALUES.list : lookup.operand.list
      if (!list) return [described]
      const isRepeated = !spec.dialect?.commas || lookup === exact
      return [listParameter(described, list.limits(mostValuesOf(spec, { field, related })), isRepeated)]
    }),
  )
}

const addressing: Feature = ({ resource: { spec }, operation, schemas }) => {
  if (operation === 'list') return {}
  if (operation === 'create') return { headers: spec.operations.some(isOnItem) ? ['Location'] : [] }
  return {
    parameters: Object.entries(describeKey(spec, schemas)).map(([name, part]) => ({ name, in: 'path', ...part })),
    rejections: [404],
  }
}

/** Hooks may end with a record that has left the view. */
const leaving: Feature = ({ resource, operation, hooked }) => {
  if (!hooked || !mayBeView(resource)) return {}
  if (operation === 'create') return { mayLackBody: true }
  if (operation !== 'update' && operation !== 'partial_update') return {}
  const description = 'The change is stored; the record cannot be seen afterwards.'
  return { answers: { 204: { description, headers: headersNamed() } } }
}

const writing: Feature = ({ operation }) => (isWriting(operation) ? { rejections: [400, 413, 415] } : {})

/** Describes the path parameters of a record. */
export function describeKey(
  { model, addedId }: ResourceSpec,
  schemas: FieldSchemas,
): Readonly<Record<string, ValueDescription>> {
  if (addedId === undefined || model.key.length === 1)
    return Object.fromEntries(model.key.map((field) => [field.name, describeKeyPart(field, schemas)]))
  const examples = model.key.map((field) => schemas.example(field))
  const example = examples.includes(undefined) ? [] : [joinKey(examples.map(String))]
  const description = `${describeId(model)}.`
  return { [ADDED_ID]: { description, required: true, schema: { type: 'string', minLength: 1, examples: example } } }
}

/** Describes the id of a record in a dialect. */
export function describeId({ key: [first, ...others] }: ModelSpec): string {
  const names = [first, ...others].flatMap((field) => field?.name ?? []).join(', ')
  return others.length === 0 ? `The key of the record, \`${names}\`` : `${names} of the record, joined by \`~\``
}

/** Describes the path parameter with the value of a key's field. */
function describeKeyPart(field: FieldSpec, schemas: FieldSchemas): ValueDescription {
  const example = schemas.example(field)
  return {
    description: `The ${field.name} of the record.`,
    required: true,
    schema: { ...schemas.compared(field), ...(example !== undefined && { examples: [example] }) },
  }
}

const bare: Feature = ({ resource, operation }) =>
  rejectsParameters(resource, operation) || rejectsSelection(resource, operation) ? { rejections: [400] } : {}

const acceptance: Feature = ({ resource: { spec }, operation }) =>
  operation === 'destroy' && spec.dialect?.destroyed !== 'record' ? {} : { rejections: [406] }

const constraints: Feature = ({ canConflict }) => ({ rejections: canConflict ? [409] : [] })

/** Row-level security of unmanaged tables may reject records. */
const policies: Feature = ({ resource: { spec }, operation, bulk }) =>
  (isWriting(operation) || bulk) && !spec.model.managed ? { rejections: [403] } : {}

const database: Feature = () => ({ rejections: [503] })

/** Everything that adds to generated operations; `featured` covers the features of resources. */
export const FEATURES: readonly Feature[] = [
  addressing,
  featured,
  speaking,
  writing,
  leaving,
  bare,
  acceptance,
  constraints,
  policies,
  database,
]

/** Whether an operation has a body. */
export function isWriting(operation: Operation): boolean {
  return operation === 'create' || operation === 'update' || operation === 'partial_update'
}

function isOnItem(operation: Operation): boolean {
  return operation !== 'list' && operation !== 'create'
}

/** The parameter of a feature. */
export function queryParameter({ name, description, schema, several }: Omit<QueryParameter, 'read'>): JsonPart {
  const between = several ? { style: 'form', explode: false } : {}
  return { name, in: 'query', description, ...between, schema }
}

interface ListLimits {
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: true
}

/**
 * A parameter with one or several values.
 * @param explode whether it is repeated for each value; otherwise they are separated by commas
 */
export function listParameter({ schema, ...described }: JsonPart, limits: ListLimits, explode: boolean): JsonPart {
  const { items = schema } = schema as JsonSchema
  return { ...described, style: 'form', explode, schema: { type: 'array', items, minItems: 1, ...limits } }
}
