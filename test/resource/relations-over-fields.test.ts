import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { migrateUp, schemaDifferences } from '../../src/internal.js'
import { planMigration } from '../../src/migrations/plan/generate.js'
import { type Api, startApi } from '../support/api.js'
import { checkText, ddlOf, mistakesOf, specOf } from '../support/config.js'
import { openTestDatabase } from '../support/database.js'
import { makeFolder } from '../support/migrations.js'

const RELATIONS = `    relations:
      line: { model: order_line, fields: [order, position] }
      shelf: { model: shelf, fields: [room, number], on_delete: set_null }
      city: { model: city, fields: [country, city_code], references: [country, code] }
`
const DELIVERY = `  delivery:
    fields:
      id: { type: bigint, primary_key: true }
      order: { type: belongs_to, model: order }
      position: { type: integer }
      room: { type: string, max: 10, nullable: true }
      number: { type: integer, nullable: true }
      country: { type: string, max: 2, nullable: true }
      city_code: { type: string, max: 5, nullable: true }
`
const MODELS = `version: 1
models:
  order:
    table: orders
    fields:
      id: { type: bigint, primary_key: true }
      customer: { type: string, max: 80 }
  order_line:
    primary_key: [order, position]
    fields:
      order: { type: belongs_to, model: order, on_delete: cascade }
      position: { type: integer }
      article: { type: string, max: 80 }
  shelf:
    primary_key: [room, number]
    fields:
      room: { type: string, max: 10 }
      number: { type: integer }
  city:
    fields:
      id: { type: bigint, primary_key: true }
      country: { type: string, max: 2 }
      code: { type: string, max: 5 }
    indexes: [{ fields: [country, code], unique: true }]
${DELIVERY}`
const RESOURCES = `resources:
  order: { model: order, path: /orders/ }
  order_line: { model: order_line, path: /order-lines/, expand: [order] }
  shelf: { model: shelf, path: /shelves/, url: true }
  city: { model: city, path: /cities/ }
  delivery:
    model: delivery
    path: /deliveries/
    filterable: [order, position]
    sparse_fields: true
    bulk: [create]
    expand: { line: {}, line.order: {}, shelf: {}, city: { fields: [code] } }
    links: { shelf: shelf-detail }
`
const YAML = `${MODELS}${RELATIONS}${RESOURCES}`

let api: Api
let id: unknown
beforeAll(async () => {
  api = await startApi(YAML)
  await send('POST', '/api/orders/', { customer: 'Ada' }, 201)
  await send('POST', '/api/order-lines/', { order: 1, position: 2, article: 'Ink' }, 201)
  await send('POST', '/api/order-lines/', { order: 1, position: 3, article: 'Pens' }, 201)
  await send('POST', '/api/shelves/', { room: 'A/B', number: 4 }, 201)
  await send('POST', '/api/cities/', { country: 'FR', code: 'PAR' }, 201)
  const places = { room: 'A/B', number: 4, country: 'FR', city_code: 'PAR' }
  id = (await send('POST', '/api/deliveries/', { order: 1, position: 2, ...places }, 201))['id']
})
afterAll(() => api.close())

async function send(method: string, path: string, body: unknown, status: number): Promise<Record<string, unknown>> {
  const response = await api.send(method, path, body)
  const text = await response.text()
  expect([response.status, text]).toEqual([status, text])
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}
const get = async (path: string): Promise<unknown> => (await api.fetch(path)).json()

describe('a relation over several fields', () => {
  test('is an object of the other key, or a link; bodies may repeat it', async () => {
    const delivery = await get(`/api/deliveries/${String(id)}/`)
    expect(delivery).toEqual({
      id,
      order: 1,
      position: 2,
      room: 'A/B',
      number: 4,
      country: 'FR',
      city_code: 'PAR',
      line: { order: 1, position: 2 },
      shelf: '/api/shelves/A%2FB/4/',
      city: { country: 'FR', code: 'PAR' },
    })
    expect(await send('PUT', `/api/deliveries/${String(id)}/`, delivery, 200)).toEqual(delivery)
    expect(await get('/api/deliveries/?fields=line,shelf&position=2')).toEqual([
      { line: { order: 1, position: 2 }, shelf: '/api/shelves/A%2FB/4/' },
    ])
  })

  test('is null if one of its fields is', async () => {
    const made = await send('POST', '/api/deliveries/', { order: 1, position: 3, room: 'nowhere', city_code: 'X' }, 201)
    expect(made).toMatchObject({ shelf: null, city: null })
    expect(await get('/api/deliveries/?position=3&expand=shelf,city')).toMatchObject([
      { expanded: { shelf: null, city: null } },
    ])
    expect((await api.fetch(`/api/deliveries/${String(made['id'])}/`, { method: 'DELETE' })).status).toBe(204)
  })

  test('is expanded', async () => {
    expect(await get(`/api/deliveries/${String(id)}/?expand=line.order,shelf,city`)).toMatchObject({
      expanded: {
        line: { order: 1, position: 2, article: 'Ink', expanded: { order: { id: 1, customer: 'Ada' } } },
        shelf: { url: '/api/shelves/A%2FB/4/', room: 'A/B', number: 4 },
        city: { code: 'PAR' },
      },
    })
  })

  test('rejects a combination that no record has, and names its fields', async () => {
    const missing = 'The combination of Order and Position names a record that does not exist'
    expect(await send('POST', '/api/deliveries/', { order: 1, position: 9 }, 409)).toMatchObject({
      errors: { order: missing, position: missing },
    })
    await send('PATCH', `/api/deliveries/${String(id)}/`, { position: 9 }, 409)
    await send(
      'POST',
      '/api/deliveries/bulk/',
      [
        { order: 1, position: 2 },
        { order: 1, position: 9 },
      ],
      409,
    )
    expect(await get('/api/deliveries/?position=9')).toEqual([])
  })

  test('keeps the other record from being deleted, or follows it', async () => {
    const rejected = await api.fetch('/api/order-lines/1/2/', { method: 'DELETE' })
    expect([rejected.status, await rejected.json()]).toMatchObject([
      409,
      { detail: expect.stringContaining('A record of delivery still refers to it, by line') },
    ])
    expect((await api.fetch('/api/shelves/A%2FB/4/', { method: 'DELETE' })).status).toBe(204)
    expect(await get(`/api/deliveries/${String(id)}/`)).toMatchObject({ room: null, number: null, shelf: null })
  })

  test('is a link in Explore, from both records', async () => {
    const pageOf = async (path: string) => (await api.fetch(`/explore${path}`)).text()
    for (const path of ['/api/deliveries/', `/api/deliveries/${String(id)}/`])
      expect(await pageOf(path)).toContain('href="/explore/api/order-lines/1/2/"')
    expect(await pageOf('/api/order-lines/1/2/')).toContain('href="/explore/api/deliveries/?order=1&amp;position=2"')
    expect(await pageOf('/api/orders/1/')).toContain('href="/explore/api/deliveries/?order=1"')
  })

  test('is described in OPTIONS and in the OpenAPI document', async () => {
    const options = (await (await api.fetch('/api/deliveries/', { method: 'OPTIONS' })).json()) as {
      fields: Record<string, unknown>
    }
    const schema = { type: 'object', properties: { order: { type: 'integer' } }, required: ['order', 'position'] }
    expect(options.fields['line']).toMatchObject({ type: 'belongs_to', read_only: true, schema })
    const document = (await get('/openapi.json')) as {
      components: { schemas: Record<string, { properties: Record<string, unknown>; required: string[] }> }
    }
    const { Delivery, DeliveryCreate } = document.components.schemas
    expect(Delivery?.properties['line']).toMatchObject({ ...schema, readOnly: true })
    expect(Delivery?.properties['city']).toMatchObject({ type: ['object', 'null'] })
    expect(Delivery?.properties['shelf']).toMatchObject({ type: ['string', 'null'], format: 'uri-reference' })
    expect(Delivery?.required).toContain('line')
    expect(Object.keys(DeliveryCreate?.properties ?? {})).not.toContain('line')
  })
})

test('the foreign key is planned, its index too, and both go with the relation', async () => {
  expect(ddlOf(specOf(YAML))).toContain(
    'foreign key ("order_id", "position") references "order_line" ("order_id", "position") on delete restrict',
  )
  const folder = await makeFolder({
    '0001_all.sql': `-- up\n${ddlOf(specOf(`${MODELS}${RESOURCES.replace(/ {4}(links|expand).*\n/g, '')}`))}-- owns: nothing\n`,
  })
  const database = await openTestDatabase('')
  const scratch = await openTestDatabase('')
  const insert = (table: string, values: string) =>
    database.query({ text: `insert into ${table} overriding system value values ${values}`, values: [] })
  try {
    await migrateUp(database, folder.path)
    await insert('orders', "(1, 'Ada')")
    await insert('delivery', "(1, 1, 2, null, null, null, null), (2, 1, 3, 'A', null, 'FR', null)")
    const { steps, rejections } = await planMigration(specOf(YAML), folder.path, scratch)
    expect([rejections, steps.map(({ subject }) => subject).sort()]).toEqual([
      [],
      [
        'delivery.delivery_country_city_code_fkey',
        'delivery.delivery_country_city_code_idx',
        'delivery.delivery_order_id_position_fkey',
        'delivery.delivery_order_id_position_idx',
        'delivery.delivery_room_number_fkey',
        'delivery.delivery_room_number_idx',
      ],
    ])
    const counted = steps.flatMap(({ rows }) => (rows ? [rows.sql] : []))
    const counts = await Promise.all(
      counted.map(async (text) => (await database.query({ text, values: [] })).rows[0]?.[0]),
    )
    expect(counts.sort()).toEqual(['0', '0', '2'])
    await insert('order_line', "(1, 2, 'Ink'), (1, 3, 'Pens')")
    for (const text of steps.flatMap(({ up }) => up)) await database.query({ text, values: [] })
    expect(await schemaDifferences(specOf(YAML), database)).toEqual([])
    for (const text of steps.toReversed().flatMap(({ down }) => down)) await database.query({ text, values: [] })
    expect(await schemaDifferences(specOf(`${MODELS}resources: {}\n`), database)).toEqual([])
  } finally {
    await database.close()
    await scratch.close()
  }
})

describe('check', () => {
  const withRelation = (relation: string) => `${MODELS}    relations: ${relation}\nresources: {}\n`

  test.each([
    ['a model that there is not', '{ line: { model: order_lin, fields: [order, position] } }', 'SC306'],
    ['a field that there is not', '{ line: { model: order_line, fields: [order, place] } }', 'SC305'],
    ['one field', '{ line: { model: order_line, fields: [order] } }', 'SC207'],
    ['too few fields', '{ line: { model: order, fields: [order, position] } }', 'SC311'],
    ['fields of another type', '{ line: { model: order_line, fields: [position, order] } }', 'SC311 SC311'],
    [
      'what is not unique',
      '{ line: { model: order_line, fields: [order, room], references: [order, article] } }',
      'SC311',
    ],
    ['the name of a field', '{ order: { model: order_line, fields: [order, position] } }', 'SC304'],
    [
      'set_null of a field that takes none',
      '{ l: { model: order_line, fields: [order, position], on_delete: set_null } }',
      'SC304',
    ],
    ['nothing else', '{ line: { model: order_line, fields: [position, order], references: [position, order] } }', ''],
  ])('reports %s', (_, relation, codes) => {
    expect(
      mistakesOf(withRelation(relation))
        .map((each) => each.split(' ').at(-1))
        .join(' '),
    ).toBe(codes)
  })

  test.each([
    ['of some records only', 'where: { id__gte: 1 }'],
    ['that ignores case', 'ignore_case: true'],
  ])('reports a relation to fields whose index is one %s', (_, more) => {
    const city = '{ city: { model: city, fields: [country, city_code], references: [country, code] } }'
    expect(mistakesOf(withRelation(city))).toEqual([])
    const found = checkText(withRelation(city).replace('unique: true }', `unique: true, ${more} }`))
    expect(found).toMatchObject([{ code: 'SC311' }])
  })

  test('says how to refer to a key of several fields', () => {
    const found = checkText(`${MODELS}      line: { type: belongs_to, model: order_line }\nresources: {}\n`)
    expect(found).toMatchObject([
      {
        code: 'SC311',
        help: [
          'declare a field for each of `order`, `position`, and the relation in the model: `relations: { line: { model: order_line, fields: […] } }`',
        ],
      },
    ])
  })

  test('says by which fields lists are filtered', () => {
    expect(checkText(YAML.replace('filterable: [order, position]', 'filterable: [line]'))).toMatchObject([
      {
        code: 'SC305',
        help: ['`line` is a relation over several fields; name these: `order`, `position`'],
      },
    ])
  })

  test('reports links and expansions of a relation that responses do not include', () => {
    const hidden = YAML.replace(
      'number: { type: integer, nullable: true',
      'number: { type: integer, nullable: true, private: true',
    )
    expect(mistakesOf(hidden).map((each) => each.split(' ').at(-1))).toEqual(['SC311', 'SC311'])
    expect(mistakesOf(YAML.replace('{ shelf: shelf-detail }', '{ city: city-detail }'))).toEqual([
      expect.stringContaining('SC311'),
    ])
  })
})

test('a relation has an index of its own if another index has only some of its fields', () => {
  const indexed = (indexes: string) =>
    ddlOf(
      specOf(`${MODELS}    indexes: ${indexes}\n    relations: { shelf: { model: shelf, fields: [room, number] } }\n`),
    )
  expect(indexed('[[room]]')).toContain('on "delivery" ("room", "number")')
  expect(indexed('[[number, room, country]]')).not.toContain('on "delivery" ("room", "number")')
})
