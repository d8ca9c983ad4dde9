import type { OperationDescription, ResponseDescription, ValueDescription } from '../http/operation-description.js'
import type { Route } from '../http/route.js'
import type { JsonSchema } from '../json.js'
import { type Part, reference } from './json-part.js'
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
  // A parameter is given by clients, whatever the field that its schema is that of.
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
 * A hand-written route, without its identifier and tag. `rendered` is the shape of problems there, where they have one of their own. Statuses are
 * named one by one: some generators make code of a range such as `4XX` that does not compile.
 */
export function describeWritten(route: Route, rendered: JsonSchema | undefined): Part {
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
      ...(!isRefused(responses) && { 400: problemOf(UNREADABLE, rendered) }),
      ...(operation ? answers(responses, rendered) : { 200: ANYTHING }),
      default: operation ? otherwise(isComplete, rendered) : anythingElse(rendered),
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

function answers(responses: OperationDescription['responses'], rendered: JsonSchema | undefined): Part {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [status, answer(Number(status), response, rendered)]),
  )
}

function answer(status: number, response: ResponseDescription, rendered: JsonSchema | undefined): Part {
  const { description, schema, example, headers = {} } = response
  if (schema === undefined && status >= 400) {
    return { ...problemOf(description, rendered), headers: rendered ? headersNamed() : headersOfRefusal(status) }
  }
  return {
    description,
    headers: { ...headers, ...headersNamed() },
    ...(schema && { content: { 'application/json': media(schema, example) } }),
  }
}

/** What is not named by its status: only what any request can end in, where the author names every refusal. */
function otherwise(isComplete: boolean, rendered: JsonSchema | undefined): Part {
  if (rendered) return problemOf('Any other problem.', rendered)
  return reference('responses', isComplete ? 'AnyOther' : 'AnyProblem')
}

/** What nobody has described can answer anything. */
const ANYTHING: Part = {
  description: 'What the route answers.',
  headers: headersNamed(),
  content: { 'application/json': { schema: {} } },
}

function anythingElse(rendered: JsonSchema | undefined): Part {
  const problems = rendered ? renderedProblem(rendered) : problemContent(undefined)
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
function problemOf(description: string, rendered: JsonSchema | undefined): Part {
  const content = rendered ? renderedProblem(rendered) : problemContent(undefined)
  return { description, headers: headersNamed(), content }
}
