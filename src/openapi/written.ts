import type { OperationDescription, ResponseDescription, ValueDescription } from '../http/operation.js'
import type { Route } from '../http/route.js'
import { type Part, reference } from './part.js'
import { headersNamed, headersOfRefusal, problemContent, renderedProblem } from './responses.js'

const TEXT: ValueDescription = { description: '', schema: { type: 'string' } }

/** What is said of a route whose author says nothing. */
const UNKNOWN: OperationDescription['responses'] = {}

/** Every request can be one that cannot be read. */
const UNREADABLE = 'A request that cannot be read.'

/** A hand-written route, without its identifier and tag. `renders` says whether problems there have a shape of their own. */
export function describeWritten(route: Route, renders: boolean): Part {
  const { operation, name, source, path, action } = route
  const { params = {}, query = {}, headers = {}, body, responses = UNKNOWN } = operation ?? {}
  const unknown = action ? 'What its code refuses.' : isRefused(responses) ? undefined : UNREADABLE
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
      ...(operation ? answers(responses, renders) : anything(renders)),
      ...(operation && unknown !== undefined && { '4XX': problemOf(unknown, renders) }),
      default: renders ? problemOf('Any other problem.', true) : reference('responses', 'AnyOther'),
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

/** What nobody has described can answer anything. */
function anything(renders: boolean): Part {
  return {
    '2XX': {
      description: 'What the route answers.',
      headers: headersNamed(),
      content: { 'application/json': { schema: {} } },
    },
    '4XX': problemOf('What the route refuses.', renders),
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
