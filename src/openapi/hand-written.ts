import type { OperationDescription, ResponseDescription, ValueDescription } from '../http/operation-description.js'
import type { Route } from '../http/route.js'
import type { JsonSchema } from '../foundation/json.js'
import { type JsonPart, reference } from './json-part.js'
import { headersNamed, headersOfRejection, problemContent, renderedProblem } from './responses.js'

const TEXT: ValueDescription = { description: '', schema: { type: 'string' } }

/** For a route without a description. */
const UNKNOWN: OperationDescription['responses'] = {}

/** Any request may be malformed; this describes routes that list no other error. */
export const UNREADABLE = 'A malformed request.'

/** Returns the description with every schema mapped. */
export function mapSchemas(
  described: OperationDescription,
  change: (schema: JsonSchema) => JsonSchema,
): OperationDescription {
  const changeOne = <Described extends { readonly schema?: JsonSchema }>(value: Described): Described =>
    value.schema === undefined ? value : { ...value, schema: change(value.schema) }
  // Clients send parameters, even if the schema is of a read-only field.
  const changeGiven = ({ schema, ...value }: ValueDescription): ValueDescription => {
    const { readOnly: _, ...given } = change(schema)
    return { ...value, schema: given }
  }
  const changeParams = (values: NonNullable<OperationDescription['params']>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, changeGiven(value)]))
  const changeAll = <Described extends { readonly schema?: JsonSchema }>(values: Readonly<Record<string, Described>>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, changeOne(value)]))
  const { params, query, headers, body, responses } = described
  const answers = Object.entries(changeAll<ResponseDescription>(responses)).map(([status, response]) => [
    status,
    { ...response, ...(response.headers && { headers: changeAll(response.headers) }) },
  ])
  return {
    ...described,
    ...(params && { params: changeParams(params) }),
    ...(query && { query: changeAll(query) }),
    ...(headers && { headers: changeAll(headers) }),
    ...(body && { body: changeOne(body) }),
    responses: Object.fromEntries(answers) as OperationDescription['responses'],
  }
}

/**
 * Describes a hand-written route, without its identifier and tag. `rendered` is the schema of problems, if they are not problem documents. Statuses
 * are listed one by one, because some generators produce code that does not compile for ranges such as `4XX`.
 */
export function describeWritten(route: Route, rendered: JsonSchema | undefined): JsonPart {
  const { operation, name, source, path, action } = route
  const { params = {}, query = {}, headers = {}, body, responses = UNKNOWN } = operation ?? {}
  const isComplete = !action && isRejected(responses)
  const parameters = [
    ...[...path.matchAll(/\{([A-Za-z][A-Za-z0-9_]*)\}/g)].map(([, parameter = '']) => ({
      ...value(parameter, 'path', { ...TEXT, description: `A part of the path: ${parameter}.`, ...params[parameter] }),
      required: true,
    })),
    ...Object.entries(query).map(([parameter, described]) => ({
      ...value(parameter, 'query', described),
      ...(action && isList(described) && { style: 'form', explode: false }),
    })),
    ...Object.entries(headers).map(([header, described]) => value(header, 'header', described)),
  ]
  return {
    summary: operation?.summary ?? name,
    description: operation?.description ?? `Written by hand: ${source.replace('plugin ', '')}.`,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: Object.fromEntries(
          (body.mediaTypes ?? ['application/json']).map((type) => [type, media(body.schema, body.example)]),
        ),
      },
    }),
    responses: {
      ...(!isRejected(responses) && { 400: problemOf(UNREADABLE, rendered) }),
      ...(operation ? answers(responses, rendered) : { 200: ANYTHING }),
      default: operation ? otherwise(isComplete, rendered) : anythingElse(rendered),
    },
  }
}

function value(
  name: string,
  place: 'path' | 'query' | 'header',
  { description, schema, required }: ValueDescription,
): JsonPart {
  return { name, in: place, description, ...(required && { required }), schema }
}

function isList({ schema }: ValueDescription): boolean {
  return [schema['type']].flat().includes('array')
}

function media(schema: JsonPart, example: unknown): JsonPart {
  return { schema, ...(example !== undefined && { example }) }
}

function answers(responses: OperationDescription['responses'], rendered: JsonSchema | undefined): JsonPart {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [status, answer(Number(status), response, rendered)]),
  )
}

function answer(status: number, response: ResponseDescription, rendered: JsonSchema | undefined): JsonPart {
  const { description, schema, example, headers = {} } = response
  if (schema === undefined && status >= 400) {
    return { ...problemOf(description, rendered), headers: rendered ? headersNamed() : headersOfRejection(status) }
  }
  return {
    description,
    headers: { ...headers, ...headersNamed() },
    ...(schema && { content: { 'application/json': media(schema, example) } }),
  }
}

/** The response for all other statuses: if the author lists every error, only what can happen to any request. */
function otherwise(isComplete: boolean, rendered: JsonSchema | undefined): JsonPart {
  if (rendered) return problemOf('Any other problem.', rendered)
  return reference('responses', isComplete ? 'AnyOther' : 'AnyProblem')
}

/** A route without a description may return anything. */
const ANYTHING: JsonPart = {
  description: 'A response of the route.',
  headers: headersNamed(),
  content: { 'application/json': { schema: {} } },
}

function anythingElse(rendered: JsonSchema | undefined): JsonPart {
  const problems = rendered ? renderedProblem(rendered) : problemContent(undefined)
  return {
    ...ANYTHING,
    description: 'Any other response of the route, and any problem.',
    content: { ...problems, ...(ANYTHING['content'] as JsonPart) },
  }
}

function isRejected(responses: OperationDescription['responses']): boolean {
  return Object.keys(responses).some((status) => status.startsWith('4'))
}

/** An error with an unknown cause. */
function problemOf(description: string, rendered: JsonSchema | undefined): JsonPart {
  const content = rendered ? renderedProblem(rendered) : problemContent(undefined)
  return { description, headers: headersNamed(), content }
}
