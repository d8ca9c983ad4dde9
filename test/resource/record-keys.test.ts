import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Plugin } from '../../src/index.js'
import { type Api, startApi } from '../support/api.js'
import { checkText, mistakesOf } from '../support/config.js'

const YAML = `version: 1
plugins: [./plugin.mjs]
models:
  customer:
    fields:
      id: { type: string, primary_key: true }
      name: { type: string, max: 80 }
  account:
    fields:
      customer: { type: belongs_to, model: customer, primary_key: true }
      balance: { type: integer }
  product:
    fields:
      id: { type: integer, primary_key: true, key: client }
      name: { type: string, max: 80 }
  tag:
    fields:
      id: { type: uuid, primary_key: true, key: client }
      name: { type: string, max: 80, nullable: true }
  country:
    table: countries
    fields:
      code: { type: char, length: 2, primary_key: true, key: client }
  price:
    fields:
      amount: { type: decimal, precision: 6, scale: 2, primary_key: true }
      note: { type: string, max: 20, nullable: true }
  order:
    fields:
      id: { type: bigint, primary_key: true }
      customer: { type: belongs_to, model: customer, nullable: true }
  line:
    table: order_lines
    primary_key: [order, product]
    fields:
      quantity: { type: integer, minimum: 1 }
      product: { type: belongs_to, model: product }
      order: { type: belongs_to, model: order, on_delete: cascade }
    indexes: [[quantity, order, product]]
  reading:
    primary_key: [place, taken_at]
    fields:
      place: { type: text }
      taken_at: { type: timestamp }
      value: { type: float, nullable: true }
  setting:
    primary_key: [owner, name]
    fields:
      owner: { type: string, max: 20, default: "" }
      name: { type: string, max: 20, default: size }
  event:
    primary_key: none
    fields:
      kind: { type: string, max: 20 }
      note: { type: text, nullable: true }
resources:
  customer: { model: customer, path: /customers/, url: true, bulk: [create, partial_update, destroy] }
  account: { model: account, path: /accounts/, url: true, links: { customer: customer-detail } }
  product: { model: product, path: /products/, url: true, bulk: [create, partial_update, destroy], idempotency: optional }
  tag: { model: tag, path: /tags/, url: true }
  country: { model: country, path: /countries/, url: true, filterable: { code: [exact] } }
  price: { model: price, path: /prices/, bulk: [destroy], filterable: { amount: [exact, in, gt] } }
  order: { model: order, path: /orders/, url: true, links: { customer: customer-detail }, expand: [customer] }
  line:
    model: line
    path: /lines/
    url: true
    links: { order: order-detail }
    bulk: [create, partial_update, destroy]
    expand: [order, product]
    filterable: { order: [exact, in], product: [exact], quantity: [gte] }
    orderable: [quantity]
    sparse_fields: true
    pagination: { style: cursor, page_size: 2 }
  reading: { model: reading, path: /readings/, url: true }
  setting: { model: setting, path: /settings/ }
  event: { model: event, path: /events/, operations: [list], pagination: { style: limit_offset, page_size: 2 } }
`

const seen: unknown[] = []
const plugin: Plugin = (app) => {
  const lines = app.resource('line')
  const customers = app.resource('customer')
  app.action('line', 'double', {
    summary: 'Order twice as many',
    output: 'record',
    async handle({ context, id, record }) {
      seen.push(id)
      await context.store(lines).update(id, { quantity: 2 * Number(record['quantity']) })
    },
  })
  app.action('customer', 'count', {
    summary: 'Count the customers',
    on: 'collection',
    method: 'GET',
    output: { count: { type: 'integer' } },
    async handle({ context }) {
      let count = 0
      for await (const rows of context.store(customers).batches(2)) count += rows.length
      return { count }
    },
  })
  const events = app.resource('event')
  app.route('POST', '/event-store/', 'event-store', async ({ store, knex }) => {
    const records = store(events)
    const { item } = await records.create({ kind: 'stored', note: null })
    const attempts: readonly (() => unknown)[] = [
      () => records.batches(2)[Symbol.asyncIterator]().next(),
      () => records.retrieve({}),
      () => records.retrieveMany([{}]),
      () => records.createMany([{ kind: 'x', note: null }]),
      () => records.update({}, { kind: 'x' }),
      () => records.destroy({}),
      () => records.destroyMany([{}]),
      () => records.take({}),
    ]
    const failures = await Promise.all(
      attempts.map(async (attempt) => {
        try {
          return await attempt()
        } catch (error) {
          return String(error)
        }
      }),
    )
    await knex('event').delete()
    return { status: 200, body: { item, failures } }
  })
  app.hooks('line', {
    afterCreate: ({ id, record }) => void seen.push([id, record['quantity']]),
  })
}

let api: Api
beforeAll(async () => {
  api = await startApi(YAML, { plugin })
})
afterAll(() => api.close())

const json = async (response: Response): Promise<unknown> => JSON.parse(await response.text())
const post = async (path: string, body: unknown) => {
  const response = await api.send('POST', path, body)
  expect([response.status, await response.clone().text()]).toEqual([201, expect.anything()])
  return response
}
/** Sends a path as it is; `fetch` resolves `%2E%2E`. */
const rawStatus = (path: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(api.url)
    request({ hostname, port, path }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })

describe('keys that clients give', () => {
  test('are required in a new record, and their values answered', async () => {
    const made = await post('/api/products/', { id: 7, name: 'Tea' })
    expect(made.headers.get('location')).toBe('/api/products/7/')
    expect(await json(made)).toEqual({ url: '/api/products/7/', id: 7, name: 'Tea' })
    const missing = await api.send('POST', '/api/products/', { name: 'Tea' })
    expect([missing.status, ((await json(missing)) as { errors: unknown }).errors]).toEqual([
      400,
      { id: 'Id is required' },
    ])
  })

  test('that are taken are a conflict of their field', async () => {
    await post('/api/products/', { id: 8, name: 'Milk' })
    const again = await api.send('POST', '/api/products/', { id: 8, name: 'Cream' })
    expect([again.status, ((await json(again)) as { errors: unknown }).errors]).toEqual([
      409,
      { id: 'Id is taken by another record' },
    ])
  })

  test('can be sent back, and cannot be changed', async () => {
    await post('/api/products/', { id: 9, name: 'Salt' })
    for (const [method, body] of [
      ['PUT', { id: 9, name: 'Sea salt' }],
      ['PUT', { name: 'Sea salt' }],
      ['PATCH', { id: 9, name: 'Sea salt' }],
      ['PATCH', { id: 9 }],
    ] as const)
      expect(await json(await api.send(method, '/api/products/9/', body))).toMatchObject({ id: 9, name: 'Sea salt' })
    for (const method of ['PUT', 'PATCH']) {
      const moved = await api.send(method, '/api/products/9/', { id: 10, name: 'Pepper' })
      expect([moved.status, ((await json(moved)) as { errors: unknown }).errors]).toEqual([
        400,
        { id: "Id is part of the record's address and cannot be changed" },
      ])
    }
    expect((await api.fetch('/api/products/10/')).status).toBe(404)
  })

  test('work in requests about several records', async () => {
    await post('/api/products/bulk/', [
      { id: 21, name: 'A' },
      { id: 22, name: 'B' },
    ])
    const changed = await api.send('PATCH', '/api/products/', [
      { id: 22, name: 'b' },
      { id: 21, name: 'a' },
    ])
    expect(await json(changed)).toMatchObject([
      { id: 22, name: 'b' },
      { id: 21, name: 'a' },
    ])
    expect((await api.fetch('/api/products/?ids=21,22', { method: 'DELETE' })).status).toBe(204)
    const twice = await api.send('POST', '/api/products/bulk/', [
      { id: 23, name: 'A' },
      { id: 23, name: 'B' },
    ])
    expect([twice.status, ((await json(twice)) as { errors: unknown }).errors]).toEqual([
      409,
      { '1.id': 'Id is taken by another record' },
    ])
  })

  test('of the type `char` have one spelling, without spaces at the end', async () => {
    await post('/api/countries/', { code: 'D' })
    const statuses = ['/D/', '/D%20/', '/?code=D', '/?code=D%20'].map(async (path) => {
      return (await api.fetch(`/api/countries${path}`)).status
    })
    expect(await Promise.all(statuses)).toEqual([200, 404, 200, 400])
  })

  test('of the type `decimal` have one spelling, with all digits of the scale', async () => {
    for (const amount of ['1.50', '0.00', '-2.00', '7']) await post('/api/prices/', { amount })
    const status = async (method: string, path: string) =>
      (await api.send(method, `/api/prices/${path}`, method === 'DELETE' ? undefined : { note: 'x' })).status
    const found = ['1.50', '0.00', '-2.00', '7.00']
    const others = ['1.5', '1.500', '1.5000000', '01.50', '0', '0.000', '-0.00', '-2.000', '7', '7.', '7.000', '1.505']
    for (const method of ['PATCH', 'PUT'])
      for (const [expected, spellings] of [
        [200, found],
        [404, others],
      ] as const)
        for (const each of spellings)
          expect([method, each, await status(method, `${each}/`)]).toEqual([method, each, expected])
    for (const each of others) {
      expect([each, (await api.fetch(`/api/prices/${each}/`)).status]).toEqual([each, 404])
      expect([each, await status('DELETE', `${each}/`)]).toEqual([each, 404])
      expect([each, await status('DELETE', `?ids=${each}`)]).toEqual([each, 404])
    }
    expect(await status('DELETE', '?ids=1.50,0.00,-2.00')).toBe(204)
  })

  test('of the type `decimal` are compared as numbers in filters', async () => {
    await post('/api/prices/', { amount: '3.50' })
    const count = async (query: string) =>
      ((await json(await api.fetch(`/api/prices/?${query}`))) as readonly unknown[]).length
    const counts = ['amount=3.500', 'amount__in=3.5,3.501', 'amount=3.501', 'amount__gt=3.499&amount__in=3.50']
    expect(await Promise.all(counts.map(count))).toEqual([1, 1, 0, 1])
  })

  test('may be UUIDs', async () => {
    const id = '0190163d-8694-739b-aea5-966c26f8ad91'
    expect((await post('/api/tags/', { id, name: null })).headers.get('location')).toBe(`/api/tags/${id}/`)
    expect((await api.send('POST', '/api/tags/', { name: 'x' })).status).toBe(400)
  })

  test('are repeated safely with an idempotency key', async () => {
    const send = () => api.send('POST', '/api/products/', { id: 30, name: 'Rice' }, { 'Idempotency-Key': 'k-30' })
    expect([(await send()).status, (await send()).status]).toEqual([201, 201])
  })
})

describe('keys of text', () => {
  test.each([
    ['ALFKI', 'ALFKI'],
    ['a b', 'a%20b'],
    ['A/S', 'A%2FS'],
    ['50%', '50%25'],
    ['é😀', '%C3%A9%F0%9F%98%80'],
    ["it's (1)*!~", "it's%20(1)*!~"],
    ['a,b', 'a%2Cb'],
    ['.', '%2E'],
    ['..', '%2E%2E'],
    ['...', '...'],
    ['bulk', '%62ulk'],
    ['count', '%63ount'],
    ['a\u0000b'.replace('\u0000', '\u0001'), 'a%01b'],
    ['\\"#?&=+;:@', '%5C%22%23%3F%26%3D%2B%3B%3A%40'],
    [' ', '%20'],
  ])('%j are %s in a path', async (id, segment) => {
    const path = `/api/customers/${segment}/`
    const made = await post('/api/customers/', { id, name: 'x' })
    expect(made.headers.get('location')).toBe(path)
    expect(await json(made)).toEqual({ url: path, id, name: 'x' })
    expect(await rawStatus(path)).toBe(200)
    const order = (await json(await post('/api/orders/', { customer: path }))) as { url: string; customer: string }
    expect(order.customer).toBe(path)
    expect(await json(await api.fetch(`${order.url}?expand=customer`))).toMatchObject({
      customer: path,
      expanded: { customer: { url: path, id } },
    })
    await api.fetch(order.url, { method: 'DELETE' })
    if (id.startsWith('.') && id !== '...') return
    expect(await json(await api.send('PATCH', path, { name: 'y' }))).toEqual({ url: path, id, name: 'y' })
    const bulk = await api.send('PATCH', '/api/customers/', [{ id, name: 'z' }])
    expect([bulk.status, await json(bulk)]).toEqual([200, [{ url: path, id, name: 'z' }]])
    const ids = new URLSearchParams({ ids: segment })
    expect((await api.fetch(`/api/customers/?${ids}`, { method: 'DELETE' })).status).toBe(204)
    expect(await rawStatus(path)).toBe(404)
  })

  test('have one spelling in a path', async () => {
    await post('/api/customers/', { id: 'é', name: 'x' })
    for (const segment of ['%C3%A9'])
      expect([segment, await rawStatus(`/api/customers/${segment}/`)]).toEqual([segment, 200])
    for (const segment of ['%c3%a9', '%C3', '%', '%GG', '%41LFKI', '%2e'])
      expect([segment, await rawStatus(`/api/customers/${segment}/`)]).toEqual([segment, 404])
  })

  test('must not be empty', async () => {
    const empty = await api.send('POST', '/api/customers/', { id: '', name: 'x' })
    expect([empty.status, ((await json(empty)) as { errors: unknown }).errors]).toEqual([
      400,
      { id: "Id must not be empty, because it is part of the record's address" },
    ])
  })

  test('are required if their default is empty', async () => {
    const keyless = await api.send('POST', '/api/settings/', {})
    expect([keyless.status, ((await json(keyless)) as { errors: unknown }).errors]).toEqual([
      400,
      { owner: 'Owner is required' },
    ])
    const made = await api.send('POST', '/api/settings/', { owner: 'x' })
    expect([made.status, made.headers.get('location')]).toEqual([201, '/api/settings/x/size/'])
    const { fields } = (await json(await api.fetch('/api/settings/', { method: 'OPTIONS' }))) as {
      readonly fields: Readonly<Record<string, { readonly required: boolean; readonly default?: unknown }>>
    }
    const shown = Object.entries(fields).map(([name, field]) => [name, field.required, field.default])
    expect(shown).toEqual([
      ['owner', true, undefined],
      ['name', false, 'size'],
    ])
  })

  test('can be relations', async () => {
    await post('/api/customers/', { id: 'A&B', name: 'x' })
    const made = await post('/api/accounts/', { customer: 'A&B', balance: 5 })
    expect(made.headers.get('location')).toBe('/api/accounts/A%26B/')
    const account = { url: '/api/accounts/A%26B/', customer: '/api/customers/A%26B/', balance: 5 }
    expect(await json(await api.fetch('/api/accounts/A%26B/'))).toEqual(account)
    expect(await json(await api.send('PUT', '/api/accounts/A%26B/', account))).toEqual(account)
  })

  test('order the batches of a store', async () => {
    const { count } = (await json(await api.fetch('/api/customers/count/'))) as { count: number }
    expect(count).toBe(((await json(await api.fetch('/api/customers/?page_size=100'))) as unknown[]).length)
  })
})

describe('a key of several fields', () => {
  const line = (order: number, product: number, quantity: number) => ({
    url: `/api/lines/${order}/${product}/`,
    quantity,
    product,
    order: `/api/orders/${order}/`,
  })
  let one: number
  let two: number
  beforeAll(async () => {
    const make = async () => ((await json(await post('/api/orders/', { customer: null }))) as { id: number }).id
    one = await make()
    two = await make()
    for (const id of [101, 102, 103]) await post('/api/products/', { id, name: `P${id}` })
    for (const [order, product, quantity] of [
      [one, 101, 3],
      [one, 102, 1],
      [two, 101, 2],
      [two, 103, 2],
    ] as const)
      await post('/api/lines/', { order, product, quantity })
  })

  test('has one segment of the path for each, in the order of the key', async () => {
    const made = await post('/api/lines/', { order: two, product: 102, quantity: 9 })
    expect(made.headers.get('location')).toBe(`/api/lines/${two}/102/`)
    expect(await json(await api.fetch(`/api/lines/${two}/102/`))).toEqual(line(two, 102, 9))
    expect((await api.fetch(`/api/lines/${two}/102/`, { method: 'DELETE' })).status).toBe(204)
    for (const path of [`/api/lines/${two}/102/`, `/api/lines/${two}/`, `/api/lines/0${two}/101/`, '/api/lines/x/101/'])
      expect([path, (await api.fetch(path)).status]).toEqual([path, 404])
  })

  test('reaches the plugin as an object of its parts', async () => {
    seen.length = 0
    await post('/api/lines/', { order: two, product: 102, quantity: 4 })
    const doubled = await api.send('POST', `/api/lines/${two}/102/double/`, {})
    expect(await json(doubled)).toEqual(line(two, 102, 8))
    expect(seen).toEqual([[{ order: BigInt(two), product: 102 }, 4], { order: BigInt(two), product: 102 }])
    await api.fetch(`/api/lines/${two}/102/`, { method: 'DELETE' })
  })

  test('can be sent back, and cannot be changed', async () => {
    const path = `/api/lines/${one}/101/`
    expect(await json(await api.send('PUT', path, line(one, 101, 4)))).toEqual(line(one, 101, 4))
    expect(await json(await api.send('PUT', path, { quantity: 3 }))).toEqual(line(one, 101, 3))
    const moved = await api.send('PATCH', path, { order: two, product: 101 })
    expect([moved.status, ((await json(moved)) as { errors: unknown }).errors]).toEqual([
      400,
      { order: "Order is part of the record's address and cannot be changed" },
    ])
  })

  test('is unique as a whole', async () => {
    const taken = await api.send('POST', '/api/lines/', { order: one, product: 101, quantity: 1 })
    const message = 'The combination of Product and Order is taken by another record'
    expect([taken.status, ((await json(taken)) as { errors: unknown }).errors]).toEqual([
      409,
      { order: message, product: message },
    ])
  })

  test('guards changes by entity tags', async () => {
    const path = `/api/lines/${one}/102/`
    const etag = (await api.fetch(path)).headers.get('etag') ?? ''
    const change = () => api.send('PATCH', path, { quantity: 1 }, { 'If-Match': etag })
    expect((await api.send('PATCH', path, { quantity: 5 }, { 'If-Match': '"other"' })).status).toBe(412)
    expect((await change()).status).toBe(200)
    expect((await api.send('PATCH', `/api/lines/${one}/999/`, { quantity: 5 }, { 'If-Match': etag })).status).toBe(404)
  })

  test('lies at the end of every order, also in cursors', async () => {
    const pages: unknown[] = []
    let next: string | undefined = '/api/lines/?ordering=-quantity&fields=quantity,product'
    while (next !== undefined) {
      const response: Response = await api.fetch(next)
      expect(response.status).toBe(200)
      pages.push(...((await json(response)) as unknown[]))
      next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
    }
    expect(pages).toEqual([
      { quantity: 3, product: 101 },
      { quantity: 2, product: 103 },
      { quantity: 2, product: 101 },
      { quantity: 1, product: 102 },
    ])
  })

  test('has parts that lists filter by', async () => {
    expect(await json(await api.fetch(`/api/lines/?order=${two}`))).toEqual([line(two, 101, 2), line(two, 103, 2)])
    expect(await json(await api.fetch(`/api/lines/?order=/api/orders/${one}/&product=102`))).toEqual([
      line(one, 102, 1),
    ])
  })

  test('works in requests about several records', async () => {
    const [first, second] = [line(two, 101, 20), line(two, 103, 30)]
    const changed = await api.send('PATCH', '/api/lines/', [
      { order: two, product: 103, quantity: 30 },
      { order: `/api/orders/${two}/`, product: 101, quantity: 20 },
    ])
    expect(await json(changed)).toEqual([second, first])
    const twice = await api.send('PATCH', '/api/lines/', [
      { order: two, product: 103, quantity: 1 },
      { order: two, product: 103, quantity: 2 },
    ])
    expect(twice.status).toBe(400)
    const partly = await api.fetch(`/api/lines/?ids=${two}/103,${two}/104`, { method: 'DELETE' })
    expect([partly.status, ((await json(partly)) as { detail: unknown }).detail]).toEqual([
      404,
      `no record has the order, product \`${two}/104\`; nothing was changed`,
    ])
    expect((await api.fetch(`/api/lines/?ids=${two}/103,${two}/101`, { method: 'DELETE' })).status).toBe(204)
  })

  test('may have texts and times', async () => {
    const made = await post('/api/readings/', { place: 'a/b', taken_at: '2026-11-21T11:00:00+01:00', value: 1.5 })
    const path = '/api/readings/a%2Fb/2026-11-21T10%3A00%3A00.000000Z/'
    expect(made.headers.get('location')).toBe(path)
    expect(await json(await api.fetch('/api/readings/'))).toEqual([
      { url: path, place: 'a/b', taken_at: '2026-11-21T10:00:00.000000Z', value: 1.5 },
    ])
    expect((await api.send('PATCH', path, { value: 2.5 })).status).toBe(200)
    expect((await api.fetch('/api/readings/a%2Fb/2026-11-21T10%3A00%3A00Z/')).status).toBe(404)
    expect((await api.fetch(path, { method: 'DELETE' })).status).toBe(204)
  })

  test('is described by OPTIONS', async () => {
    expect(await json(await api.fetch('/api/lines/', { method: 'OPTIONS' }))).toMatchObject({
      primary_key: ['order', 'product'],
      fields: { order: { unique: false } },
    })
  })
})

describe('records without a key', () => {
  test('are listed in the order of all fields, equal ones too', async () => {
    for (const [kind, note] of [
      ['b', null],
      ['a', 'y'],
      ['a', 'x'],
      ['a', 'x'],
      ['a', null],
    ] as const)
      await api.database.query({ text: 'insert into event (kind, note) values ($1, $2)', values: [kind, note] })
    const found: unknown[] = []
    let next: string | undefined = '/api/events/'
    while (next !== undefined) {
      const response: Response = await api.fetch(next)
      found.push(...((await json(response)) as unknown[]))
      next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
      expect(next ?? '').not.toContain('cursor')
    }
    expect(found).toEqual([
      { kind: 'a', note: 'x' },
      { kind: 'a', note: 'x' },
      { kind: 'a', note: 'y' },
      { kind: 'a', note: null },
      { kind: 'b', note: null },
    ])
  })

  test('are never created, and no cursor leads to them', async () => {
    expect((await api.send('POST', '/api/events/', { kind: 'c' })).status).toBe(405)
    expect((await api.fetch('/api/events/?cursor=x')).status).toBe(400)
  })
})

test('plugins list and create records of a model without a key; operations that need a key are errors', async () => {
  const response = await api.send('POST', '/api/event-store/', {})
  const { item, failures } = (await json(response)) as { item: unknown; failures: readonly unknown[] }
  expect(item).toEqual({ kind: 'stored', note: null })
  expect(failures).toHaveLength(8)
  for (const failure of failures)
    expect(failure).toMatch(
      /^TypeError: [a-zA-Z]+\(\) needs a primary key, and the model "event" has none: its records can only be listed and created$/,
    )
})

describe('check', () => {
  const model = (text: string) => `version: 1\nmodels:\n  a: ${text}\n`
  test.each([
    ['an unknown field', '{ primary_key: [b], fields: { c: { type: date } } }', ['3:22 SC305']],
    ['a field twice', '{ primary_key: [c, c], fields: { c: { type: date } } }', ['3:25 SC207']],
    ['a nullable field', '{ primary_key: [c], fields: { c: { type: date, nullable: true } } }', ['3:53 SC303']],
    ['a private field', '{ primary_key: [c], fields: { c: { type: date, private: true } } }', ['3:53 SC303']],
    ['a type without one spelling', '{ primary_key: [c], fields: { c: { type: json } } }', ['3:36 SC303']],
    ['a second key', '{ primary_key: [c], fields: { c: { type: date, primary_key: true } } }', ['3:53 SC302']],
    ['`key` of another type', '{ fields: { c: { type: date, primary_key: true, key: uuid } } }', ['3:59 SC303']],
    ['`key` without a key', '{ primary_key: none, fields: { c: { type: date, key: client } } }', ['3:54 SC319']],
    [
      'relations that lead back to themselves',
      '{ fields: { id: { type: belongs_to, model: b, primary_key: true } } }\n  b: { fields: { id: { type: belongs_to, model: a, primary_key: true } } }',
      ['3:49 SC311', '4:49 SC311'],
    ],
    [
      'a relation to several fields',
      '{ primary_key: [c, d], fields: { c: { type: date }, d: { type: date } } }\n  b: { fields: { id: { type: bigint, primary_key: true }, a: { type: belongs_to, model: a } } }',
      ['4:89 SC311'],
    ],
  ])('rejects %s', (_what, text, expected) => {
    expect(mistakesOf(model(text))).toEqual(expected)
  })

  test.each([
    ['operations on one record', '', ['5:3 SC320']],
    ['pages by a cursor', ', operations: [list], pagination: { style: cursor }', ['5:70 SC320']],
    ['a dialect', ', operations: [list], dialect: json-server', ['5:58 SC320']],
  ])('rejects %s of records without a key', (_what, more, expected) => {
    const text = `${model('{ primary_key: none, fields: { c: { type: date } } }')}resources:\n  a: { model: a, path: /a/${more} }\n`
    expect(mistakesOf(text)).toEqual(expected)
  })

  test.each([
    ['api: { dialect: crud }', ', dialect: crud', ['set `dialect: plain` for `a`']],
    ['api: { dialect: crud }', '', []],
    ['api: { dialect: crud }', ', dialect: plain', []],
    ['mounts: [{ path: /m, dialect: crud }]', ', dialect: plain', []],
    ['mounts: [{ path: /m }]', ', dialect: plain', []],
  ])('%s with records without a key: the help leads on', (settings, more, help) => {
    const fields = '{ primary_key: none, fields: { c: { type: integer }, d: { type: integer } } }'
    const found = checkText(
      `${model(fields)}resources:\n  a: { model: a, path: /a/, operations: [list]${more} }\n${settings}\n`,
    )
    expect(Array.isArray(found) ? found.flatMap((each) => each.help) : []).toEqual(help)
  })
})
