import type { FieldSpec } from '../config/spec.js'
import { fail } from '../foundation/fail.js'
import type { ActionDescription } from '../http/registrations/action-description.js'
import type { OperationDescription, ResponseDescription } from '../http/operation-description.js'
import { mayBeView } from '../http/operations/request.js'
import type { Route } from '../http/route.js'
import { featureResponses } from '../features/index.js'
import type { JsonSchema } from '../foundation/json.js'
import { PROBLEMS, type ProblemType } from '../foundation/problem.js'
import type { FieldSchemas } from './field-schema.js'
import { describeKey } from './features.js'
import { reference } from './json-part.js'
import { HEADERS } from './responses.js'
import { isNeeded } from './resource-schemas.js'

/**
 * Describes an action: its input and output, and the errors reported before its code runs.
 * @param shown the name of the schema of the resource's records
 */
export function describeAction(
  { method, source }: Pick<Route, 'method' | 'source'>,
  { resource, on, summary, input = [], output }: ActionDescription,
  schemas: FieldSchemas,
  shown: string,
): OperationDescription {
  const { name } = resource.spec
  const isAsked = method === 'GET'
  const parts = method === 'POST' ? featureResponses(resource.spec, { operation: 'action' }) : []
  const hasBody = !isAsked && input.length > 0
  const needed = input.filter((field) => isNeeded(field, 'create')).map((field) => field.name)
  const taken = (field: FieldSpec) => schemas.taken(field, false)
  const query = input.map((field) => {
    const { description = field.label, ...schema } = taken(field)
    return [field.name, { description: String(description), schema, required: needed.includes(field.name) }] as const
  })
  const headers: Required<OperationDescription>['headers'] = Object.assign(
    {},
    ...parts.map((each) => each.requestHeaders),
  )
  const done = answers(output, schemas, shown)
  const unseen = output === 'record' && (resource.access || mayBeView(resource)) ? UNSEEN : {}
  return {
    summary,
    description: `Implemented by ${source.replace('plugin ', '')}.`,
    tag: name,
    ...(on === 'record' && { params: describeKey(resource.spec, schemas) }),
    ...(isAsked && { query: Object.fromEntries(query) }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(hasBody && { body: { schema: objectOf(input, taken, needed) } }),
    responses: {
      ...withHeaders(
        { ...done, ...unseen },
        parts.flatMap((each) => each.headers ?? []),
      ),
      ...rejections([
        ...(isAsked && input.length === 0 ? [] : (['validation'] as const)),
        // If no body is declared, any body is rejected.
        ...(isAsked ? [] : (['body_too_large', 'unsupported_media_type'] as const)),
        ...(on === 'record' ? (['not_found'] as const) : []),
        ...parts.flatMap(({ problems = [] }) => problems),
        'unavailable',
      ]),
    },
  }
}

const UNSEEN = { 204: { description: 'The action succeeded; the record cannot be seen afterwards.' } }

type Answers = Readonly<Record<number, ResponseDescription>>

/** Responses that may have these headers. */
function withHeaders(answers: Answers, names: readonly string[]): Answers {
  if (names.length === 0) return answers
  const headers = Object.fromEntries(names.map((name) => [name, HEADERS[name] ?? fail(`no header is named ${name}`)]))
  return Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, { ...answer, headers }]))
}

function answers(
  output: ActionDescription['output'],
  schemas: FieldSchemas,
  shown: string,
): Readonly<Record<number, ResponseDescription>> {
  if (output === undefined) return { 204: { description: 'The action succeeded.' } }
  if (output === 'record') {
    return { 200: { description: 'The updated record.', schema: reference('schemas', shown) } }
  }
  const names = output.map((field) => field.name)
  const schema = objectOf(output, (field) => schemas.shown(field, false), names)
  return { 200: { description: 'The result of the action.', schema } }
}

function rejections(types: readonly ProblemType[]): Readonly<Record<number, ResponseDescription>> {
  return Object.fromEntries(
    types.map((type) => [PROBLEMS[type].status, { description: `${PROBLEMS[type].title}.` }] as const),
  )
}

function objectOf(
  fields: readonly FieldSpec[],
  schemaOf: (field: FieldSpec) => JsonSchema,
  required: readonly string[],
): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, schemaOf(field)])),
    ...(required.length > 0 && { required: [...required] }),
    additionalProperties: false,
  }
}
