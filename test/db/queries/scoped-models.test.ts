import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Context, Middleware, Plugin } from '../../../src/index.js'
import { type Api, startApi } from '../../support/api.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'

const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  shelf:
    table: shelves
    fields:
      id: { type: integer, primary_key: true }
      tenant: { type: integer }
      name: { type: string, max: 50 }
  book:
    table: books
    fields:
      id: { type: integer, primary_key: true }
      tenant: { type: integer }
      title: { type: string, max: 50 }
      shelf: { type: belongs_to, model: shelf, nullable: true }
      sequel: { type: belongs_to, model: book, nullable: true }
  loan:
    table: loans
    fields:
      id: { type: integer, primary_key: true }
      book: { type: belongs_to, model: book }
resources:
  shelf: { model: shelf, path: /shelves/ }
  book: { model: book, path: /books/ }
  loan: { model: loan, path: /loans/ }
`

type Work = (context: Context) => unknown

let work: Work = () => undefined

/** A request that names a tenant has a scope. */
const byTenant: Middleware = (context, next) => {
  const tenant = context.headers['x-tenant']
  if (typeof tenant === 'string') {
    const conditions = [{ field: 'tenant', value: Number(tenant) }]
    context.scope('book', conditions)
    context.scope('shelf', conditions)
  }
  return next()
}

const plugin: Plugin = (app) => {
  app.use(byTenant)
  app.route('POST', '/run/', 'run', async (context) => ({
    status: 200,
    body: { result: (await work(context)) ?? null },
  }))
}

const RECORDS = [
  'truncate loans, books, shelves restart identity',
  "insert into shelves (tenant, name) values (7, 'Mine'), (8, 'Theirs')",
  `insert into books (tenant, title, shelf_id, sequel_id) values
    (7, 'One', 1, null), (7, 'Two', 2, 1), (7, 'Three', 1, 4), (8, 'Secret', 2, null), (8, 'Hidden', 1, 1)`,
  'insert into loans (book_id) values (1), (4)',
]

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  api = await startApi(YAML, { database, plugin, checkResponses: false })
})
afterAll(async () => {
  await api.close()
  await database.close()
})
beforeEach(async () => {
  for (const text of RECORDS) await database.query({ text, values: [] })
})

/** Runs this in a request of tenant 7; resolves or rejects like it. */
async function run<T>(
  next: (context: Context) => T | Promise<T>,
  headers: Record<string, string> = { 'x-tenant': '7' },
): Promise<T> {
  let outcome: { readonly value: T } | undefined
  let failure: unknown
  work = async (context) => {
    try {
      outcome = { value: await next(context) }
    } catch (error) {
      failure = error
    }
  }
  await api.fetch('/run/', { method: 'POST', headers })
  if (!outcome) throw failure
  return outcome.value
}

const HIDDEN = /Secret|Hidden|Theirs/

describe('a model in a request with a scope', () => {
  test.each<readonly [string, (context: Context) => Promise<unknown>, unknown]>([
    [
      'a list',
      ({ models }) => models.book.query().orderBy('id').select('title'),
      [{ title: 'One' }, { title: 'Two' }, { title: 'Three' }],
    ],
    ['a record by its id', ({ models }) => models.book.query().findById(4), undefined],
    ['a count', ({ models }) => models.book.query().resultSize(), 3],
    ['OR conditions', ({ models }) => models.book.query().where('id', 1).orWhere('id', 4).select('id'), [{ id: 1 }]],
    ['a raw condition', ({ models }) => models.book.query().whereRaw('id = 1 or true').resultSize(), 3],
    [
      'groups',
      ({ models }) => models.book.query().select('tenant').count({ books: '*' }).groupBy('tenant'),
      [{ tenant: 7, books: 3n }],
    ],
    [
      'fetched relations',
      ({ models }) =>
        models.book
          .query()
          .orderBy('id')
          .select('id', 'shelf_id', 'sequel_id')
          .withGraphFetched('[shelf, sequel.shelf]'),
      [
        { id: 1, shelf: { name: 'Mine' }, sequel: null },
        { id: 2, shelf: null, sequel: { title: 'One', shelf: { name: 'Mine' } } },
        { id: 3, shelf: { name: 'Mine' }, sequel: null },
      ],
    ],
    [
      'joined relations',
      ({ models }) => models.book.query().orderBy('books.id').withGraphJoined('[shelf, sequel]'),
      [{ shelf: { name: 'Mine' } }, { shelf: null, sequel: { title: 'One' } }, { sequel: null }],
    ],
    [
      'an inner join',
      ({ models }) => models.loan.query().joinRelated('book').select('loans.id', 'book.title'),
      [{ id: 1, title: 'One' }],
    ],
    [
      'relations of a model without a scope',
      ({ models }) => models.loan.query().orderBy('id').withGraphFetched('book'),
      [
        { id: 1, book: { title: 'One' } },
        { id: 2, book: null },
      ],
    ],
    [
      'a subquery',
      ({ models }) => models.loan.query().whereIn('book_id', models.book.query().select('id')).select('id'),
      [{ id: 1 }],
    ],
    [
      'a knex subquery',
      ({ models }) =>
        models.loan
          .query()
          .whereExists(models.loan.knex().from('books').whereRaw('books.id = loans.book_id'))
          .select('id'),
      [{ id: 1 }],
    ],
    [
      'a related query',
      ({ models }) => models.loan.relatedQuery('book').for(models.loan.query().select('id')).select('books.title'),
      [{ title: 'One' }],
    ],
    [
      'a query with its own `with`',
      ({ models }) =>
        models.book
          .query()
          .with('all_books', models.book.query().select('id', 'title'))
          .from('all_books')
          .orderBy('id')
          .select('id'),
      [{ id: 1 }, { id: 2 }, { id: 3 }],
    ],
    [
      'a union',
      ({ models }) =>
        models.book.query().select('title').where('id', 1).union(models.book.query().select('title').where('id', 4)),
      [{ title: 'One' }],
    ],
    ['an alias', ({ models }) => models.book.query().alias('b').where('b.id', '>', 2).select('b.id'), [{ id: 3 }]],
    [
      'a table in a raw fragment',
      ({ models }) => models.loan.query().select(models.loan.raw('(select count(*) from books) n')).limit(1),
      [{ n: 3n }],
    ],
    ['its own knex', ({ models }) => models.book.knex()('books').count({ n: '*' }).first(), { n: 3n }],
    ['a page', ({ models }) => models.book.query().orderBy('id').page(0, 1), { total: 3, results: [{ id: 1 }] }],
  ])('reads only the rows of the scope: %s', async (_what, next, expected) => {
    for (const where of [next, (context: Context) => context.transaction((inside) => next(inside))]) {
      const found = await run(where)
      if (typeof expected === 'object') expect(found).toMatchObject(expected as object)
      else expect(found).toBe(expected)
      expect(
        JSON.stringify(found, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)) ?? '',
      ).not.toMatch(HIDDEN)
    }
  })

  test.each<readonly [string, (context: Context) => Promise<unknown>, string]>([
    [
      'an insert',
      ({ models }) => models.book.query().insert({ tenant: 8, title: 'x' }),
      'change records by `context.store`',
    ],
    ['an update', ({ models }) => models.book.query().patch({ title: 'x' }), 'change records by `context.store`'],
    ['a delete', ({ models }) => models.book.query().deleteById(4), 'change records by `context.store`'],
    [
      'a delete of a model without a scope',
      ({ models }) => models.loan.query().delete(),
      'change records by `context.store`',
    ],
    [
      'a graph',
      ({ models }) => models.loan.query().insertGraph({ book: { tenant: 7, title: 'x' } }),
      'change records by `context.store`',
    ],
    ['a lock', ({ models }) => models.book.query().forUpdate(), '`context.store(…).lock(id)`'],
    [
      'a change in a `with`',
      ({ models }) => models.book.query().with('gone', models.book.raw('delete from books returning *')).from('gone'),
      'change records by `context.store`',
    ],
    [
      'a table with its schema',
      ({ models }) => models.loan.query().whereRaw('exists (select from public.books)'),
      'the query names the table `books` with its schema',
    ],
    [
      'a table with its schema, and comments between',
      ({ models }) => models.loan.query().whereRaw('exists (select from public /* a */ . -- public b\n "books")'),
      'the query names the table `books` with its schema',
    ],
    ['a schema', ({ models }) => models.book.query().withSchema('public'), 'with its schema'],
    [
      'a function',
      ({ models }) => models.loan.query().select(models.loan.raw("table_to_xml('books', true, true, '')")),
      'it calls the function `table_to_xml`',
    ],
    [
      'a function whose name has letters beyond ASCII',
      ({ models }) => models.loan.query().select(models.loan.raw('été()')),
      'it calls the function `été`',
    ],
  ])('rejects a query that cannot be scoped: %s', async (_what, next, message) => {
    await expect(run(next)).rejects.toThrow(`the query of a model cannot be limited to the scope of the request: `)
    await expect(run(next)).rejects.toThrow(message)
    expect((await database.query({ text: 'select from books', values: [] })).count).toBe(5)
  })

  test('sees all rows in a request without a scope', async () => {
    expect(await run(({ models }) => models.book.query().resultSize(), {})).toBe(5)
    expect(await run(({ knex }) => knex('books').count({ n: '*' }).first(), {})).toEqual({ n: 5n })
  })

  test('obeys a scope that is set after it was obtained', async () => {
    const found = await run(async (context) => {
      const { models, knex } = context
      const before = await models.book.query().resultSize()
      context.scope('book', [{ field: 'tenant', value: 8 }])
      await expect(knex('books')).rejects.toThrow('`knex` is not limited to the scope of this request')
      return [before, await models.book.query().resultSize()]
    }, {})
    expect(found).toEqual([5, 2])
  })

  test('obeys the scope in after-commit tasks', async () => {
    const found = await new Promise((resolve) => {
      void run((context) =>
        context.transaction(async (inside) =>
          inside.afterCommit(async ({ models }) => resolve(await models.book.query().resultSize())),
        ),
      )
    })
    expect(found).toBe(3)
  })
})

describe('knex in a request with a scope', () => {
  test.each<readonly [string, (context: Context) => Promise<unknown>]>([
    ['a query', ({ knex }) => knex('books')],
    ['a raw query', ({ knex }) => knex.raw('select * from books').then(String)],
    ['a change', ({ knex }) => knex('books').del()],
    ['a query in a transaction', ({ transaction }) => transaction(({ knex }) => knex('books'))],
    ['a query of another table', ({ knex }) => knex('loans')],
  ])('is rejected: %s', async (_what, next) => {
    await expect(run(next)).rejects.toThrow(
      '`knex` is not limited to the scope of this request; use `context.models` or `context.store`, or `context.unscopedKnex`',
    )
    expect((await database.query({ text: 'select from books', values: [] })).count).toBe(5)
  })

  test('is allowed if the plugin opts in', async () => {
    expect(await run(({ unscopedKnex }) => unscopedKnex('books').count({ n: '*' }).first())).toEqual({ n: 5n })
    expect(
      await run(({ transaction }) => transaction(({ unscopedKnex }) => unscopedKnex('books').where({ id: 5 }).del())),
    ).toBe(1)
  })

  test('is rejected with a 500 that does not mention scopes, and the log explains it', async () => {
    work = ({ knex }) => knex('books')
    const response = await api.fetch('/run/', { method: 'POST', headers: { 'x-tenant': '7' } })
    expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining('scope')])
    const cause = { message: expect.stringContaining('context.unscopedKnex') }
    expect(api.logged.findLast(({ event }) => event === 'failure')).toMatchObject({ type: 'internal', cause })
  })
})
