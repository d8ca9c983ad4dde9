import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Context, Plugin } from '../../../src/index.js'
import { type Api, startApi } from '../../support/api.js'
import { hasReplicas, type Replicated, startReplicated } from '../../support/replicated.js'
import { waitUntil } from '../../support/wait-until.js'

const describeWithServers = hasReplicas ? describe : describe.skip

const YAML = `version: 1
plugins: [./plugin.mjs]
models:
  book:
    table: books
    fields:
      id: { type: integer, primary_key: true }
      title: { type: string, max: 100 }
  server:
    table: servers
    fields:
      id: { type: integer, primary_key: true }
      name: { type: string, max: 9 }
resources:
  book: { model: book, path: /books/ }
  server: { model: server, path: /servers/ }
`

/** A row of `servers` names the server that answers, whatever the text of the query. */
const TABLES = `
  create table books (id integer generated always as identity primary key, title varchar(100) collate "C" not null);
  insert into books (title) values ('Dune');
  create view servers as select 1 as id, case when pg_is_in_recovery() then 'replica' else 'primary' end as name;
  create sequence tickets;
  create view ticket as select nextval('tickets')::integer as number`
/** Longer than any test takes. */
const LAG = 60_000

type Work = (context: Context) => unknown

let work: Work = () => undefined

const plugin: Plugin = (app) => {
  const handler = async (context: Context) => ({ status: 200, body: { result: (await work(context)) ?? null } })
  app.route('GET', '/run/', 'run', handler)
  app.route('POST', '/run/', 'run-post', handler)
}

const nameOf = (rows: unknown) => (rows as readonly { readonly name: string }[])[0]?.name

const viaKnex = async ({ knex }: Context) => nameOf(await knex('servers').select('name'))

/** The server that answers a query of each kind. */
const SENDERS: readonly (readonly [string, (context: Context) => Promise<unknown>])[] = [
  ['knex', viaKnex],
  ['unscopedKnex', async ({ unscopedKnex }) => nameOf(await unscopedKnex('servers').select('name'))],
  ['models', async ({ models }) => nameOf(await models.server.query())],
]

describeWithServers('queries with a replica', () => {
  let replicated: Replicated
  let api: Api

  beforeAll(async () => {
    replicated = await startReplicated(TABLES.split(';'), LAG)
    api = await startApi(YAML, { plugin, database: replicated.database, checkResponses: false })
    await waitUntil(
      () => run(viaKnex),
      (name) => name === 'replica',
    )
  })

  afterEach(() => replicated?.resume())

  afterAll(async () => {
    await api?.close()
    await replicated?.close()
  })

  async function run(next: Work, { method = 'GET', ...headers }: Readonly<Record<string, string>> = {}) {
    work = next
    const response = await api.fetch('/api/run/', { method, headers })
    const body = (await response.json()) as { readonly result: unknown }
    return response.status === 200 ? body.result : body
  }

  describe.each(SENDERS)('%s', (name, send) => {
    test('reads from it in a GET handler', async () => {
      expect(await run(send)).toBe('replica')
    })

    test('reads from it in a GET handler with a scope', async () => {
      const scoped: Work = (context) => {
        context.scope('server', [{ field: 'id', value: 1 }])
        return send(context)
      }
      const limited = await run(scoped)
      expect(limited).toEqual(name === 'knex' ? expect.objectContaining({ status: 500 }) : 'replica')
    })

    test('reads from the primary with `Prefer: read=primary`, with POST, and in a transaction', async () => {
      expect(await run(send, { prefer: 'read=primary' })).toBe('primary')
      expect(await run(send, { method: 'POST' })).toBe('primary')
      expect(await run(({ transaction }) => transaction(send))).toBe('primary')
    })

    test('reads from the primary in an after-commit task', async () => {
      const seen = await run(
        ({ transaction }) =>
          new Promise((resolve, reject) => {
            transaction(async ({ afterCommit }) => afterCommit((later) => send(later).then(resolve, reject))).catch(
              reject,
            )
          }),
      )
      expect(seen).toBe('primary')
    })
  })

  test.each<readonly [string, Work, unknown]>([
    ['an insert', ({ knex }) => knex('books').insert({ title: 'Emma' }), expect.objectContaining({ rowCount: 1 })],
    [
      'an insert that returns rows',
      ({ models }) => models.book.query().insert({ title: 'Ilium' }).returning('title'),
      { title: 'Ilium' },
    ],
    ['an update', ({ models }) => models.book.query().findById(1).patch({ title: 'Dune' }), 1],
    [
      'a delete in `with`',
      ({ knex }) =>
        knex
          .raw('with gone as (delete from books where id < 0 returning id) select count(*)::integer as gone from gone')
          .then(({ rows }) => rows),
      [{ gone: 0 }],
    ],
    ['a lock', ({ knex }) => knex('books').where('id', 1).forUpdate().select('title'), [{ title: 'Dune' }]],
    [
      'a function that may change rows',
      ({ knex }) => knex.raw("select nextval('tickets') > 0 as taken").then(({ rows }) => rows),
      [{ taken: true }],
    ],
    [
      'a view that changes rows',
      ({ knex }) => knex('ticket').select(knex.raw('number > 0 as taken')),
      [{ taken: true }],
    ],
  ])('%s in a GET handler goes to the primary', async (_what, next, expected) => {
    await replicated.pause()
    expect(await run(next)).toEqual(expected)
  })

  test('a transaction in a GET handler sees what it wrote', async () => {
    await replicated.pause()
    const titles = await run(({ transaction }) =>
      transaction(async ({ knex, models }) => {
        await knex('books').insert({ title: 'Ubik' })
        return (await models.book.query().where('title', 'Ubik')).length
      }),
    )
    expect(titles).toBe(1)
  })

  test('an invalid query fails as it does without a replica', async () => {
    const failing: Work = ({ knex }) => knex('books').select(knex.raw('1 / (id - id)'))
    const [read, written] = [await run(failing), await run(failing, { method: 'POST' })] as {
      readonly status: number
    }[]
    expect(read).toEqual({ ...written, request_id: expect.any(String) })
    expect(read?.status).toBe(500)
  })

  test('no query fails while it is unavailable', async () => {
    await replicated.replica.stop()
    for (const [name, send] of SENDERS) expect([name, await run(send)]).toEqual([name, 'primary'])
    await replicated.replica.start()
  })
})
