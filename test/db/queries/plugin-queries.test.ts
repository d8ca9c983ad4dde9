import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Statement } from '../../../src/db/database.js'
import { kindOf } from '../../../src/db/queries/statement-kind.js'
import { type Context, JsonText, type Plugin, Problem, type Transaction } from '../../../src/index.js'
import { type Api, startApi } from '../../support/api.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind, watchDatabase } from '../../support/database.js'
import { waitUntil } from '../../support/wait-until.js'

const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  author:
    table: authors
    fields:
      id: { type: integer, primary_key: true }
      name: { type: string, max: 50, unique: true }
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 20, unique: true }
      pages: { type: integer, minimum: 1, default: 1 }
      price: { type: decimal, precision: 20, scale: 2, nullable: true }
      printed_at: { type: timestamp, nullable: true }
      printed_on: { type: date, nullable: true }
      notes: { type: json, nullable: true }
      available: { type: boolean, nullable: true }
      rating: { type: float, nullable: true }
      isbn: { type: uuid, nullable: true }
      author: { type: belongs_to, model: author, nullable: true }
      author_id: { type: belongs_to, model: author, nullable: true }
      sequel_to: { type: belongs_to, model: book, nullable: true }
resources:
  author: { model: author, path: /authors/ }
  book: { model: book, path: /books/ }
`

type Work = (context: Context) => unknown

/** What the next request does. */
let work: Work = () => undefined

const plugin: Plugin = (app) => {
  const handle = async (context: Context) => ({ status: 200, body: { result: (await work(context)) ?? null } })
  app.route('GET', '/run/', 'run', handle)
  app.route('POST', '/run/', 'change', handle)
}

const RECORDS = `
truncate books, authors restart identity;
insert into authors (name) values ('Ann'), ('Bob');
insert into books (id, title, pages, price, printed_at, printed_on, notes, available, rating, isbn, author_id, author_id_id, sequel_to_id)
overriding system value values
  (1, 'First', 10, 123456789012345678.90, '2024-02-29T12:00:00.1Z', '2024-02-29', '{"big": 9007199254740993}', true, 1.5,
   '0190163d-8694-739b-aea5-966c26f8ad91', 1, 2, null),
  (9007199254740993, 'Second', 20, null, 'infinity', null, null, null, null, null, 1, null, 1),
  (3, 'Third', 30, null, null, null, null, null, null, null, null, null, 3);
select setval('books_id_seq', 100)`

let database: TestDatabase
let sent: Statement[]
let api: Api
/** The same with little time for each request. */
let hasty: Api

beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  const watch = watchDatabase(database)
  sent = watch.sent
  const options = { database: watch.watched, plugin, checkResponses: false }
  api = await startApi(YAML, options)
  hasty = await startApi(YAML, { ...options, limits: { handlerTimeout: 500 } })
})
beforeEach(async () => {
  for (const text of RECORDS.split(';')) await database.query({ text, values: [] })
  sent.length = 0
})
afterAll(async () => {
  await hasty.close()
  await api.close()
  await database.close()
})

/** Without those of the service: in the second after an error, it compares the tables with the configuration. */
const sentByPlugin = () => sent.filter(({ resource }) => resource !== undefined)

/** Sends a request that does this, and returns its answer. */
async function run(next: Work, on = api): Promise<{ readonly status: number; readonly text: string }> {
  work = next
  const response = await on.fetch('/run/', { method: 'POST' })
  return { status: response.status, text: await response.text() }
}

/** Runs this in a request, and returns the value itself. */
async function valueOf<T>(next: (context: Context) => Promise<T>): Promise<T> {
  let result: readonly [T] | undefined
  let failure: unknown
  await run(async (context) => {
    try {
      result = [await next(context)]
    } catch (error) {
      failure = error
    }
  })
  if (!result) throw failure
  return result[0]
}

async function titles(): Promise<readonly unknown[]> {
  return (await database.query({ text: 'select title from books order by id', values: [] })).rows.flat()
}

const onServer = testDatabaseKind() === 'postgres' ? test : test.skip
const describeOnServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

describe('knex in a request', () => {
  test('groups and counts, with every digit', async () => {
    const rows = await valueOf(({ knex }) =>
      knex('books')
        .select('author_id')
        .count({ books: '*' })
        .sum({ worth: 'price' })
        .groupBy('author_id')
        .orderBy('author_id'),
    )
    expect(rows).toEqual([
      { author_id: 1, books: 2n, worth: '123456789012345678.90' },
      { author_id: null, books: 1n, worth: null },
    ])
  })

  test('takes and returns the values of stores', async () => {
    const store = await valueOf(({ knex }) => knex('books').where({ id: 1 }).first())
    expect(store).toEqual({
      id: 1n,
      title: 'First',
      pages: 10,
      price: '123456789012345678.90',
      printed_at: '2024-02-29T12:00:00.100000Z',
      printed_on: '2024-02-29',
      notes: new JsonText('{"big": 9007199254740993}'),
      available: true,
      rating: 1.5,
      isbn: '0190163d-8694-739b-aea5-966c26f8ad91',
      author_id: 1,
      author_id_id: 2,
      sequel_to_id: null,
    })
    const [ids, infinite, bytes] = await valueOf(({ knex }) =>
      Promise.all([
        knex('books').whereIn('id', ['1', '9007199254740993']).orderBy('id').pluck('id'),
        knex('books').where('printed_at', 'infinity').pluck('printed_at'),
        knex.raw(
          "select array_agg(id order by id) ids, '\\x00ff'::bytea bytes, array['a', null, 'b\"c'] texts from books",
        ),
      ]),
    )
    expect(ids).toEqual([1n, 9007199254740993n])
    expect(infinite).toEqual(['infinity'])
    expect(bytes).toMatchObject({
      rowCount: 1,
      rows: [{ ids: [1n, 3n, 9007199254740993n], bytes: Buffer.from([0, 255]), texts: ['a', null, 'b"c'] }],
    })
  })

  test('reads with one statement, and writes in its own transaction', async () => {
    await valueOf(({ knex }) => knex('books').select('id').orderBy('id'))
    expect(sentByPlugin().map(({ text }) => text)).toEqual(['select "id" from "books" order by "id" asc'])
    expect(await valueOf(({ knex }) => knex('books').where('pages', '>', 10).update({ available: false }))).toBe(2)
    expect(await valueOf(({ knex }) => knex('books').where({ id: 3 }).del())).toBe(1)
    expect(await titles()).toEqual(['First', 'Second'])
  })

  test('binds values of every form', async () => {
    const made = await valueOf(({ knex }) =>
      knex('books')
        .insert({
          title: "it's",
          pages: 5n,
          notes: { deep: [1, { n: null }] },
          printed_at: new Date(0),
          available: false,
          price: undefined,
        })
        .returning(['title', 'pages', 'notes', 'printed_at', 'available', 'price']),
    )
    expect(made).toEqual([
      {
        title: "it's",
        pages: 5,
        notes: new JsonText('{"deep": [1, {"n": null}]}'),
        printed_at: '1970-01-01T00:00:00.000000Z',
        available: false,
        price: null,
      },
    ])
    const found = await valueOf(({ knex }) =>
      knex.raw('select ?::int[] ints, ?::text[] texts, ?::bytea bytes', [
        [1, null, 3] as unknown as number[],
        ['a,"b"', '\\'],
        Buffer.from([1]),
      ]),
    )
    expect(found.rows).toEqual([{ ints: [1, null, 3], texts: ['a,"b"', '\\'], bytes: Buffer.from([1]) }])
  })

  test('sends exact digits of a report to the client', async () => {
    const { text } = await run(({ knex }) => knex('books').select('id', 'notes').where({ title: 'First' }))
    expect(text).toBe('{"result":[{"id":1,"notes":{"big": 9007199254740993}}]}')
    const { text: models } = await run(({ models }) => models.book.query().select('id', 'notes').orderBy('id'))
    expect(models).toBe(
      '{"result":[{"id":1,"notes":{"big": 9007199254740993}},{"id":3,"notes":null},{"id":9007199254740993,"notes":null}]}',
    )
  })
})

describe('a transaction', () => {
  const create = (context: Context) =>
    context.transaction(async ({ knex, models }) => {
      await knex('authors').insert({ name: 'New' })
      const [author] = await models.author.query().where({ name: 'New' })
      await models.book.query().insert({ title: 'New', author_id: author.id })
      return models.book.query().where('books.title', 'New').withGraphFetched('author')
    })

  test('sees its own changes, and commits them', async () => {
    expect(await valueOf(create)).toMatchObject([{ title: 'New', author: { name: 'New' } }])
    expect(await titles()).toContain('New')
  })

  test('rolls everything back when it throws', async () => {
    const undone = new Error('undone')
    const failed = valueOf(({ transaction }) =>
      transaction(async (inside) => {
        await inside.knex('books').del()
        expect(await inside.models.book.query().resultSize()).toBe(0)
        throw undone
      }),
    )
    await expect(failed).rejects.toBe(undone)
    expect(await titles()).toHaveLength(3)
  })

  test('includes a query that is not awaited, or fails with it', async () => {
    await valueOf(({ transaction }) =>
      transaction(
        async ({ knex }) =>
          void knex('authors')
            .insert({ name: 'Unawaited' })
            .then(() => undefined),
      ),
    )
    const names = await database.query({ text: "select name from authors where name = 'Unawaited'", values: [] })
    expect(names.rows).toHaveLength(1)
  })

  test('rejects queries after its end', async () => {
    const late = valueOf(async ({ transaction }) => {
      const { knex, models } = await transaction((inside) => Promise.resolve(inside))
      await expect(models.book.query()).rejects.toThrow('after the end of its transaction')
      return knex('authors').insert({ name: 'Late' })
    })
    await expect(late).rejects.toThrow('a statement was sent after its transaction had ended')
  })

  test.each([
    { when: 'without tasks', work: () => {} },
    { when: 'with a task', work: (inside: Transaction) => inside.afterCommit(() => {}) },
    {
      when: 'that was rolled back',
      work: () => {
        throw new Error('undone')
      },
    },
  ])('rejects tasks after its end: $when', async ({ work }) => {
    const late = valueOf(async ({ transaction }) => {
      let kept: Transaction | undefined
      await transaction((inside) => {
        kept = inside
        return Promise.resolve(inside).then(work)
      }).catch(() => {})
      kept?.afterCommit(() => {})
    })
    await expect(late).rejects.toThrow(
      'afterCommit was called after the transaction, or the generated operation, had ended',
    )
  })

  test('does not continue after a swallowed failure', async () => {
    const { status, text } = await run(({ transaction }) =>
      transaction(async ({ knex }) => {
        await knex('authors')
          .insert({ name: 'Ann' })
          .catch(() => {})
      }),
    )
    expect([status, JSON.parse(text)]).toMatchObject([409, { errors: { name: 'Name is taken by another record' } }])
  })

  test.each<readonly [string, (context: Context) => unknown]>([
    ['a knex transaction', ({ knex }) => knex.transaction(async (trx) => trx('books').del())],
    ['a knex transaction without a callback', ({ knex }) => knex.transaction()],
    ['an objection transaction', ({ models }) => models.book.transaction(async () => {})],
    ['a batch insert', ({ knex }) => knex.batchInsert('authors', [{ name: 'x' }])],
    ['begin', ({ knex }) => knex.raw('begin')],
    ['commit after a comment', ({ knex }) => knex.raw('/* ; */ -- x\n commit')],
    ['savepoint', ({ knex }) => knex.raw('savepoint a')],
  ])('is begun and ended only by the framework, not by %s', async (_what, next) => {
    for (const where of [next, (context: Context) => context.transaction(async (inside) => next(inside))]) {
      await expect(valueOf(async (context) => where(context))).rejects.toThrow('context.transaction')
    }
    expect(await titles()).toHaveLength(3)
  })

  test.each([
    ['set statement_timeout = 0', 'set_config'],
    ['create table t (a int)', 'migration'],
    ['copy books from stdin', 'only statements that read or change rows'],
    ['listen x', 'only statements that read or change rows'],
    ['select id into temp books from books', 'cannot send `into` to the database; change tables by a migration'],
    ['with a as (select 1 as n) select n into numbers from a', 'migration'],
    ['explain analyze create temp table books as select 1', 'migration'],
    ['explain (analyze, costs off) select id into temp books from books', 'migration'],
    [`select set_config('app.tenant', '2', false)`, 'write `true` as its third argument'],
    [`values ("set_config"('app.tenant', concat('(', ')'), 1 = 1))`, 'third argument'],
    [`update books set pages = 1 where pg_catalog.set_config ('a.b', 'c', false) = 'c'`, 'third argument'],
    [`explain analyze select set_config('a.b', 'c', false)`, 'third argument'],
    [`update "pg_settings" set setting = 'x' where name = 'search_path'`, 'cannot change `pg_settings`'],
    [`select U&"set\\005fconfig"('app.tenant', '2', false)`, 'cannot write a name with `U&`'],
    [`with a as (update only pg_catalog . "pg_settings" set setting = 'x') select 1`, 'cannot change `pg_settings`'],
    [`update only (pg_settings) set setting = 'x'`, 'cannot change `pg_settings`'],
    [`explain analyze update/**/pg_settings set setting = 'x'`, 'cannot change `pg_settings`'],
    [`update u&"pg!005fsettings" uescape '!' set setting = 'x'`, 'cannot write a name with `U&`'],
    [`select $é$ ' $é$, set_config('a.b', 'c', false)`, 'third argument'],
    [`select set_config(is_local => false, setting_name => 'a.b', new_value => (true)::text)`, 'third argument'],
    ['select setseed(0.5)', 'cannot call `setseed` for the session'],
    [`select pg_create_physical_replication_slot('a', true, true)`, 'administer the server'],
    [`select query_to_xml('select 1', true, true, '')`, 'cannot call `query_to_xml`: it runs a text as SQL'],
    [`select * from ts_stat('select to_tsvector(title) from books')`, 'a function that a migration creates'],
    [`select ts_rewrite('a'::tsquery, 'select ''a''::tsquery, ''b''::tsquery')`, 'cannot call `ts_rewrite`'],
    ['do $$ begin update books set pages = 2; end $$', 'one by one in `context.transaction`'],
    [`/* 1 */ do language plpgsql 'begin end'`, 'its code takes no parameters and cannot be checked'],
    ['explain do $$ begin end $$', 'a function that a migration creates'],
    ['select pg_advisory_lock(1)', 'pg_advisory_xact_lock'],
    ['select (1::bigint).pg_advisory_lock', 'pg_advisory_xact_lock'],
    ['select (array[1::bigint])[1].pg_advisory_lock', 'pg_advisory_xact_lock'],
    ['select (0.5::float8) . "setseed"', 'cannot call `setseed` for the session'],
    [`select (v).a.ts_stat from (select row('select 1')) v`, 'cannot call `ts_stat`'],
    ['select pg_try_advisory_lock_shared(1, 2)', 'pg_advisory_xact_lock'],
  ])('rejects `%s`, because the connection is shared', async (text, advice) => {
    await expect(valueOf(({ knex }) => knex.raw(text).then(String))).rejects.toThrow(advice)
  })

  test.each([
    `select set_config('app.tenant', ')', true)`,
    `select ts_rewrite('a'::tsquery, 'a'::tsquery, 'b'::tsquery)`,
    `select set_config('app.tenant', '2', (true))`,
    `select set_config('app.tenant', '2', true::boolean)`,
    `select $$set_config('app.tenant', '2', false)$$ as text`,
    'select name from pg_settings where false',
    'select pg_advisory_xact_lock(1)',
    `select 'set_config(a, b, false)' as text, 'into' as "into" -- pg_advisory_lock(1)`,
    'explain (costs off) select 1',
    'explain analyze verbose select title as into from books',
    'explain (select 1)',
    `insert into authors (name) select 'x' where false`,
    `select menu&"Flags" from (values (3, 1)) as meals(menu, "Flags")`,
  ])('sends `%s`', async (text) => {
    await expect(valueOf(({ knex }) => knex.raw(text).then(() => 'sent'))).resolves.toBe('sent')
  })

  // Only newer servers have the names.
  test.each([
    `select set_config('app.tenant', '2', is_local => true)`,
    `select set_config(is_local := true, setting_name := 'app.tenant', new_value := '2')`,
  ])('may send `%s`', (text) => {
    expect(kindOf(text)).toBe('write')
  })

  test('accepts only one statement per query', async () => {
    const failed = valueOf(({ knex }) => knex.raw('select 1; delete from books').then(String))
    await expect(failed).rejects.toThrow('cannot insert multiple commands into a prepared statement')
    expect(await titles()).toHaveLength(3)
  })
})

describe('a stream', () => {
  test.each<readonly [string, (context: Context) => unknown]>([
    ['of rows', ({ knex }) => knex('books').stream()],
    ['piped into another', ({ knex }) => knex('books').pipe(process.stderr)],
    ['of a raw query', ({ knex }) => knex.raw('select 1').stream()],
  ])('%s is rejected immediately, with an alternative', async (_what, next) => {
    await expect(valueOf(async (context) => next(context))).rejects.toThrow('`batches` of a store')
  })
})

describe('errors of the database', () => {
  test.each<readonly [string, Work, number, object]>([
    [
      'a duplicate name',
      ({ knex }) => knex('authors').insert({ name: 'Ann' }),
      409,
      { detail: 'Name is taken by another record', errors: { name: 'Name is taken by another record' } },
    ],
    [
      'a missing related record',
      ({ models }) => models.book.query().insert({ title: 'x', author_id: 987654 }),
      409,
      { errors: { author: 'Author names a record that does not exist' } },
    ],
    [
      'a rule',
      ({ models }) => models.book.query().findById(1).patch({ pages: 0 }),
      400,
      { errors: { pages: 'Pages is not valid' } },
    ],
    [
      'a record that others reference',
      ({ models }) => models.author.query().deleteById(1),
      409,
      { detail: 'A record of book still refers to it, by author' },
    ],
    [
      'a missing required value',
      ({ knex }) => knex('books').insert({ title: null }),
      400,
      { errors: { title: 'Title is required' } },
    ],
  ])('%s gives the problem of a generated operation', async (_what, next, status, body) => {
    const answer = await run(next)
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.text)).toMatchObject(body)
    expect(answer.text).not.toMatch(/insert|update|delete from|987654/)
    const inside = await run(({ transaction }) => transaction(async (context) => next(context)))
    expect(inside.status).toBe(status)
    expect(await titles()).toHaveLength(3)
  })

  test('an unknown table or column, or a value of another type in a query, is a bug of the plugin', async () => {
    for (const next of [
      ({ knex }: Context) => knex('bokks'),
      ({ models }: Context) => models.book.query().where('titel', 'x'),
      ({ knex }: Context) => knex('books').where('id', 'secret-value'),
    ]) {
      const { status, text } = await run(next)
      expect(status).toBe(500)
      expect(text).not.toMatch(/bokks|titel|secret|select/)
    }
    expect(api.logged.findLast(({ event }) => event === 'failure')).toMatchObject({ type: 'internal' })
  })

  test('are converted, without statements and values in their messages', async () => {
    const failed: unknown = await valueOf(({ knex }) =>
      knex('authors')
        .insert({ name: 'Ann' })
        .then(String, (error: unknown) => error),
    )
    expect(failed).toBeInstanceOf(Problem)
    expect((failed as Error).message).toBe('Name is taken by another record')
  })
})

describe('models', () => {
  test('fetch relations, even if a column has the same name', async () => {
    const books = await valueOf(({ models }) =>
      models.book.query().orderBy('id').withGraphFetched('[author, author_id_record, sequel_to.author]'),
    )
    expect(books).toMatchObject([
      { title: 'First', author: { name: 'Ann' }, author_id: 1, author_id_record: { name: 'Bob' }, sequel_to: null },
      { title: 'Third', sequel_to: { title: 'Third' } },
      { id: 9007199254740993n, sequel_to: { id: 1n, author: { name: 'Ann' } } },
    ])
    expect(sentByPlugin()).toHaveLength(5)
  })

  test('fetch relations of a thousand records with as many statements as of one', async () => {
    const text = `insert into books (title, author_id) select 'Many ' || n, 1 + n % 2 from generate_series(1, 1000) n`
    await database.query({ text, values: [] })
    const books = await valueOf<readonly { readonly author_id: number; readonly author: { readonly id: number } }[]>(
      ({ models }) => models.book.query().whereLike('title', 'Many%').withGraphFetched('author'),
    )
    expect(books).toHaveLength(1000)
    expect(books.every(({ author_id, author }) => author_id === author.id)).toBe(true)
    expect(sentByPlugin()).toHaveLength(2)
  })

  test('join relations without querying the columns of tables', async () => {
    const books = await valueOf(({ models }) => models.book.query().withGraphJoined('author').orderBy('books.id'))
    expect(books).toMatchObject([{ author: { name: 'Ann' } }, { author: null }, { author: { name: 'Ann' } }])
    expect(sentByPlugin()).toHaveLength(1)
    const joined = await valueOf(({ models }) =>
      models.book.query().joinRelated('author').where('author.name', 'Ann').orderBy('books.id').select('title'),
    )
    expect(joined).toMatchObject([{ title: 'First' }, { title: 'Second' }])
  })

  test('write JSON of every form, and pages of records', async () => {
    const notes = [[1, 2], 'text', { a: 1 }, new JsonText('{"n": 9007199254740993}')]
    const texts = await valueOf(async ({ models }) => {
      for (const [at, note] of notes.entries()) await models.book.query().insert({ title: `note ${at}`, notes: note })
      const { total, results } = await models.book.query().whereLike('title', 'note%').orderBy('id').page(0, 10)
      return [total, ...results.map((book: { readonly notes: JsonText }) => book.notes.text)]
    })
    expect(texts).toEqual([4, '[1, 2]', '"text"', '{"a": 1}', '{"n": 9007199254740993}'])
  })

  test('insert graphs in a transaction', async () => {
    await valueOf(({ transaction }) =>
      transaction(({ models }) => models.book.query().insertGraph({ title: 'Graph', author: { name: 'Grace' } })),
    )
    expect(
      await valueOf(({ models }) => models.book.query().findOne({ title: 'Graph' }).withGraphFetched('author')),
    ).toMatchObject({ author: { name: 'Grace' } })
  })

  test('name the nearest model', async () => {
    await expect(valueOf(async ({ models }) => models.bok)).rejects.toThrow(
      'no model is named `bok`; a model with a similar name exists: `book`',
    )
  })

  test('have the values of stores', async () => {
    const [stored, found] = await valueOf(({ models, knex }) =>
      Promise.all([knex('books').where({ id: 1 }).first(), models.book.query().findById(1)]),
    )
    expect({ ...found }).toEqual(stored)
  })
})

describe('a request after its response', () => {
  test('changes nothing after its deadline', async () => {
    const ended: unknown[] = []
    let proceed = () => {}
    const answered = new Promise<void>((resolve) => (proceed = resolve))
    const next: Work = async ({ knex, models }) => {
      await answered
      for (const late of [() => knex('books').del(), () => models.book.query().delete(), () => knex('books')]) {
        await late().then(
          () => ended.push('done'),
          (error: unknown) => ended.push(error),
        )
      }
    }
    expect((await run(next, hasty)).status).toBe(504)
    proceed()
    await waitUntil(() => ended.length === 3)
    expect(ended).toEqual(Array(3).fill(expect.objectContaining({ type: 'timeout' })))
    expect(await titles()).toHaveLength(3)
  })

  test('completes a change that its handler did not await', async () => {
    let ended: Promise<unknown> | undefined
    const { status } = await run(({ knex }) => {
      ended = knex('authors').insert({ name: 'Unawaited' }).then(String)
    })
    expect(status).toBe(200)
    await ended
    expect((await database.query({ text: 'select from authors', values: [] })).count).toBe(3)
  })
})

describeOnServer('a query that does not finish', () => {
  const HEAVY = 'select count(*) from generate_series(1, 100000) a, generate_series(1, 1000000) b'
  const active = async (word: string): Promise<number> => {
    const text = `select from pg_stat_activity where datname = current_database() and state = 'active' and query like '%${word}%' and pid <> pg_backend_pid()`
    return (await database.query({ text, values: [] })).count
  }

  test.each<readonly [string, Work, string]>([
    ['a read', ({ knex }) => knex.raw(HEAVY), 'generate_series'],
    ['a change', ({ knex }) => knex.raw('insert into authors (name) select pg_sleep(3600)::text'), 'pg_sleep'],
    ['a model', ({ models }) => models.author.query().whereRaw('pg_sleep(3600) is not null'), 'pg_sleep'],
    [
      'a query in a transaction',
      ({ transaction }) => transaction(({ knex }) => knex.raw('select pg_sleep(3600)')),
      'pg_sleep',
    ],
  ])('is cancelled on the server with its request, and named in the log: %s', async (_what, next, word) => {
    let fail: (error: unknown) => void
    const failure = new Promise((resolve) => (fail = resolve))
    const { status } = await run(async (context) => {
      try {
        await next(context)
      } catch (error) {
        fail(error)
        throw error
      }
    }, hasty)
    expect(status).toBe(504)
    expect(await failure).toMatchObject({ type: 'timeout' })
    await waitUntil(async () => (await active(word)) === 0)
    const entry = hasty.logged.findLast(({ event }) => event === 'failure')
    expect(entry).toMatchObject({ type: 'timeout', statement: expect.stringContaining(word) })
  })

  test('leaves connections usable for others', async () => {
    await Promise.all(Array.from({ length: 5 }, () => run(({ knex }) => knex.raw(HEAVY), hasty)))
    for (let at = 0; at < 30; at++) expect((await run(({ knex }) => knex('books').count())).status).toBe(200)
  })
})

onServer('a query outside a transaction does not see uncommitted changes (needs two sessions)', async () => {
  const seen = await valueOf(({ transaction, knex }) =>
    transaction(async (inside) => {
      await inside.knex('authors').insert({ name: 'Inside' })
      return [(await inside.knex('authors')).length, (await knex('authors')).length]
    }),
  )
  expect(seen).toEqual([3, 2])
})

test('an after-commit task has its own queries', async () => {
  const seen = await new Promise((resolve) => {
    void run(({ transaction }) =>
      transaction(async (inside) =>
        inside.afterCommit(async ({ knex, models }) => {
          await knex('authors').insert({ name: 'After' })
          resolve(await models.author.query().resultSize())
        }),
      ),
    )
  })
  expect(seen).toBe(3)
})

test('an unavailable database is a 503 that contains no SQL', async () => {
  const away = await openTestDatabase()
  const unavailable = await startApi(YAML, { database: away, plugin, checkResponses: false })
  await away.close()
  for (const next of [({ knex }: Context) => knex('books'), ({ models }: Context) => models.book.query().delete()]) {
    work = next
    const response = await unavailable.fetch('/run/', { method: 'POST' })
    expect([response.status, await response.text()]).toEqual([
      503,
      expect.not.stringMatching(/select|delete|books|knex/),
    ])
  }
  await unavailable.close()
})

test('a request without queries creates no knex instance', async () => {
  const { status } = await run((context) => {
    const copy = { ...context }
    expect(Object.keys(copy)).not.toContain('knex')
  })
  expect(status).toBe(200)
})
