import type { OperationDescription, ResponseDescription, ValueDescription } from 'snippetctl'

const RECORD = '#/components/schemas/Snippet/properties'

const SNIPPET = {
  type: 'object',
  properties: {
    id: { $ref: `${RECORD}/id` },
    title: { $ref: `${RECORD}/title` },
    code: { $ref: `${RECORD}/code` },
    language: { $ref: `${RECORD}/language` },
    highlighted: { type: 'string', description: 'The code as HTML, with classes of highlight.js.' },
  },
  required: ['id', 'title', 'code', 'language', 'highlighted'],
}

const TAKEN = '#/components/schemas/SnippetCreate/properties'

/** Other members of a snippet are ignored, so that clients can send back what they read. */
const INPUT = {
  type: 'object',
  properties: {
    title: { $ref: `${TAKEN}/title` },
    code: { $ref: `${TAKEN}/code` },
    language: { $ref: `${TAKEN}/language` },
  },
  required: ['title', 'code', 'language'],
  propertyNames: { enum: ['title', 'code', 'language', 'id', 'created_at', 'highlighted'] },
}

const EXAMPLE = {
  id: 1,
  title: 'Greeting',
  code: 'print("hi")',
  language: 'python',
  highlighted: '<span class="hljs-built_in">print</span>(<span class="hljs-string">&quot;hi&quot;</span>)',
}

function object(properties: Readonly<Record<string, object>>) {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties),
  }
}

/** The body of every error response. */
export const REJECTED = {
  type: 'object',
  properties: {
    error: { type: 'string' },
    errors: {
      type: 'object',
      description: 'The error of each field.',
      additionalProperties: { type: 'string' },
    },
  },
  required: ['error'],
}

function rejected(description: string, error: string): ResponseDescription {
  return {
    description,
    schema: REJECTED,
    example: { error },
  }
}

/** A successful write: a message and the snippet. */
function done(description: string, message: string): ResponseDescription {
  return {
    description,
    schema: object({ message: { type: 'string' }, snippet: SNIPPET }),
    example: { message, snippet: EXAMPLE },
  }
}

const NOT_FOUND = rejected('The snippet does not exist.', 'Snippet not found')
const INVALID = rejected('The body does not fit.', 'Title is required')
const TOO_LARGE = rejected('The body is too large.', 'the body must be at most 1048576 bytes')

const RETRY: ValueDescription = {
  description: 'Seconds after which it is worth another try.',
  schema: { type: 'integer', minimum: 0 },
}
const UNAVAILABLE = {
  ...rejected('The database is not there.', 'Service unavailable'),
  headers: { 'Retry-After': RETRY },
}

const params = {
  id: { description: 'The id of the snippet.', schema: { $ref: `${RECORD}/id` } },
}

/** The descriptions of the hand-written routes in the OpenAPI document. */
export const OPERATIONS = {
  list: {
    summary: 'List all snippets',
    description: 'Every snippet with its highlighted code, in the order of the ids.',
    responses: {
      200: {
        description: 'All snippets.',
        schema: object({ snippets: { type: 'array', items: SNIPPET } }),
        example: { snippets: [EXAMPLE] },
      },
      503: UNAVAILABLE,
    },
  },
  create: {
    summary: 'Create a snippet',
    body: { schema: INPUT },
    responses: {
      201: done('The new snippet.', 'Snippet created'),
      400: INVALID,
      413: TOO_LARGE,
      503: UNAVAILABLE,
    },
  },
  config: {
    summary: 'Read the configuration',
    responses: {
      200: {
        description: 'The settings that clients may know.',
        schema: object({ max_page_size: { type: 'integer', minimum: 1 } }),
        example: { max_page_size: 50 },
      },
      503: rejected('The setting is 0.', 'max_page_size must be positive'),
    },
  },
  retrieve: {
    summary: 'Retrieve a snippet',
    params,
    responses: {
      200: { description: 'The snippet.', schema: object({ snippet: SNIPPET }), example: { snippet: EXAMPLE } },
      404: NOT_FOUND,
      503: UNAVAILABLE,
    },
  },
  update: {
    summary: 'Replace a snippet',
    params,
    body: { schema: INPUT },
    responses: {
      200: done('The snippet as it is now.', 'Snippet updated'),
      404: NOT_FOUND,
      413: TOO_LARGE,
      422: INVALID,
      503: UNAVAILABLE,
    },
  },
  destroy: {
    summary: 'Delete a snippet',
    params,
    responses: { 204: { description: 'The snippet was deleted.' }, 404: NOT_FOUND, 503: UNAVAILABLE },
  },
} as const satisfies Readonly<Record<string, OperationDescription>>
