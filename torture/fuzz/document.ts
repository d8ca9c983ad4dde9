import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { SECURITY_HEADERS } from '../../src/http/server/replies/headers.js'
import { UNDECLARED } from '../../src/openapi/responses.js'
import type { Schema, Schemas } from './schemas.js'

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly explode?: boolean
  readonly schema: Schema
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>

interface Response {
  readonly $ref?: string
  readonly headers?: Readonly<Record<string, Schema>>
  readonly content?: Content
}

/** One method on one path of a served document. */
export interface Operation {
  readonly method: string
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly body: { readonly mediaTypes: readonly string[]; readonly schema: Schema } | undefined
  readonly responses: Readonly<Record<string, Response>>
}

/** A response as received. */
export interface Told {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** A served document, as something to ask about. */
export interface Described extends Schemas {
  readonly operations: readonly Operation[]
  /** Returns the differences between a response and the document. */
  faultsOf(operation: Operation, answer: Told): readonly string[]
}

/** Headers that are not about the resource; documents omit them. */
const AMBIENT: ReadonlySet<string> = new Set([
  ...SECURITY_HEADERS.map((name) => name.toLowerCase()),
  ...['vary', 'content-type', 'content-length', 'connection', 'keep-alive', 'transfer-encoding', 'date'],
])

/** Reads a document in OpenAPI 3.1. */
export function readDocument(document: Schema): Described {
  const ajv = createAjv()
  ajv.addSchema(document, 'document')
  const validators = new WeakMap<Schema, ValidateFunction>()
  const validatorOf = (schema: Schema): ValidateFunction =>
    ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components')) as Schema)
  const isValid = (schema: Schema, value: unknown): boolean => {
    const validate = validators.get(schema) ?? validatorOf(schema)
    validators.set(schema, validate)
    return validate(value)
  }
  const follow = <Part extends { readonly $ref?: string }>(part: Part): Part =>
    part.$ref === undefined ? part : (at(document, part.$ref) as Part)
  const resolve = (schema: Schema) => follow(schema as Schema & { readonly $ref?: string })
  return { operations: operationsOf(document), resolve, isValid, faultsOf }

  function faultsOf({ responses }: Operation, { status, headers, text }: Told): readonly string[] {
    const isOpen = responses['default']?.$ref !== '#/components/responses/AnyOther'
    const named = responses[status] ?? (isOpen || UNDECLARED.includes(status) ? responses['default'] : undefined)
    if (named === undefined) return [`the status ${status} is not declared`]
    const { headers: declared = {}, content } = follow(named)
    const missing = Object.entries(declared).filter(
      ([name, header]) => resolve(header)['required'] && !headers.has(name),
    )
    const wrong = Object.entries(declared).filter(([name, header]) => !fits(resolve(header), headers.get(name)))
    const known = new Set(Object.keys(declared).map((name) => name.toLowerCase()))
    const unknown = [...headers.keys()].filter((name) => !known.has(name) && !AMBIENT.has(name))
    return [
      ...missing.map(([name]) => `${name} is missing`),
      ...wrong.map(([name]) => `${name} does not fit: ${headers.get(name)}`),
      ...unknown.map((name) => `${name} is not declared`),
      ...(content === undefined ? (text === '' ? [] : ['a body is not declared']) : faultsOfBody(content)),
    ]

    function faultsOfBody(content: Content): readonly string[] {
      const type = headers.get('content-type') ?? ''
      const media = content[type]
      if (!media) return [`the media type ${type} is not declared`]
      return isValid(media.schema, JSON.parse(text)) ? [] : [`the body does not fit: ${text.slice(0, 300)}`]
    }
  }

  /** A header is text, which may spell a number. */
  function fits(header: Schema, text: string | null): boolean {
    const schema = header['schema'] as Schema
    return text === null || isValid(schema, schema['type'] === 'integer' ? Number(text) : text)
  }
}

const FORMATS: Readonly<Record<string, RegExp | true>> = {
  date: /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
  uuid: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i,
  decimal: /^-?\d+(?:\.\d+)?$/,
  'uri-reference': /^\S+$/,
  int32: true,
  int64: true,
  double: true,
}

function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, formats: { ...FORMATS } })
  // Near enough for the bounds of tests.
  for (const [keyword, side] of [
    ['x-minimum', 1],
    ['x-maximum', -1],
  ] as const)
    ajv.addKeyword({
      keyword,
      type: 'string',
      validate: (bound: string, text: string) => (Number(text) - Number(bound)) * side >= 0,
    })
  return ajv
}

type Paths = Readonly<Record<string, Readonly<Record<string, Schema>>>>

function operationsOf(document: Schema): readonly Operation[] {
  return Object.entries(document['paths'] as Paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]): Operation => {
      const { content = {} } = (described['requestBody'] ?? {}) as { readonly content?: Content }
      const schema = Object.values(content)[0]?.schema
      return {
        method: method.toUpperCase(),
        path,
        parameters: (described['parameters'] ?? []) as readonly Parameter[],
        body: schema && { mediaTypes: Object.keys(content), schema },
        responses: described['responses'] as Operation['responses'],
      }
    }),
  )
}

function at(document: Schema, pointer: string): unknown {
  return pointer
    .slice(2)
    .split('/')
    .reduce<unknown>((part, name) => (part as Schema)[name], document)
}
