import type { OperationDescription, ResponseDescription, ValueDescription } from '../http/operation.js'
import type { Route } from '../http/route.js'
import type { JsonSchema } from '../json.js'
import { type Part, reference } from './part.js'
import { headersNamed, headersOfRefusal, problemContent, renderedProblem } from './responses.js'

const TEXT: ValueDescription = { description: '', schema: { type: 'string' } }

/** What is said of a route whose author says nothing. */
const UNKNOWN: OperationDescription['responses'] = {}

/** Every request can be one that cannot be read: that is said of a route which refuses nothing else. */
export const UNREADABLE = 'A request that cannot be read.'

/** The same description with every schema changed. */
export function mapSchemas(
  described: OperationDescription,
  change: (schema: JsonSchema) => JsonSchema,
): OperationDescription {
  const changeOne = <Described extends { readonly schema?: JsonSchema }>(value: Described): Described =>
    value.schema === undefined ? value : { ...value, schema: change(value.schema) }
  const changeAll = <Described extends { readonly schema?: JsonSchema }>(values: Readonly<Record<string, Described>>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, changeOne(value)]))
  const { params, query, headers, body, responses } = described
  const answers = Object.entries(changeAll<ResponseDescription>(responses)).map(([status, response]) => [
    status,
    { ...response, ...(response.headers && { headers: changeAll(response.headers) }) },
  ])
  return {
    ...described,
    ...(params && { params: changeAll(params) }),
    ...(query && { query: changeAll(query) }),
    ...(headers && { headers: changeAll(headers) }),
    ...(body && { body: changeOne(body) }),
    responses: Object.fromEntries(answers) as OperationDescription['responses'],
  }
}

/**
 * A hand-written route, without its identifier and tag. `renders` says whether problems there have a shape of their own. Statuses are
 * named one by one: some generators make code of a range such as `4XX` that does not compile.
 */
export function describeWritten(route: Route, renders: boolean): Part {
  const { operation, name, source, path, action } = route
  const { params = {}, query = {}, headers = {}, body, responses = UNKNOWN } = operation ?? {}
  const isComplete = !action && isRefused(responses)
  const parameters = [
    ...[...path.matchAll(/\{([a-z][a-z0-9_]*)\}/g)].map(([, parameter = '']) => ({
      ...value(parameter, 'path', { ...TEXT, description: `A part of the path: ${parameter}.`, ...params[parameter] }),
      required: true,
    })),
    ...Object.entries(query).map(([parameter, described]) => value(parameter, 'query', described)),
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
      ...(!isRefused(responses) && { 400: problemOf(UNREADABLE, renders) }),
      ...(operation ? answers(responses, renders) : { 200: ANYTHING }),
      default: operation ? otherwise(isComplete, renders) : anythingElse(renders),
    },
  }
}

function value(
  name: string,
  place: 'path' | 'query' | 'header',
  { description, schema, required }: ValueDescription,
): Part {
  return { name, in: place, description, ...(required && { required }), schema }
}

function media(schema: Part, example: unknown): Part {
  return { schema, ...(example !== undefined && { example }) }
}

function answers(responses: OperationDescription['responses'], renders: boolean): Part {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [status, answer(Number(status), response, renders)]),
  )
}

function answer(status: number, response: ResponseDescription, renders: boolean): Part {
  const { description, schema, example, headers = {} } = response
  if (schema === undefined && status >= 400) {
    return { ...problemOf(description, renders), headers: renders ? headersNamed() : headersOfRefusal(status) }
  }
  return {
    description,
    headers: { ...headers, ...headersNamed() },
    ...(schema && { content: { 'application/json': media(schema, example) } }),
  }
}

/** What is not named by its status: only what any request can end in, where the author names every refusal. */
function otherwise(isComplete: boolean, renders: boolean): Part {
  if (renders) return problemOf('Any other problem.', true)
  return reference('responses', isComplete ? 'AnyOther' : 'AnyProblem')
}

/** What nobody has described can answer anything. */
const ANYTHING: Part = {
  description: 'What the route answers.',
  headers: headersNamed(),
  content: { 'application/json': { schema: {} } },
}

function anythingElse(renders: boolean): Part {
  const problems = renders ? renderedProblem() : problemContent(undefined)
  return {
    ...ANYTHING,
    description: 'What else the route answers, and any problem.',
    content: { ...problems, ...(ANYTHING['content'] as Part) },
  }
}

function isRefused(responses: OperationDescription['responses']): boolean {
  return Object.keys(responses).some((status) => status.startsWith('4'))
}

/** A refusal of which no more is known than its shape. */
function problemOf(description: string, renders: boolean): Part {
  const content = renders ? renderedProblem() : problemContent(undefined)
  return { description, headers: headersNamed(), content }
}
