import { describe, expect, test } from '@jest/globals'
import { decide } from '../../src/access/decide/decide.js'
import type { StoredRecord } from '../../src/access/decide/evaluate.js'
import { type AccessRequest, knownBy } from '../../src/access/decide/situation.js'
import { makeProject, runInHost } from '../support/cli.js'
import { specOf } from '../support/config.js'
import { envOf, openOnlyOnServer } from '../support/database.js'
import { verify } from '../support/verified.js'

const BOOKS = `version: 1
auth: { roles: { names: [member] } }
models:
  book:
    table: books
    fields:
      isbn: { type: string, max: 13, primary_key: true }
      title: { type: string, max: 9 }
      sequel_of: { type: belongs_to, model: book, nullable: true }
resources:
  book: { model: book, path: /books/, access: [{ to: member, may: all, rows: { title: a } }] }
`
/** Lines come before the orders that they refer to. */
const LINES = `version: 1
auth: { roles: { names: [member] } }
models:
  line:
    table: lines
    fields:
      id: { type: bigint, primary_key: true }
      oa: { type: integer }
      ob: { type: string, max: 5, nullable: true }
      n: { type: integer }
    relations: { order: { model: order, fields: [oa, ob] } }
  order:
    table: orders
    primary_key: [a, b]
    fields: { a: { type: integer }, b: { type: string, max: 5 }, open: { type: boolean } }
resources:
  line: { model: line, path: /lines/, access: [{ to: member, may: all, rows: { n: 1 } }, { to: member, may: read }] }
  order: { model: order, path: /orders/, access: [{ to: member, may: all, rows: { open: true } }] }
`

test.each([
  { what: 'clients give the keys', yaml: BOOKS },
  { what: 'a relation is over several fields', yaml: LINES },
])(
  'a service has no difference where $what',
  async ({ yaml }) => {
    const scratch = await openOnlyOnServer()
    try {
      const { code, differences, empty, requests } = await verify(yaml, { scratch: scratch?.url })
      expect({ code, differences, empty }).toEqual({ code: 0, differences: [], empty: [] })
      expect(requests).toBeGreaterThan(30)
    } finally {
      await scratch?.close()
    }
  },
  120_000,
)

const ANN = { subject: 'ann', roles: ['member'], claims: {} }
const statusOf = (
  { yaml, name, tables }: { yaml: string; name: string; tables: Readonly<Record<string, readonly StoredRecord[]>> },
  request: AccessRequest,
) => {
  const spec = specOf(yaml)
  const resource = spec.resources.find((each) => each.name === name)
  if (!resource) throw new Error(`there is no resource ${name}`)
  return decide({ spec, resource, caller: ANN, known: knownBy(spec, ANN, (table) => tables[table]) }, request).status
}

describe('a decision without the service', () => {
  const books = { yaml: BOOKS, name: 'book', tables: { books: [{ isbn: '1', title: 'a', sequel_of: null }] } }

  test.each([
    { body: { isbn: '1', title: 'a' }, status: 409 },
    { body: { isbn: '2', title: 'a' }, status: 201 },
    { body: { isbn: '2', title: 'a', sequel_of: '2' }, status: 201 },
    { body: { isbn: '2', title: 'a', sequel_of: '3' }, status: 409 },
  ])('knows the key of a new record: $body', ({ body, status }) => {
    expect(statusOf(books, { operation: 'create', body })).toBe(status)
  })

  const tables = {
    lines: [{ id: '1', oa: '1', ob: 'x', n: '1' }],
    orders: [
      { a: '1', b: 'x', open: 'true' },
      { a: '2', b: 'x', open: 'true' },
      { a: '2', b: 'y', open: 'false' },
    ],
  }
  test.each([
    { body: { oa: '2' }, status: 200 },
    { body: { ob: 'y' }, status: 409 },
    { body: { oa: '2', ob: 'y' }, status: 409 },
    { body: { oa: '2', ob: null }, status: 200 },
    { body: { oa: '1', ob: 'x' }, status: 200 },
  ])('compares all fields of a relation: $body', ({ body, status }) => {
    const lines = { yaml: LINES, name: 'line', tables }
    expect(statusOf(lines, { operation: 'partial_update', id: ['1'], body })).toBe(status)
  })

  test.each([
    { id: ['1', 'x'], status: 409 },
    { id: ['2', 'x'], status: 204 },
  ])('finds the records that refer to $id', ({ id, status }) => {
    expect(statusOf({ yaml: LINES, name: 'order', tables }, { operation: 'destroy', id })).toBe(status)
  })
})

test('an explanation reads the records that a key and a relation over several fields name', async () => {
  const sql = `-- up
create table orders (a integer, b text, open boolean not null, primary key (a, b));
create table lines (id bigint generated always as identity primary key, oa integer not null, ob text, n integer not null);
insert into orders values (1, 'x', true), (1, 'y', false);
`
  const project = await makeProject({ 'resources.yaml': LINES, 'migrations/0001_orders.sql': sql })
  const database = await openOnlyOnServer()
  try {
    const options = { cwd: project.folder, env: envOf(database) }
    await runInHost(['migrate', 'up'], options)
    const verdictOf = async (path: string, body: object) => {
      const data = ['--database', '--data', JSON.stringify(body)]
      const asked = ['access', '--as', '{"sub":"ann","roles":["member"]}', 'POST', path, ...data]
      return (await runInHost(asked, options)).stdout.split('\n')[1]
    }
    expect(await verdictOf('/api/lines/', { oa: 1, ob: 'x', n: 1 })).toBe('allowed: 201')
    expect(await verdictOf('/api/lines/', { oa: 1, ob: 'y', n: 1 })).toBe('denied: 409')
    expect(await verdictOf('/api/orders/', { a: 1, b: 'y', open: true })).toBe('denied: 409')
    expect(await verdictOf('/api/orders/', { a: 1, b: 'z', open: true })).toBe('allowed: 201')
  } finally {
    await database?.close()
    await project.remove()
  }
})

test('makes records whose relations over several fields share the field of the tenant', async () => {
  const owned = (fields: string, more = '') => `
    fields: { id: { type: bigint, primary_key: true }, tenant: { type: integer }, ${fields} }
    indexes: [{ fields: [tenant, id], unique: true }]${more}`
  const rules = 'access: [{ to: member, may: all, rows: { tenant: $tenant } }]'
  const verified = await verify(`version: 1
auth: { roles: { names: [member] }, claims: { tenant: { type: integer } } }
models:
  product:${owned('sku: { type: string, max: 9 }')}
  invoice:${owned(
    'buyer: { type: bigint }, sent: { type: boolean }',
    '\n    relations: { customer: { model: customer, fields: [tenant, buyer], references: [tenant, id] } }',
  )}
  customer:${owned('name: { type: string, max: 9 }')}
  line:
    primary_key: [tenant, invoice_id, position]
    fields:
      tenant: { type: integer }
      invoice_id: { type: bigint }
      position: { type: integer }
      product_id: { type: bigint, nullable: true }
    relations:
      product: { model: product, fields: [tenant, product_id], references: [tenant, id] }
      invoice: { model: invoice, fields: [tenant, invoice_id], references: [tenant, id] }
resources:
  customer: { model: customer, path: /customers/, ${rules} }
  product: { model: product, path: /products/, ${rules} }
  invoice: { model: invoice, path: /invoices/, ${rules} }
  line: { model: line, path: /lines/, expand: [product, invoice], ${rules} }
`)
  expect(verified).toMatchObject({ code: 0, empty: [], idle: [], differences: [] })
})
