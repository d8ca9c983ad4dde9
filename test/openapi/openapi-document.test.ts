import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { PluginApp } from '../../src/index.js'
import { type App, loadApplication, OPENAPI_VERSIONS, renderOpenApi } from '../../src/internal.js'
import { type Api, SNIPPETS_FILE, startApi } from '../support/api.js'
import { BOOKS, makeProject, PLUGGED, runInHost } from '../support/cli.js'

interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: object }[]
  readonly responses: Readonly<Record<string, object>>
}

interface Document {
  readonly openapi: string
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly required?: readonly string[] }>>
    readonly responses?: Readonly<Record<string, { readonly description: string }>>
  }
}

const LIBRARY = resolve('test/applications/library.yaml')
const MARKET = resolve('test/applications/market.yaml')

const loading = new Map<string, Promise<App>>()

function load(file: string): Promise<App> {
  const app = loading.get(file) ?? loadAnew(file)
  loading.set(file, app)
  return app
}

async function loadAnew(file: string): Promise<App> {
  const loaded = await loadApplication({ file, env: {}, importModule: (path) => import(path) })
  if (!loaded.ok) throw new Error(`${file} is not in order`)
  return loaded.app
}

const documentOf = async (file: string, version: (typeof OPENAPI_VERSIONS)[number] = '3.1') =>
  JSON.parse(renderOpenApi(await load(file), version)) as Document

const operationsOf = ({ paths }: Document) => Object.values(paths).flatMap((path) => Object.values(path))

const referencesOf = (document: Document) =>
  [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, pointer = '']) => pointer)

/** What a pointer such as `#/components/schemas/Book/properties/id` leads to. */
const follow = (document: Document, pointer: string): unknown =>
  pointer
    .slice(2)
    .split('/')
    .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], document)

describe.each(
  OPENAPI_VERSIONS.flatMap((version) => [LIBRARY, MARKET, SNIPPETS_FILE].map((file) => ({ version, file }))),
)('the document of $file in OpenAPI $version', ({ version, file }) => {
  test('contains exactly the routes', async () => {
    const { paths } = await documentOf(file, version)
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const routes = [...(await load(file)).routes].map(({ method, path }) => `${method} ${path}`)
    const plain = (all: readonly string[]) => all.map((path) => path.replace(/(.)\/$/, '$1')).toSorted()
    expect(plain(described)).toEqual(plain(routes))
  })

  test('names each operation once, under an existing tag', async () => {
    const document = await documentOf(file, version)
    const ids = operationsOf(document).map(({ operationId }) => operationId)
    expect(ids).toEqual([...new Set(ids)])
    expect(ids.filter((id) => !/^[A-Za-z][A-Za-z0-9_]*$/.test(id))).toEqual([])
    const tags = document.tags.map(({ name }) => name)
    expect(tags).toEqual(expect.arrayContaining(operationsOf(document).flatMap((operation) => operation.tags)))
  })

  test('refers only to existing named components', async () => {
    const document = await documentOf(file, version)
    const pointers = referencesOf(document)
    expect(pointers.length).toBeGreaterThan(10)
    expect(pointers.filter((pointer) => !/^#\/components\/[a-z]+\/[A-Za-z0-9_-]+$/.test(pointer))).toEqual([])
    expect(pointers.filter((pointer) => follow(document, pointer) === undefined)).toEqual([])
  })

  test('lists every status, because some generators cannot read ranges', async () => {
    const statuses = operationsOf(await documentOf(file, version)).flatMap(({ responses }) => Object.keys(responses))
    expect(statuses.filter((status) => !/^(?:[2-5][0-9][0-9]|default)$/.test(status))).toEqual([])
  })
})

describe('a list’s parameters', () => {
  test('are those in the document', async () => {
    const app = await load(LIBRARY)
    const { paths } = await documentOf(LIBRARY)
    for (const { spec, parseList } of app.resources.filter((each) => each.spec.unknownQuery === 'refuse')) {
      const described = paths[spec.path]?.['get']?.parameters?.map(({ name }) => name) ?? []
      let taken = ''
      try {
        parseList('no_such_parameter=1')
      } catch (error) {
        taken = String(error).replace(/.*allowed are /, '')
      }
      expect(described.toSorted()).toEqual(taken.split(', ').toSorted())
    }
  })
})

test('the document names the types of problems, by which clients tell them apart', async () => {
  const { components } = await documentOf(LIBRARY)
  const described = components.responses ?? {}
  expect(described).toMatchObject({
    BadRequest: {
      description:
        'Malformed request (`/problems/malformed-request`); Malformed body (`/problems/malformed-body`); Validation failed (`/problems/validation`); Invalid query parameter (`/problems/invalid-query`).',
    },
    NotFound: { description: 'Not found (`/problems/not-found`).' },
  })
  const { type } = (components.schemas['Problem'] as { properties: { type: { description: string } } }).properties
  for (const each of ['validation', 'request-in-progress', 'timeout', 'outcome-unknown'])
    expect(type.description).toContain(`\`/problems/${each}\``)
})

describe('schemas', () => {
  test('describe each body, without private fields', async () => {
    const { components } = await documentOf(LIBRARY)
    const { Book, BookCreate, BookUpdate, BookPatch } = components.schemas
    expect(Object.keys(components.schemas)).toEqual(expect.arrayContaining(['Author', 'Shelf', 'Problem']))
    expect(BookCreate?.required).toEqual(['author', 'title'])
    expect(BookUpdate?.required).toHaveLength(9)
    expect(BookPatch?.required).toBeUndefined()
    expect(Book).toMatchObject({
      required: expect.arrayContaining(['url', 'id', 'isbn', 'created_at']),
      properties: {
        id: { type: 'integer', format: 'int64', readOnly: true },
        author: { type: 'string', format: 'uri-reference' },
        isbn: { type: ['string', 'null'], pattern: '^[0-9]{13}$' },
        price: { type: 'string', format: 'decimal', examples: ['12.50'] },
        state: { type: 'string', enum: ['draft', 'published'] },
        created_at: { type: 'string', format: 'date-time', readOnly: true },
      },
    })
    expect(BookCreate).toMatchObject({
      propertyNames: { enum: expect.arrayContaining(['title', 'url', 'id', 'created_at']) },
      properties: {
        author: {
          anyOf: [
            { type: 'integer', format: 'int64' },
            { type: 'string', format: 'uri-reference' },
          ],
        },
        owner: { anyOf: [expect.anything(), expect.anything(), { type: 'null' }] },
        title: { type: 'string', minLength: 1, maxLength: 100 },
        price: { default: '9.90' },
        access_code: { writeOnly: true },
      },
    })
    expect(Object.keys((Book as { properties: object }).properties)).not.toContain('access_code')
    expect(JSON.stringify(components)).not.toMatch(/shelf_mark|remark/)
  })

  test('match their own examples and defaults', async () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    const validated: unknown[] = []
    const validateExamples = (part: unknown): void => {
      if (typeof part !== 'object' || part === null) return
      const { examples, default: standard } = part as { examples?: unknown[]; default?: unknown }
      const values = [...(Array.isArray(examples) ? examples : []), ...(standard === undefined ? [] : [standard])]
      if ('type' in part && values.length > 0 && typeof part.type !== 'object') {
        validated.push(...values)
        for (const value of values) expect([part, ajv.validate(part, value)]).toEqual([part, true])
      }
      Object.values(part).forEach(validateExamples)
    }
    validateExamples((await documentOf(LIBRARY)).components)
    expect(validated.length).toBeGreaterThan(20)
  })

  test('contain no 3.1 keywords in the 3.0 document', async () => {
    const document = await documentOf(LIBRARY, '3.0')
    const text = JSON.stringify(document)
    expect(document.openapi).toBe('3.0.3')
    expect(text).not.toMatch(/"type":\[|"type":"null"|"examples":\[|"identifier":|"const":/)
    expect(document.components.schemas['Book']).toMatchObject({
      properties: { isbn: { type: 'string', nullable: true }, price: { example: '12.50' } },
    })
  })

  test('give nullable items of a list one schema in the 3.0 document', async () => {
    const project = await makeProject({
      'resources.yaml': BOOKS.replace(
        'title: {',
        'tags: { type: array, items: { type: text, nullable: true } }\n      title: {',
      ),
    })
    try {
      const itemsIn = async (version: (typeof OPENAPI_VERSIONS)[number]) => {
        const { components } = await documentOf(resolve(project.folder, 'resources.yaml'), version)
        return components.schemas['Book']
      }
      expect(await itemsIn('3.1')).toMatchObject({
        properties: { tags: { items: { anyOf: [{ type: 'string' }, { type: 'null' }] } } },
      })
      expect(await itemsIn('3.0')).toMatchObject({
        properties: { tags: { items: { type: 'string', nullable: true } } },
      })
    } finally {
      await project.remove()
    }
  })
})

describe('a hand-written route', () => {
  async function documentWith(
    plugin: (app: PluginApp) => void,
    version: (typeof OPENAPI_VERSIONS)[number] = '3.1',
  ): Promise<Document> {
    const project = await makeProject({ 'resources.yaml': PLUGGED, 'plugin.mjs': '' })
    const file = resolve(project.folder, 'resources.yaml')
    const loaded = await loadApplication({ file, env: {}, importModule: async () => ({ default: plugin }) })
    await project.remove()
    if (!loaded.ok) throw new Error(loaded.diagnostics.map(({ message }) => message).join())
    return JSON.parse(renderOpenApi(loaded.app, version)) as Document
  }
  const handle = () => ({ status: 200, body: {} })

  test('shares its path with routes whose parameters have other names: they get the names of the first one', async () => {
    const { paths } = await documentWith((app) => {
      app.route('GET', '/pairs/{a}/of/{b}/', 'pair', handle)
      app.route('PUT', '/pairs/{b}/of/{a}/', 'pair-of', handle, {
        summary: 'Set a pair',
        params: { b: { description: 'The first.', schema: { type: 'integer' } } },
        responses: { 200: { description: 'The pair.' } },
      })
      app.route('DELETE', '/pairs/{x}/of/{y}/', 'pair-end', handle)
    })
    const found = Object.entries(paths).filter(([path]) => path.includes('/pairs/'))
    expect(found.map(([path]) => path.slice(path.indexOf('/pairs/')))).toEqual(['/pairs/{a}/of/{b}/'])
    const parametersOf = (method: string) => found[0]?.[1]?.[method]?.parameters?.map(({ name }) => name)
    expect([parametersOf('get'), parametersOf('put'), parametersOf('delete')]).toEqual(Array(3).fill(['a', 'b']))
  })

  test('may respond with a record or null, also in the 3.0 document', async () => {
    const record = { $ref: '#/components/schemas/Book' }
    const plugin = (app: PluginApp) =>
      app.route('GET', '/newest/', 'book-newest', handle, {
        summary: 'Get the newest book',
        responses: { 200: { description: 'A book.', schema: { anyOf: [record, { type: 'null' }] } } },
      })
    const { paths } = await documentWith(plugin, '3.0')
    const [operation] = Object.entries(paths).flatMap(([path, { get }]) => (path.endsWith('/newest/') ? [get] : []))
    expect(operation?.responses['200']).toMatchObject({
      content: { 'application/json': { schema: { anyOf: [record, { nullable: true }] } } },
    })
  })

  test('has no 3.1 keywords in the default response of the 3.0 document', async () => {
    const { paths } = await documentWith((app) => {
      const render = () => ({ contentType: 'application/json', body: '{}' })
      const field = { type: ['string', 'null'] }
      app.problems('/legacy/', render, { type: 'object', properties: { field, kind: { const: 'x' } } })
      app.route('GET', '/legacy/it/', 'legacy', handle, {
        summary: 'Get it',
        responses: { 200: { description: 'It.' } },
      })
    }, '3.0')
    const { responses = {} } = paths['/api/legacy/it/']?.get ?? {}
    expect(JSON.stringify(responses['default'])).toContain('"field":{"type":"string","nullable":true}')
    expect(JSON.stringify(responses['default'])).toContain('"kind":{"enum":["x"]}')
  })

  test.each([
    { schema: { exclusiveMinimum: 0 }, converted: { minimum: 0, exclusiveMinimum: true } },
    { schema: { exclusiveMaximum: 9 }, converted: { maximum: 9, exclusiveMaximum: true } },
    { schema: { minimum: 1, exclusiveMinimum: 0 }, converted: { minimum: 1 } },
    { schema: { maximum: 9, exclusiveMaximum: 9 }, converted: { maximum: 9, exclusiveMaximum: true } },
    { schema: { const: null }, converted: { type: 'object', nullable: true, maxProperties: 0 } },
    { schema: { type: 'string', const: 'x' }, converted: { type: 'string', enum: ['x'] } },
    {
      schema: { type: 'object', patternProperties: { '^x': { type: 'string' } }, additionalProperties: false },
      converted: { type: 'object' },
    },
    { schema: { type: 'object', propertyNames: { pattern: '^x' } }, converted: { type: 'object' } },
    { schema: { type: 'array', prefixItems: [{}], items: false }, converted: { type: 'array', items: {} } },
    { schema: { type: 'array', items: true, contains: {} }, converted: { type: 'array', items: {} } },
    { schema: { type: ['array', 'null'] }, converted: { type: 'array', items: {}, nullable: true } },
    {
      schema: { anyOf: [{ type: 'string', contentEncoding: 'base64' }, { type: 'null' }] },
      converted: { type: 'string', format: 'byte', nullable: true },
    },
    {
      schema: { anyOf: [{ type: 'integer', exclusiveMinimum: 0 }, { type: 'null' }] },
      converted: { type: 'integer', minimum: 0, exclusiveMinimum: true, nullable: true },
    },
    {
      schema: { type: 'object', properties: { if: true, not: false, minimum: { exclusiveMinimum: 1 } } },
      converted: {
        type: 'object',
        properties: { if: {}, not: { not: {} }, minimum: { minimum: 1, exclusiveMinimum: true } },
      },
    },
    { schema: { if: {}, then: {}, else: {}, $comment: 'x', $defs: {}, dependentRequired: {} }, converted: {} },
    { schema: { default: { if: 1, const: 2 } }, converted: { default: { if: 1, const: 2 } } },
    { schema: { const: { if: 1 } }, converted: { enum: [{ if: 1 }] } },
    { schema: { type: 'array', not: { contains: { const: 1 } } }, converted: { type: 'array', items: {} } },
    { schema: { not: { anyOf: [{ type: 'string' }, { properties: { a: { if: {} } } }] } }, converted: {} },
    {
      schema: { not: { properties: { if: { const: 1 } } } },
      converted: { not: { properties: { if: { enum: [1] } } } },
    },
    { schema: { not: { type: 'string', $comment: 'x' } }, converted: { not: { type: 'string' } } },
    {
      schema: { oneOf: [{ prefixItems: [{ type: 'string' }] }, { prefixItems: [{ type: 'integer' }] }] },
      converted: { anyOf: [{}, {}] },
    },
    {
      schema: { oneOf: [{ type: 'string' }, { enum: [1] }] },
      converted: { oneOf: [{ type: 'string' }, { enum: [1] }] },
    },
    {
      schema: { oneOf: [{ type: 'null' }, { type: 'object' }] },
      converted: { nullable: true, type: 'object' },
    },
    { schema: { not: { properties: { a: { const: null } } } }, converted: {} },
    { schema: { not: { $ref: '#/components/schemas/Book', required: ['x'] } }, converted: {} },
    {
      schema: { not: { $ref: '#/components/schemas/Book', description: 'x' } },
      converted: { not: { $ref: '#/components/schemas/Book', description: 'x' } },
    },
    {
      schema: { properties: { a: {} }, propertyNames: { enum: ['a', 'b'] } },
      converted: { properties: { a: {}, b: {} }, additionalProperties: false },
    },
    {
      schema: {
        properties: { a: {}, c: {} },
        propertyNames: { enum: ['a', 'b'] },
        additionalProperties: { type: ['integer', 'null'] },
      },
      converted: { properties: { a: {}, b: { type: 'integer', nullable: true } }, additionalProperties: false },
    },
    {
      schema: { properties: { a: {} }, propertyNames: { enum: ['a', 'b'] }, additionalProperties: false },
      converted: { properties: { a: {} }, additionalProperties: false },
    },
    {
      schema: {
        properties: { a: {} },
        propertyNames: { enum: ['a', 'b'] },
        patternProperties: { b: { type: 'null' } },
      },
      converted: { properties: { a: {} } },
    },
  ])('has the schema $converted in the 3.0 document for $schema', async ({ schema, converted }) => {
    const { paths } = await documentWith((app) => {
      app.route('GET', '/it/', 'it', handle, {
        summary: 'Get it',
        responses: { 200: { description: 'It.', headers: { if: { description: 'It.', schema } }, schema } },
      })
    }, '3.0')
    const { headers, content } = paths['/api/it/']?.['get']?.responses['200'] as {
      readonly headers: { readonly if: { readonly schema: object } }
      readonly content: { readonly 'application/json': { readonly schema: object } }
    }
    expect([headers.if.schema, content['application/json'].schema]).toEqual([converted, converted])
  })

  test("has its author's description", async () => {
    const { paths } = await documentWith((app) =>
      app.route('POST', '/books/{id}/lend/', 'book-lend', handle, {
        summary: 'Lend a book',
        tag: 'lending',
        params: { id: { description: 'The book.', schema: { type: 'integer' } } },
        query: { days: { description: 'For how long.', schema: { type: 'integer', minimum: 1 } } },
        body: { schema: { type: 'object' } },
        responses: {
          200: {
            description: 'Lent.',
            schema: { type: 'object' },
            headers: { 'X-Days': { description: 'Days.', schema: {} } },
          },
          409: { description: 'Somebody has it.' },
        },
      }),
    )
    expect(Object.values(paths).find((path) => path['post']?.operationId === 'bookLend')?.['post']).toMatchObject({
      summary: 'Lend a book',
      tags: ['lending'],
      parameters: [
        { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
        { name: 'days', in: 'query', schema: { type: 'integer', minimum: 1 } },
      ],
      requestBody: { required: true },
      responses: {
        200: { headers: { 'X-Days': expect.anything(), 'X-Request-Id': expect.anything() } },
        409: { content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } },
      },
    })
  })

  test('is included without a description', async () => {
    const { paths } = await documentWith((app) => app.route('GET', '/hello/', 'hello', handle))
    const [operation] = Object.entries(paths).flatMap(([path, { get }]) => (path.endsWith('/hello/') ? [get] : []))
    expect(operation).toMatchObject({ operationId: 'hello', summary: 'hello', tags: ['hello'] })
    expect(Object.keys(operation?.responses ?? {})).toEqual(['200', '400', 'default'])
  })

  test('may refer into the schema of a resource: the reference is resolved', async () => {
    const title = { $ref: '#/components/schemas/Book/properties/title', description: 'Its title.' }
    const document = await documentWith((app) =>
      app.route('GET', '/titles/', 'titles', handle, {
        summary: 'List the titles',
        query: { like: { description: 'Which.', schema: title } },
        responses: {
          200: {
            description: 'The titles.',
            schema: { type: 'object', properties: { $ref: { type: 'string' }, all: { type: 'array', items: title } } },
            example: { $ref: 'data' },
          },
        },
      }),
    )
    const operation = operationsOf(document).find(({ operationId }) => operationId === 'titles')
    const own = { ...Object(follow(document, title.$ref)), description: 'Its title.' }
    expect(own).toMatchObject({ type: 'string' })
    expect(operation).toMatchObject({
      parameters: [{ name: 'like', schema: own }],
      responses: {
        200: {
          content: {
            'application/json': {
              schema: { properties: { $ref: { type: 'string' }, all: { items: own } } },
              example: { $ref: 'data' },
            },
          },
        },
      },
    })
    expect(referencesOf(document).filter((pointer) => pointer.split('/').length !== 4)).toEqual(['data'])
  })

  test.each(['#/components/schemas/Bok', '#/components/schemas/Book/properties/titel', '#/$defs/title', 'book.json'])(
    'is rejected with a broken reference to %s',
    async ($ref) => {
      const documented = documentWith((app) =>
        app.route('GET', '/titles/', 'titles', handle, {
          summary: 'List the titles',
          responses: { 200: { description: 'The titles.', schema: { type: 'array', items: { $ref } } } },
        }),
      )
      await expect(documented).rejects.toThrow(
        `the description of the route \`titles\` is wrong: the reference ${$ref} leads nowhere`,
      )
    },
  )

  test.each([
    [{ summary: '', responses: { 200: {} } }, "has the summary ''; it must be a text"],
    [{ summary: 'A', responses: {} }, 'has the responses {}; they are named by status'],
    [{ summary: 'A', responses: { ok: {} } }, 'they are named by status, 200 to 599'],
    ['A route', 'has the summary undefined'],
  ])('is rejected with the description %j', async (description, error) => {
    const documented = documentWith((app) => app.route('GET', '/a/', 'a', handle, description as never))
    await expect(documented).rejects.toThrow(error)
  })
})

describe('a service', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi(LIBRARY)
  })
  afterAll(() => api.close())

  test.each([
    ['/openapi.json', '3.1'],
    ['/openapi-3.0.json', '3.0'],
  ] as const)('answers %s with its document in OpenAPI %s', async (path, version) => {
    const answer = await api.fetch(path)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(answer.headers.get('cache-control')).toBe('no-cache')
    expect(await answer.text()).toBe(renderOpenApi(await load(LIBRARY), version))
  })

  test('responds 304 to a client that has it', async () => {
    const { headers } = await api.fetch('/openapi.json', { method: 'HEAD' })
    const etag = headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[\w-]{27}-gzip"$/)
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await api.fetch('/openapi.json', { headers: { 'if-none-match': known } })
      expect([known, answer.status, answer.headers.get('etag'), await answer.text()]).toEqual([known, 304, etag, ''])
    }
    expect((await api.fetch('/openapi.json', { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
    expect((await api.fetch('/openapi-3.0.json', { headers: { 'if-none-match': etag } })).status).toBe(200)
  })

  test('rejects other methods', async () => {
    const answer = await api.send('POST', '/openapi.json', {})
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })
})

describe('the command `openapi`', () => {
  test('prints the document, and compares it with a file', async () => {
    const { code, stdout } = await runInHost(['openapi', '--version', '3.0', '--config', LIBRARY])
    expect([code, stdout]).toEqual([0, renderOpenApi(await load(LIBRARY), '3.0')])
    const text = renderOpenApi(await load(LIBRARY), '3.1')
    const project = await makeProject({
      'api.json': text.replaceAll('\n', '\r\n'),
      'old.json': text.replace('Pages', 'P'),
    })
    const check = (file: string) =>
      runInHost(['openapi', '--config', LIBRARY, '--check', file], { cwd: project.folder })
    expect(await check('api.json')).toEqual({ code: 0, stdout: '', stderr: 'api.json is up to date\n' })
    const old = await check('old.json')
    expect([old.code, old.stdout]).toEqual([1, ''])
    expect(old.stderr).toMatch(
      /^error: `old\.json` is out of date from line \d+ on\n.*snippetctl openapi --config \S+ > old\.json\n$/,
    )
    expect((await check('my api.json')).stderr).toMatch(/snippetctl openapi --config \S+ > 'my api\.json'\n$/)
    expect(await check('none.json')).toMatchObject({ code: 2, stdout: '' })
    await project.remove()
  })
})
