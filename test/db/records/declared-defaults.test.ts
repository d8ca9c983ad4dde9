import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import type { Plugin } from '../../../src/index.js'
import { DEFAULT_LIMITS } from '../../../src/http/connections/limits.js'
import { type Api, startApi } from '../../support/api.js'
import { openTestDatabase, testDatabaseKind, type TestDatabase } from '../../support/database.js'
import { runSql } from '../../support/existing.js'
import { blocksOf } from '../../support/pages.js'
import { waitUntil } from '../../support/wait-until.js'

/** Tables as Django and Rails make them: without the defaults that these set themselves. */
const SQL = `
  create table shop_product (
    id uuid primary key, name varchar(40) not null, status varchar(9) not null, stock integer not null, attributes jsonb not null,
    labels varchar(9)[] not null, note text not null, ref uuid not null, created_at timestamptz not null, updated_at timestamptz not null);
  create table articles (
    id bigserial primary key, title varchar not null, state varchar not null default 'old', views integer not null,
    slug varchar unique not null, created_at timestamp(6) not null, updated_at timestamp(6) not null);
  create table slots (
    tenant integer, id uuid default '00000000-0000-0000-0000-000000000001', name text not null, primary key (tenant, id));
  create table marks (id uuid primary key default '00000000-0000-0000-0000-000000000002', name text not null);
  create table figures (
    id bigserial primary key, amount integer not null, state text not null default 'base', total integer generated always as (amount * 2) stored);
  create view shown_figures as select id, amount, state, amount * 2 as total from figures;
`

const FIGURE = `fields: {
      id: { type: bigint, primary_key: true }, amount: { type: integer },
      state: { type: text, default: draft }, total: { type: integer, read_only: true, default: 0 } }`

const YAML = `version: 1
database: { managed: false }
plugins: [./plugin.mjs]
auth: { development: { ann: {} }, routes: { stock: anyone }, roles: { names: [admin] } }
models:
  product:
    table: shop_product
    fields:
      id: { type: uuid, primary_key: true, key: uuid }
      name: { type: string, max: 40 }
      status: { type: string, max: 9, default: "it's" }
      stock: { type: integer, default: 0 }
      attributes: { type: json, default: { a: [1] } }
      labels: { type: array, items: { type: string, max: 9 }, default: [] }
      note: { type: text, default: "", private: true }
      ref: { type: uuid, default: { function: uuid } }
      created_at: { type: timestamp, auto: on_create }
      updated_at: { type: timestamp, auto: on_update }
  article:
    table: articles
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: text }
      state: { type: text, default: draft }
      views: { type: integer, default: 0, read_only: true }
      slug: { type: text, unique: true }
      created_at: { type: local_timestamp, auto: on_create }
      updated_at: { type: local_timestamp, default: { function: now } }
  slot:
    table: slots
    primary_key: [tenant, id]
    fields:
      tenant: { type: integer }
      id: { type: uuid, key: uuid, default: { function: database } }
      name: { type: text }
  mark: { table: marks, fields: { id: { type: uuid, primary_key: true }, name: { type: text } } }
  figure: { table: figures, ${FIGURE} }
  shown_figure: { table: shown_figures, ${FIGURE} }
  note: { table: notes, fields: { id: { type: bigint, primary_key: true }, state: { type: text, default: draft } } }
resources:
  figure: { model: figure, path: /figures/, bulk: [create], access: [{ to: anyone, may: all }] }
  note: { model: note, path: /notes/, access: [{ to: anyone, may: all }] }
  shown_figure: { model: shown_figure, path: /shown-figures/, bulk: [create], access: [{ to: anyone, may: all }] }
  product:
    model: product
    path: /products/
    bulk: [create, partial_update]
    idempotency: optional
    access: [{ to: anyone, may: all }]
  granted:
    model: product
    path: /granted/
    bulk: [create]
    access:
      - { to: signed_in, may: read }
      - { to: signed_in, may: create, rows: { status: "it's", stock__lte: 5 }, fields: [name, stock] }
  article: { model: article, path: /articles/, bulk: [create], access: [{ to: anyone, may: all }] }
  slot: { model: slot, path: /slots/, access: [{ to: anyone, may: all }] }
  mark: { model: mark, path: /marks/, access: [{ to: anyone, may: all }] }
`

const plugin: Plugin = (app) => {
  const products = app.resource('product')
  app.route('POST', '/stock/', 'stock', async (context) => {
    const store = context.store(products)
    const made = await store.create({ name: 'Tea' })
    const others = await store.createMany([{ name: 'Tea' }, { name: 'Tea' }])
    return { status: 200, body: { made: made.item, others: others.map(({ item }) => item) } }
  })
}

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase('')
  await runSql(database, SQL)
  api = await startApi(YAML, { database, plugin })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

const sent = async (method: string, path: string, body: unknown, headers = {}) => {
  const response = await api.send(method, path, body, headers)
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const UUID = expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-4/)
const TIME = expect.stringMatching(/^\d{4}-.*Z$/)
const LOCAL = expect.stringMatching(/^\d{4}-[^Z]*$/)
const PRODUCT = {
  id: UUID,
  name: 'Tea',
  status: "it's",
  stock: 0,
  attributes: { a: [1] },
  labels: [],
  ref: UUID,
  created_at: TIME,
  updated_at: TIME,
}

test('a create sets the declared values although the columns have no defaults, and a change the time of changes', async () => {
  const made = await sent('POST', '/api/products/', { name: 'Tea' })
  expect(made).toEqual({ status: 201, body: PRODUCT })
  const { id, created_at, updated_at } = made.body
  const changed = await sent('PATCH', `/api/products/${id}/`, { stock: 2 })
  expect(changed.body).toMatchObject({ id, stock: 2, created_at })
  expect(String(changed.body['updated_at']) > String(updated_at)).toBe(true)
  const given = { name: 'Oil', status: 'new', stock: 7, attributes: null, labels: ['x'] }
  expect(await sent('POST', '/api/products/', { ...given, attributes: 3 })).toMatchObject({
    status: 201,
    body: { ...given, attributes: 3 },
  })
})

test('a bulk create sets the values that each record leaves out', async () => {
  const made = await sent('POST', '/api/products/', [{ name: 'Tea' }, { name: 'Oil', stock: 3 }, { name: 'Tea' }])
  expect(made).toEqual({ status: 201, body: [PRODUCT, { ...PRODUCT, name: 'Oil', stock: 3 }, PRODUCT] })
})

test('a column with a default of its own has that', async () => {
  const article = { title: 'A', slug: 'a' }
  expect(await sent('POST', '/api/articles/', article)).toEqual({
    status: 201,
    body: { ...article, id: expect.anything(), state: 'old', views: 0, created_at: LOCAL, updated_at: LOCAL },
  })
})

test.each(['/api/figures/', '/api/shown-figures/'])(
  'columns that the database fills stay its own: %s',
  async (path) => {
    const made = { amount: 2, state: 'base', total: 4 }
    expect(await sent('POST', path, { amount: 2 })).toMatchObject({ status: 201, body: made })
    expect(await sent('POST', path, [{ amount: 2 }, { amount: 2 }])).toMatchObject({ status: 201, body: [made, made] })
  },
)

test('a table that is made later has the declared values too', async () => {
  expect((await sent('POST', '/api/notes/', {})).status).toBe(503)
  await runSql(database, 'create table notes (id bigserial primary key, state text not null)')
  // Until the service has noticed.
  const made = await waitUntil(
    () => sent('POST', '/api/notes/', {}),
    ({ status }) => status !== 503,
  )
  expect(made).toMatchObject({ status: 201, body: { state: 'draft' } })
})

// Only this process can alter the embedded database.
const onServer = testDatabaseKind() === 'postgres' ? test : test.skip

onServer(
  'defaults that columns lose and get while the service runs count from the next check of its tables on',
  async () => {
    const altered = await openTestDatabase('')
    await runSql(altered, SQL)
    const { tableCheckInterval } = DEFAULT_LIMITS
    const service = await startApi(YAML, {
      database: altered,
      plugin,
      checkResponses: false,
      limits: { tableCheckInterval },
    })
    const article = async (slug: string) =>
      (await service.send('POST', '/api/articles/', { title: 'A', slug })).json() as Promise<Record<string, unknown>>
    try {
      expect(await article('before')).toMatchObject({ state: 'old', views: 0 })
      await runSql(
        altered,
        'alter table articles alter state drop default, alter state drop not null, alter views set default 7',
      )
      expect(await article('too early')).toMatchObject({ state: null, views: 0 })
      const now = performance.now.bind(performance)
      jest.spyOn(performance, 'now').mockImplementation(() => now() + tableCheckInterval + 1)
      let count = 0
      const later = await waitUntil(
        () => article(String(count++)),
        ({ views }) => views === 7,
      ).finally(() => jest.restoreAllMocks())
      expect(later).toMatchObject({ state: 'draft' })
    } finally {
      await service.close()
      await altered.close()
    }
  },
)

const STORED = { name: 'Tea', status: "it's", stock: 0, labels: [], created_at: TIME, updated_at: TIME }

test.each([
  { path: '/api/slots/', body: { tenant: 1, name: 'x' }, id: '00000000-0000-0000-0000-000000000001' },
  { path: '/api/marks/', body: { name: 'x' }, id: '00000000-0000-0000-0000-000000000002' },
])('the database assigns the key: $path', async ({ path, body, id }) => {
  expect(await sent('POST', path, body)).toMatchObject({ status: 201, body: { id } })
})

test.each([
  { body: { name: 'Tea' }, status: 201 },
  { body: { name: 'Tea', status: "it's" }, status: 201 },
  { body: { name: 'Tea', status: 'new' }, status: 403 },
  { body: { name: 'Tea', stock: 6 }, status: 403 },
  { body: [{ name: 'Tea' }, { name: 'Oil', stock: 5 }], status: 201 },
  { body: [{ name: 'Tea' }, { name: 'Oil', stock: 6 }], status: 403 },
])('a grant must cover the values that the service sets: $body', async ({ body, status }) => {
  expect(await sent('POST', '/api/granted/', body, { authorization: 'Dev ann' })).toMatchObject({ status })
})

test('records that a plugin creates have the declared values too', async () => {
  expect((await sent('POST', '/api/stock/', undefined)).body).toMatchObject({ made: STORED, others: [STORED, STORED] })
})

test('the service sets the values that the page about existing databases declares', async () => {
  const blocks = blocksOf(await readFile('docs/introspect.md', 'utf8'))
  const blocksIn = (wanted: string) => blocks.flatMap(({ language, text }) => (language === wanted ? [text] : []))
  const [[, table = ''], [yaml = ''], [shown = '{}']] = [blocksIn('sql'), blocksIn('yaml'), blocksIn('json')]
  const described = await openTestDatabase('')
  await runSql(described, table)
  const service = await startApi(yaml, { database: described })
  try {
    const response = await service.send('POST', '/api/shop_product/', { name: 'Tea' })
    expect(response.status).toBe(201)
    const product = { ...(JSON.parse(shown) as object), id: UUID, created_at: TIME, updated_at: TIME }
    expect(await response.json()).toEqual(product)
  } finally {
    await service.close()
    await described.close()
  }
})
