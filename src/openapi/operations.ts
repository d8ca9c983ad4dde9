import { isReading, type Operation } from '../config/spec.js'
import { article } from '../config/words.js'
import { UNSEEN } from '../features/access.js'
import { featureParameters, featureResponses, joinedMembers } from '../features/index.js'
import { showsNone } from '../http/operations/request.js'
import type { Generated } from '../http/route.js'
import { toPascal } from '../resource/names.js'
import { describeDialect, FEATURES, type Subject } from './features.js'
import { type JsonPart, reference } from './json-part.js'
import type { DocumentedMode, SchemaNames } from './resource-schemas.js'
import { HEADERS, headersNamed, rejecting } from './responses.js'

/** The texts for an operation. */
interface Saying {
  readonly verb: string
  readonly summary: (name: string) => string
  readonly description: string
  readonly status: number
  readonly answer: string
  readonly body?: DocumentedMode
  readonly mediaTypes?: readonly string[]
}

const JSON_TYPE = 'application/json'

const SAYINGS: Readonly<Record<Operation, Saying>> = {
  list: {
    verb: 'list',
    summary: (name) => `List ${name} records`,
    description:
      'Returns one page of records. Unknown parameters are rejected, unless the service is configured to ignore them.',
    status: 200,
    answer: 'One page.',
  },
  create: {
    verb: 'create',
    summary: (name) => `Create ${article(name)} ${name}`,
    description: 'Creates a record.',
    status: 201,
    answer: 'The new record.',
    body: 'create',
  },
  retrieve: {
    verb: 'retrieve',
    summary: (name) => `Retrieve ${article(name)} ${name}`,
    description: 'Returns the record with this key.',
    status: 200,
    answer: 'The record.',
  },
  update: {
    verb: 'update',
    summary: (name) => `Replace ${article(name)} ${name}`,
    description: 'Sets every writable field.',
    status: 200,
    answer: 'The updated record.',
    body: 'replace',
  },
  partial_update: {
    verb: 'partialUpdate',
    summary: (name) => `Change ${article(name)} ${name}`,
    description: 'Sets the given fields (RFC 7396); the others keep their values.',
    status: 200,
    answer: 'The updated record.',
    body: 'update',
    mediaTypes: ['application/merge-patch+json'],
  },
  destroy: {
    verb: 'destroy',
    summary: (name) => `Delete ${article(name)} ${name}`,
    description: 'Deletes the record.',
    status: 204,
    answer: 'The record was deleted.',
  },
}

/** Describes a generated operation, without its identifier and tag. */
export function describeGenerated(subject: Subject, names: SchemaNames): JsonPart {
  const { resource } = subject
  const { summary, description, status, answer, body, mediaTypes = [] } = sayingOf(subject)
  const additions = FEATURES.map((feature) => feature(subject))
  const parameters = additions.flatMap((addition) => addition.parameters ?? [])
  const rejections = new Set(additions.flatMap((addition) => addition.rejections ?? []))
  const headers = subject.exports ? ['Content-Disposition'] : additions.flatMap((addition) => addition.headers ?? [])
  const isUnseen = !isReading(subject.operation) && showsNone(resource)
  const mayLackBody = !isUnseen && additions.some((addition) => addition.mayLackBody)
  const content = isUnseen ? undefined : answerSchema(subject, names)
  const rejected = rejecting(resource)
  return {
    summary: summary(resource.spec.name),
    description,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: bodyContent([JSON_TYPE, ...mediaTypes], reference('schemas', names.bodies[body])),
      },
    }),
    responses: {
      [isUnseen && status === 200 ? 204 : status]: {
        description:
          isUnseen && subject.operation !== 'destroy'
            ? UNSEEN
            : answer + (mayLackBody ? withoutBody('the record') : ''),
        headers: {
          ...headersNamed(...headers.filter((name) => !isUnseen || name !== 'ETag')),
          ...(mayLackBody && headers.includes('ETag') && { ETag: { ...HEADERS['ETag'], required: false } }),
        },
        ...(content && { content: { [subject.exports === 'csv' ? 'text/csv' : JSON_TYPE]: { schema: content } } }),
      },
      ...Object.assign({}, ...additions.map(({ answers }) => answers)),
      ...Object.fromEntries([...rejections].map((each) => [each, rejected(each)])),
      default: rejected('other'),
    },
  }
}

/** OpenAPI cannot declare that a response with one status has a body or none. */
export function withoutBody(unseen: string): string {
  return ` Without a body if the caller may not see ${unseen}.`
}

/** The texts for an operation in its resource's dialect. */
function sayingOf({ resource, operation, partial, exports }: Subject): Saying {
  const saying = SAYINGS[operation]
  if (exports) {
    const summary = (name: string) => `Download ${name} records as ${exports.toUpperCase()}`
    const description = `Returns all records that a list with these parameters has on its pages, in the same order, as of one point in time. A response that ends too early was cut off by a failure.`
    return { ...saying, summary, description, answer: 'All records.' }
  }
  if (partial) {
    const summary = (name: string) => `${saying.summary(name)}, in part`
    const partials = featureParameters(resource.spec, operation).filter((each) => each.partial)
    const names = partials.map(({ name }) => `\`${name}\``).join(' or ')
    return { ...saying, summary, description: `${saying.description} The response has only the members in ${names}.` }
  }
  const { dialect } = resource.spec
  if (operation === 'update' && dialect?.put === 'merge') {
    return { ...saying, description: SAYINGS.partial_update.description, body: 'update' }
  }
  if (operation === 'destroy' && dialect?.destroyed === 'record' && !showsNone(resource)) {
    return { ...saying, status: 200, answer: 'The record as it was.' }
  }
  return saying
}

/** The operation's identifier, and its name in generated clients: `listBook`, `destroyManyBook`, `retrievePartialBook`, `exportCsvBook`. */
export function operationName({ operation, bulk, partial, exports }: Generated, shown: string): string {
  if (exports) return `export${toPascal(exports)}${shown}`
  return `${SAYINGS[operation].verb}${bulk ? 'Many' : ''}${partial ? 'Partial' : ''}${shown}`
}

function bodyContent(mediaTypes: readonly string[], schema: JsonPart): JsonPart {
  return Object.fromEntries(mediaTypes.map((type) => [type, { schema }]))
}

function answerSchema({ resource, operation, partial, exports }: Subject, names: SchemaNames): JsonPart | undefined {
  if (exports === 'csv') return { type: 'string' }
  const { spec, selectable } = resource
  const isJoined = selectable && isReading(operation) && Object.keys(joinedMembers(spec)).length > 0
  const item = reference('schemas', partial ? names.partial : isJoined ? names.selected : names.shown)
  if (operation === 'destroy') return spec.dialect?.destroyed === 'record' ? item : undefined
  if (operation !== 'list') return item
  const items = { type: 'array', items: item }
  if (exports) return items
  if (spec.dialect) return describeDialect(spec)?.frame?.(items) ?? items
  const [wrap] = featureResponses(spec, { operation }).flatMap((parts) => parts.wrap ?? [])
  return wrap?.(items) ?? items
}
