import { ADDED_ID, type BulkOperation, isEscaped, loneKey } from '../config/spec.js'
import { objectOf } from '../dialects/description.js'
import { UNSEEN } from '../features/access.js'
import { featureResponses } from '../features/index.js'
import { showsNone } from '../http/operations/request.js'
import { PROBLEMS } from '../foundation/problem.js'
import type { Resource } from '../resource/resource.js'
import { FEATURES, headerParameters, type Subject } from './features.js'
import type { FieldSchemas } from './field-schema.js'
import { type JsonPart, reference } from './json-part.js'
import { withoutBody } from './operations.js'
import { bodySchema, type SchemaNames } from './resource-schemas.js'
import { rejecting, headersNamed } from './responses.js'

/** The texts for bulk operations. */
const TEXTS: Readonly<Record<BulkOperation, { summary: string; description: string; response: string }>> = {
  create: {
    summary: 'Create several',
    description: 'Creates a record for each item: all or none.',
    response: 'The new records, in the order of the body.',
  },
  partial_update: {
    summary: 'Change several',
    description: 'Sets the given fields (RFC 7396) of each record: all or none.',
    response: 'The updated records, in the order of the body.',
  },
  destroy: {
    summary: 'Delete several',
    description: 'Deletes the records: all or none.',
    response: 'The records were deleted.',
  },
}

/** Describes a bulk operation on the path of a resource, without `operationId` and `tags`. */
export function describeBulk(subject: Subject, { shown, bodies }: SchemaNames): JsonPart {
  const { resource, operation, schemas } = subject
  const { name, dialect } = resource.spec
  const kind = operation === 'destroy' || operation === 'create' ? operation : 'partial_update'
  const text = TEXTS[kind]
  const isUnseen = showsNone(resource)
  const hasBody = !isUnseen && (kind !== 'destroy' || dialect?.destroyed === 'record')
  const parts = featureResponses(resource.spec, { operation, bulk: true })
  const headers = parts.flatMap(({ requestHeaders = {} }) => headerParameters(requestHeaders))
  const parameters = kind === 'destroy' ? [idsParameter(resource, schemas), ...headers] : headers
  const rejected = rejecting(resource)
  const additions = FEATURES.map((feature) => feature({ ...subject, bulk: true }))
  const mayLackBody = additions.some((addition) => addition.mayLackBody)
  const rejections = additions.flatMap((addition) => addition.rejections ?? [])
  const statuses = new Set([PROBLEMS.invalid_query.status, ...rejections])
  return {
    summary: `${text.summary} ${name} records`,
    description: text.description,
    ...(parameters.length > 0 && { parameters }),
    ...(kind === 'partial_update' && bodyOf(arrayOf(resource, changeSchema(resource, schemas)))),
    ...(kind === 'create' && bodyOf(newRecords(resource, reference('schemas', bodies.create)))),
    responses: {
      [kind === 'create' ? 201 : hasBody ? 200 : 204]: {
        description:
          isUnseen && kind !== 'destroy' ? UNSEEN : text.response + (mayLackBody ? withoutBody('one of them') : ''),
        headers: headersNamed(...parts.flatMap((each) => each.headers ?? [])),
        ...(hasBody && {
          content: { 'application/json': { schema: { type: 'array', items: reference('schemas', shown) } } },
        }),
      },
      ...Object.assign({}, ...additions.map(({ answers }) => answers)),
      ...Object.fromEntries([...statuses].map((status) => [status, rejected(status)])),
      default: rejected('other'),
    },
  }
}

function bodyOf(schema: JsonPart): JsonPart {
  return { requestBody: { required: true, content: { 'application/json': { schema } } } }
}

/** The body with new records: an array, which some dialects wrap. */
function newRecords(resource: Resource, items: JsonPart): JsonPart {
  const within = resource.spec.dialect?.bulk
  const array = arrayOf(resource, items)
  return within === undefined ? array : { ...objectOf({ [within]: array }), additionalProperties: false }
}

function arrayOf({ spec, bulkLimit }: Resource, items: JsonPart): JsonPart {
  return {
    type: 'array',
    description: `At most ${bulkLimit} bytes in all.`,
    items,
    minItems: 1,
    maxItems: spec.bulk.max,
  }
}

function idsParameter({ spec, key }: Resource, schemas: FieldSchemas): JsonPart {
  const field = loneKey(spec.model)
  const items = field && !isEscaped(field) ? schemas.compared(field) : { type: 'string' }
  return {
    name: 'ids',
    in: 'query',
    description: `The ${key.name} of each record, written as at the end of its path. Commas separate them.`,
    required: true,
    style: 'form',
    explode: false,
    schema: { type: 'array', items, minItems: 1, maxItems: spec.bulk.max },
  }
}

function changeSchema(resource: Resource, schemas: FieldSchemas): JsonPart {
  const body = bodySchema(resource, 'update', schemas)
  const { fields } = resource.key
  const { addedId, model } = resource.spec
  const lone = loneKey(model)
  const id = addedId ? [[ADDED_ID, lone ? schemas.compared(lone) : { type: 'string' }] as const] : []
  const keys = fields.map((field) => [field.name, schemas.compared(field)] as const)
  const properties = { ...Object.fromEntries([...id, ...keys]), ...(body['properties'] as JsonPart) }
  const required = fields.map(({ name }) => name)
  return {
    ...body,
    description: 'The key of the record, and the fields to change.',
    properties,
    ...(addedId ? { anyOf: [{ required: [ADDED_ID] }, { required }] } : { required }),
  }
}
