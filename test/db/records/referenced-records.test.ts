import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'

const key = 'id: { type: bigint, primary_key: true }'
const author = 'type: belongs_to, model: author'
const YAML = `version: 1
api: { prefix: "" }
models:
  author: { fields: { ${key} } }
  book: { fields: { ${key}, author: { ${author} } } }
  note: { fields: { ${key}, author: { ${author} } } }
  bill: { fields: { ${key}, payer: { ${author}, private: true, default: 1 } } }
  chapter: { fields: { ${key}, author: { ${author}, on_delete: cascade } } }
  page: { fields: { ${key}, chapter: { type: belongs_to, model: chapter } } }
  moment: { fields: { at: { type: timestamp, primary_key: true, key: client } } }
  event: { fields: { ${key}, moment: { type: belongs_to, model: moment } } }
  lot: { managed: false, fields: { ${key} } }
  bid: { managed: false, fields: { ${key}, lot: { type: belongs_to, model: lot } } }
plugins: [./plugin.mjs]
resources:
  lot: { model: lot, path: /lots/ }
  bid: { model: bid, path: /bids/ }
  moment: { model: moment, path: /moments/, bulk: [create, destroy] }
  event: { model: event, path: /events/, bulk: [create] }
  author: { model: author, path: /authors/, bulk: [destroy] }
  writer: { model: author, path: /writers/, bulk: [destroy] }
  novel: { model: book, path: /novels/ }
  bill: { model: bill, path: /bills/, read_only: true }
`

let database: TestDatabase
let api: Api
beforeAll(async () => {
  database = await openTestDatabase(ddlOf(specOf(YAML)))
  api = await startApi(YAML, { database, plugin: (app) => app.hooks('writer', { beforeDestroy: () => {} }) })
})
afterAll(async () => {
  await api.close()
  await database.close()
})

test.each([
  ['takes no null', 'author_id bigint not null references author on delete set null'],
  ['has a domain without null', 'author_id filled references author on delete set null'],
  [
    'must not be null by a check',
    'author_id bigint check (author_id is not null) references author on delete set null',
  ],
])('a record is not deleted if a foreign key sets null in a column that %s', async (_what, column) => {
  const run = (sql: string) => database.query({ text: sql, values: [] })
  await run('create domain filled as bigint not null')
  await run(`create table review (id serial primary key, ${column})`)
  try {
    await run('truncate author, review restart identity cascade')
    await run('insert into author default values')
    await run('insert into review (author_id) values (1)')
    const answer = await api.fetch('/authors/1/', { method: 'DELETE' })
    expect([answer.status, await answer.json()]).toMatchObject([
      409,
      { detail: 'The change conflicts with another record' },
    ])
  } finally {
    await run('drop table review')
    await run('drop domain filled')
  }
})

test.each([
  ['a public relation', 'insert into book (author_id) values (1)', 'A record of novel still refers to it, by author'],
  [
    'a model that is not exposed',
    'insert into note (author_id) values (1)',
    'The change conflicts with another record',
  ],
  ['a private relation', 'insert into bill (payer_id) values (1)', 'The change conflicts with another record'],
])(
  'a record that %s references is not deleted, and the message names only public fields',
  async (_what, text, detail) => {
    const run = (sql: string) => database.query({ text: sql, values: [] })
    await run('truncate author restart identity cascade')
    await run('insert into author default values')
    await run(text)
    const answer = await api.fetch('/authors/1/', { method: 'DELETE' })
    expect(answer.status).toBe(409)
    expect(await answer.json()).toMatchObject({ detail })
  },
)

test.each([
  { table: 'book', column: 'author_id', detail: 'A record of novel still refers to it' },
  { table: 'bill', column: 'payer_id', detail: 'The change conflicts with another record' },
])('a constraint that another program has named tells only the table, if it is public: $table', async (referring) => {
  const { table, column, detail } = referring
  const run = (sql: string) => database.query({ text: sql, values: [] })
  const rename = (from: string, to: string) => run(`alter table ${table} rename constraint ${from} to ${to}`)
  await run('truncate author restart identity cascade')
  await run('insert into author default values')
  await run(`insert into ${table} (${column}) values (1)`)
  await rename(`${table}_${column}_fkey`, 'fk_rails_0')
  try {
    const answer = await api.fetch('/authors/1/', { method: 'DELETE' })
    expect([answer.status, await answer.json()]).toMatchObject([409, { detail }])
  } finally {
    await rename('fk_rails_0', `${table}_${column}_fkey`)
  }
})

test('a constraint of a partition, which another program has named, tells the table', async () => {
  const run = (sql: string) => database.query({ text: sql, values: [] })
  await run('create table lot (id bigint primary key) partition by range (id)')
  await run('create table lot_1 partition of lot for values from (0) to (100)')
  await run('create table bid (id bigint primary key, lot_id bigint constraint fk_rails_2 references lot)')
  try {
    await run('insert into lot values (1)')
    await run('insert into bid values (1, 1)')
    const answer = await api.fetch('/lots/1/', { method: 'DELETE' })
    expect([answer.status, await answer.json()]).toMatchObject([
      409,
      // PostgreSQL 18 names the constraint after `fk_rails_2`, earlier versions by its columns.
      { detail: expect.stringMatching(/^A record of bid still refers to it(, by lot)?$/) },
    ])
  } finally {
    await run('drop table bid, lot')
  }
})

test('a constraint of other records, which a deletion deletes too, is not named', async () => {
  const run = (sql: string) => database.query({ text: sql, values: [] })
  await run('truncate author restart identity cascade')
  await run('insert into author default values')
  await run('insert into chapter (author_id) values (1)')
  await run('alter table book add chapter_id bigint constraint fk_rails_1 references chapter')
  try {
    await run('insert into author default values')
    await run('insert into book (author_id, chapter_id) values (2, 1)')
    const answer = await api.fetch('/authors/1/', { method: 'DELETE' })
    expect([answer.status, await answer.json()]).toMatchObject([
      409,
      { detail: 'The change conflicts with another record' },
    ])
  } finally {
    await run('alter table book drop chapter_id')
  }
})

describe('of several records', () => {
  const run = (text: string) => database.query({ text, values: [] })
  const destroy = async (path: string) => {
    const answer = await api.fetch(path, { method: 'DELETE' })
    const { detail, errors } = (await answer.json()) as { readonly detail?: string; readonly errors?: object }
    const { rows } = await run('select count(*) from author')
    return { status: answer.status, detail, errors, left: rows[0]?.[0] }
  }
  beforeEach(async () => {
    await run('truncate author restart identity cascade')
    for (const _ of [1, 2, 3]) await run('insert into author default values')
  })

  test.each(['authors', 'writers'])('the one that is referenced is named, and none is deleted: /%s/', async (path) => {
    await run('insert into book (author_id) values (2)')
    const detail = 'A record of novel still refers to it, by author'
    expect(await destroy(`/${path}/?ids=3,2`)).toEqual({ status: 409, detail, errors: { '1.id': detail }, left: '3' })
  })

  test('the one that is referenced is named by a key that PostgreSQL spells in its own way', async () => {
    const [first, second] = ['2026-11-21T10:00:00.000000Z', '2026-11-21T10:00:00.250000Z']
    expect((await api.send('POST', '/moments/', [{ at: first }, { at: second }])).status).toBe(201)
    expect((await api.send('POST', '/events/', [{ moment: second }])).status).toBe(201)
    expect(
      await destroy(`/moments/?ids=${[first, second].map(encodeURIComponent).map(encodeURIComponent).join()}`),
    ).toMatchObject({
      status: 409,
      errors: { '1.at': 'A record of event still refers to it, by moment' },
    })
  })

  test('none is named if another record than these is referenced', async () => {
    await run('insert into chapter (id, author_id) overriding system value values (1, 2)')
    await run('insert into page (chapter_id) values (1)')
    const detail = 'The change conflicts with another record'
    expect(await destroy('/authors/?ids=1,2')).toEqual({ status: 409, detail, errors: undefined, left: '3' })
  })
})

test('the document says that foreign keys without a model can reject deletes in unmanaged tables', async () => {
  const others = await startApi(
    `version: 1
api: { prefix: "" }
models: { shelf: { table: shelves, managed: false, fields: { id: { type: bigint, primary_key: true } } } }
resources: { shelf: { model: shelf, path: /shelves/ } }
`,
  )
  for (const text of [
    'create table shelves (id bigserial primary key)',
    'insert into shelves default values',
    'create table slots (shelf bigint not null references shelves)',
    'insert into slots values (1)',
  ])
    await others.database.query({ text, values: [] })
  expect((await others.fetch('/shelves/1/', { method: 'DELETE' })).status).toBe(409)
  const { paths } = (await (await others.fetch('/openapi.json')).json()) as {
    paths: Record<string, Record<string, { responses: object }>>
  }
  expect(Object.keys(paths['/shelves/{id}/']?.['delete']?.responses ?? {})).toContain('409')
  await others.close()
})
