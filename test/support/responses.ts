import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { type App, renderOpenApi, resourceAt, type Route } from '../../src/internal.js'
import { SECURITY_HEADERS } from '../../src/http/server/replies/headers.js'
import { UNDECLARED } from '../../src/openapi/responses.js'
import { UNREADABLE } from '../../src/openapi/hand-written.js'
import { rememberByText } from '../../src/foundation/remember.js'

/** The responses of one server, compared with its OpenAPI document. */
export interface Comparison {
  /** Differences between responses and the document. */
  readonly errors: readonly string[]
  /** Observed responses, such as `GET /api/books/ 200`. */
  readonly answered: ReadonlySet<string>
  /** All responses that the document declares, in the same form. */
  readonly declared: () => readonly string[]
}

interface Response {
  readonly $ref?: string
  readonly description?: string
  readonly headers?: Readonly<Record<string, { readonly $ref?: string; readonly required?: boolean }>>
  readonly content?: Readonly<Record<string, object>>
}

interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Response>> }>>>
  >
}

interface Sent {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  /** Undefined for HEAD and for long bodies. */
  readonly body: string | undefined
}

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = { br: brotliDecompressSync, gzip: gunzipSync }
const MAX_BODY_BYTES = 256 * 1024
/** Headers that no document mentions: those of every response, those for browsers, and those of HTTP libraries. */
const AMBIENT: ReadonlySet<string> = new Set([
  ...['vary', 'access-control-allow-origin', 'access-control-allow-credentials', 'access-control-expose-headers'],
  ...SECURITY_HEADERS.map((name) => name.toLowerCase()),
  ...['content-type', 'content-length', 'connection', 'keep-alive', 'transfer-encoding', 'content-encoding', 'date'],
])

/**
 * Compares every response of described routes with the OpenAPI document: status, headers, media type and body. Routes without a description are
 * ignored.
 */
export function compareResponses(server: Server, app: App): Comparison {
  const errors: string[] = []
  const answered = new Set<string>()
  let made: Comparer | undefined
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '')
    const match = app.routes.match(method, (request.url ?? '').split('?', 1)[0] ?? '')
    if (!match || !('route' in match) || !isDescribed(match.route)) return
    const { path } = match.route
    const isArray = watchBody(request)
    const asked = new URL(request.url ?? '', 'http://any').searchParams
    const isPart = asked.has('fields') || asked.has('distinct')
    listenTo(response, request.method === 'HEAD', (sent) => {
      made ??= comparerOf(renderOpenApi(app, '3.1'))
      answered.add(`${method} ${path} ${sent.status}`)
      errors.push(
        ...made
          .compare(method, path, { ...sent, isOfArray: isArray(), isPart })
          .map((error) => `${method} ${request.url} ${sent.status}: ${error}`),
      )
    })
  })
  return { errors, answered, declared: () => (made ??= comparerOf(renderOpenApi(app, '3.1'))).declared }
}

/** The response of a replacement depends on its code. */
const isDescribed = (route: Route): boolean => (route.operation ?? route.action ?? resourceAt(route)) !== undefined

interface Comparer {
  readonly declared: readonly string[]
  compare(
    method: string,
    path: string,
    sent: Sent & { readonly isOfArray: boolean; readonly isPart: boolean },
  ): readonly string[]
}

/** Compiling the schemas of a document takes longer than most tests, and many tests of a file serve the same resources. */
const comparerOf = rememberByText(20, createComparer)

function createComparer(text: string): Comparer {
  const document = JSON.parse(text) as Document
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  ajv.addSchema(document, 'document')
  const validators = new Map<string, ValidateFunction>()
  const validatorAt = (pointer: string): ValidateFunction => {
    const validate = validators.get(pointer) ?? ajv.compile({ $ref: `document${pointer}` })
    validators.set(pointer, validate)
    return validate
  }
  const follow = <Part extends { readonly $ref?: string }>(part: Part, pointer: string): [Part, string] =>
    part.$ref === undefined ? [part, pointer] : [valueAt(document, part.$ref) as Part, part.$ref]

  return {
    declared: Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { responses }]) =>
        Object.entries(responses)
          // A malformed request is rejected before its route is known.
          .filter(([status, { description }]) => status !== 'default' && description !== UNREADABLE)
          .map(([status]) => `${method.toUpperCase()} ${path} ${status}`),
      ),
    ),
    compare(method, path, { status, headers, body, isOfArray, isPart }) {
      // Bulk and partial requests are described by routes of their own.
      const apart = isOfArray && method === 'POST' ? ['bulk/'] : isPart && method === 'GET' ? ['partial/'] : []
      const own = [...apart.map((each) => path + each), path]
      const places = own.flatMap((each) => [each, each.slice(0, -1)])
      const described = places.find((each) => each in document.paths) ?? path
      const { responses = {} } = document.paths[described]?.[method.toLowerCase()] ?? {}
      const isAny = responses['default']?.$ref !== '#/components/responses/AnyOther'
      const keys = [String(status), ...(isAny || UNDECLARED.includes(status) ? ['default'] : [])]
      const key = keys.find((name) => name in responses)
      if (key === undefined || responses[key] === undefined) return ['the status is not declared']
      const place = `#/paths/${escape(described)}/${method.toLowerCase()}/responses/${key}`
      const [response, pointer] = follow(responses[key], place)
      const headersOf = Object.entries(response.headers ?? {}).map(([name, header]) => {
        const [{ required = false }] = follow(header, '')
        return { name: name.toLowerCase(), required }
      })
      const names = headersOf.map(({ name }) => name)
      const errors = [
        ...headersOf.filter(({ name, required }) => required && !headers.has(name)).map(({ name }) => `no ${name}`),
        ...[...headers.keys()]
          .filter((name) => !AMBIENT.has(name) && !names.includes(name))
          .map((name) => `${name} is not declared`),
      ]
      if (body === undefined) return errors
      const [type = ''] = (headers.get('content-type') ?? '').split(';')
      if (body === '' && response.description?.includes('Without a body if')) return errors
      if (response.content === undefined) return body === '' ? errors : [...errors, 'a body is not declared']
      if (!(type in response.content)) return [...errors, `the media type ${type} is not declared`]
      const validate = validatorAt(`${pointer}/content/${escape(type)}/schema`)
      const value: unknown = type.endsWith('json') ? JSON.parse(body) : body
      return validate(value) ? errors : [...errors, ajv.errorsText(validate.errors), body.slice(0, 500)]
    },
  }
}

const escape = (name: string): string => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))

function valueAt(document: unknown, pointer: string): unknown {
  const names = pointer.slice(2).split('/')
  return names.reduce<unknown>((part, name) => (part as Readonly<Record<string, unknown>>)[name], document)
}

/** @returns whether the body of a request is an array, as far as it was read */
function watchBody(request: IncomingMessage): () => boolean {
  const emit = request.emit.bind(request) as (name: string, ...given: readonly unknown[]) => boolean
  let first: string | undefined
  Object.assign(request, {
    emit(name: string, ...given: readonly unknown[]) {
      if (name === 'data') first ??= String(given[0]).trimStart().at(0)
      return emit(name, ...given)
    },
  })
  return () => first === '['
}

/** Reports a response once it is complete; a truncated one is ignored. */
function listenTo(response: ServerResponse, isBodyless: boolean, tell: (sent: Sent) => void): void {
  const headers = new Map<string, string>()
  const chunks: Buffer[] = []
  let size = 0
  const keep = (chunk: unknown) => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return
    const bytes = Buffer.from(chunk as string)
    size += bytes.length
    if (size <= MAX_BODY_BYTES) chunks.push(bytes)
  }
  let isTold = false
  const finish = () => {
    if (isTold) return
    isTold = true
    const decode = DECODERS[headers.get('content-encoding') ?? ''] ?? ((bytes: Buffer) => bytes)
    const body = isBodyless || size > MAX_BODY_BYTES ? undefined : decode(Buffer.concat(chunks)).toString()
    tell({ status: response.statusCode, headers, body })
  }
  const { writeHead, write, end } = response
  Object.assign(response, {
    writeHead(status: number, given: readonly string[]) {
      for (let at = 0; at < given.length; at += 2) headers.set((given[at] ?? '').toLowerCase(), given[at + 1] ?? '')
      return writeHead.call(response, status, [...given])
    },
    write(...args: readonly unknown[]) {
      keep(args[0])
      // The response to a body that is too long is complete before it is finished, because the rest of the body is read.
      if (size === Number(headers.get('content-length'))) finish()
      return Reflect.apply(write, response, args) as boolean
    },
    end(...args: readonly unknown[]) {
      keep(args[0])
      return Reflect.apply(end, response, args) as ServerResponse
    },
  })
  response.on('finish', finish)
}
