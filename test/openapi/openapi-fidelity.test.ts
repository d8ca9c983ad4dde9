import { resolve } from 'node:path'
import { beforeAll, expect, test } from '@jest/globals'
import { loadApplication, OPENAPI_VERSIONS, renderOpenApi } from '../../src/internal.js'
import { SNIPPETS_FILE } from '../support/api.js'

type Schema = Readonly<Record<string, unknown>> & { readonly properties?: Readonly<Record<string, Schema>> }

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: Schema
}

interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly parameters?: readonly Parameter[]; readonly responses: object }>>>
  >
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

async function documentsOf(file: string) {
  const loaded = await loadApplication({ file, env: {}, importModule: (path) => import(path) })
  if (!loaded.ok) throw new Error(`${file} has mistakes`)
  const [latest, older] = OPENAPI_VERSIONS.map((version) => JSON.parse(renderOpenApi(loaded.app, version)) as Document)
  if (!latest || !older) throw new Error('a document is missing')
  return { latest, older }
}

let market: Awaited<ReturnType<typeof documentsOf>>
let snippets: typeof market
beforeAll(async () => {
  market = await documentsOf(resolve('test/applications/market.yaml'))
  snippets = await documentsOf(SNIPPETS_FILE)
})

const listOf = (path: string) => market.latest.paths[path]?.['get']?.parameters ?? []
const parameterOf = (path: string, name: string) => listOf(path).find((each) => each.name === name)

test('dialects have the paths that their clients use', () => {
  const paths = Object.keys(market.latest.paths)
  expect(paths).toEqual(expect.arrayContaining(['/crud/products', '/crud/products/{id}', '/json-server/sellers']))
  expect(paths.filter((path) => /^\/(json-server|simple-rest|crud)\/.*\/$/.test(path))).toEqual([])
  expect(paths).toContain('/market/stalls/{id}/')
})

test('each filter of a dialect is a parameter', () => {
  const names = listOf('/json-server/products').map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['id', 'title', 'title_like', 'price_gte', 'price_lte', 'grade_isnull']))
  expect(names.filter((name) => /^(filters|title_gte|created_at.*)$/.test(name))).toEqual([])
  expect(parameterOf('/market/stalls/', 'price__gte')).toMatchObject({ schema: { type: 'string' } })
  expect(parameterOf('/json-server/products', 'state')).toMatchObject({
    explode: true,
    schema: { type: 'array', items: { enum: ['draft', 'listed', 'sold out'] } },
  })
})

test('a list of a dialect names its orderable fields', () => {
  const items = { enum: ['id', '-id', 'title', '-title', 'price', '-price'] }
  expect(parameterOf('/market/stalls/', 'ordering')).toMatchObject({ explode: false, schema: { items } })
  expect(parameterOf('/json-server/products', '_sort')).toMatchObject({ explode: false, schema: { items } })
})

test('lists in a query have the limits of the service', () => {
  expect(parameterOf('/market/stalls/', 'id__in')?.schema).toMatchObject({ items: { type: 'integer' }, maxItems: 1000 })
  expect(parameterOf('/json-server/products', 'id')?.schema).toMatchObject({ maxItems: 1000 })
  expect(parameterOf('/json-server/products', 'state')?.schema).toMatchObject({ maxItems: 100 })
  const ordering = [market.latest.paths['/market/products/'], snippets.latest.paths['/api/snippets-viewset/']].map(
    (path) => path?.['get']?.parameters?.find(({ name }) => name === 'ordering'),
  )
  const sorting = [parameterOf('/market/stalls/', 'ordering'), parameterOf('/json-server/products', '_sort')]
  for (const each of [...ordering, ...sorting]) expect(each?.schema).toMatchObject({ uniqueItems: true })
  const selecting = Object.values(market.latest.paths)
    .flatMap((operations) => operations['get']?.parameters ?? [])
    .filter(({ name }) => name === 'fields' || name === 'expand')
  expect(new Set(selecting.map(({ name }) => name)).size).toBe(2)
  for (const each of selecting) expect(each.schema).toMatchObject({ uniqueItems: true })
  expect(parameterOf('/json-server/products', '_order')?.schema).not.toHaveProperty('uniqueItems')
})

test('each id in a path has an example, and none is read-only', () => {
  const operations = [market, snippets].flatMap(({ latest }) => Object.values(latest.paths).flatMap(Object.values))
  const ids = (operations as { readonly parameters?: readonly Parameter[] }[])
    .flatMap(({ parameters = [] }) => parameters)
    .filter((each) => each.in === 'path')
  expect(ids.length).toBeGreaterThan(30)
  expect(ids.filter(({ schema }) => !Array.isArray(schema['examples']) || 'readOnly' in schema)).toEqual([])
})

test('fields are described in whole sentences, with the bounds of decimals', () => {
  const { price, discount, seller } = market.latest.components.schemas['ProductCreate']?.properties ?? {}
  const positive = expect.stringMatching(/^\^\(0/)
  expect(price).toMatchObject({ 'x-minimum': '0.05', 'x-maximum': '9999.95', pattern: positive })
  expect(discount).toMatchObject({ type: ['string', 'null'], 'x-maximum': '0.9' })
  expect(seller).toMatchObject({ description: 'Seller must be the id of an existing seller', examples: [1] })
  expect(Object.keys(parameterOf('/market/products/', 'price__gte')?.schema ?? {})).toEqual(['type', 'format'])
  const { code } = market.latest.components.schemas['SellerCreate']?.properties ?? {}
  expect(code).toMatchObject({ description: expect.stringContaining('must be exactly 4 characters') })
})

test('bodies accept what was read; 3.0 expresses that by properties of any type', () => {
  const names = ['title', 'url', 'id', 'rank', 'heading', 'expanded']
  const latest = market.latest.components.schemas['ProductUpdate']
  expect(latest).toMatchObject({ propertyNames: { enum: expect.arrayContaining(names) } })
  expect(Object.keys(latest?.properties ?? {})).not.toContain('rank')
  const older = market.older.components.schemas['ProductUpdate']
  expect(older).toMatchObject({ additionalProperties: false, properties: { rank: { description: expect.anything() } } })
  expect(Object.keys(older?.properties ?? {})).toEqual(expect.arrayContaining(names))
  expect(older).not.toHaveProperty('propertyNames')
})

test('errors other than problem documents have a schema, and null is never the only value', () => {
  expect(market.latest.paths['/crud/products/{id}']?.['get']?.responses).toMatchObject({
    404: { content: { 'application/json': { schema: { required: ['statusCode', 'error', 'message'] } } } },
  })
  expect(snippets.latest.paths['/api/snippets/']?.['get']?.responses).toMatchObject({
    default: { content: { 'application/json': { schema: { required: ['error'] } } } },
  })
  expect(JSON.stringify([market.latest, market.older])).not.toMatch(/"enum":\[null\]|"count":\{"type":"null"/)
})
