import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'

const YAML = `version: 1
api: { prefix: "" }
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50 }
      subtitle: { type: string, nullable: true }
      pages: { type: integer, default: 1 }
      changed_at: { type: timestamp, auto: on_update }
resources:
  book: { model: book, path: /books/, filterable: { title: [contains], pages: [gt] }, bulk: [partial_update] }
`

let api: Api
beforeEach(async () => {
  api = await startApi(YAML)
  await api.send('POST', '/books/', { title: 'first' })
})
afterEach(() => api.close())

describe('a table altered at runtime is a mismatch', () => {
  const toInteger = (column: string) =>
    `alter table books alter ${column} drop default; alter table books alter ${column} type integer using 1`

  test.each([
    ['a column of another type in a filter', toInteger('title'), 'GET', '/books/?title__contains=x'],
    ['a column of another type in a response', toInteger('changed_at'), 'GET', '/books/1/'],
    ['a column of another type that is set to the time', toInteger('changed_at'), 'PATCH', '/books/1/'],
    ['a missing column', 'alter table books drop title', 'GET', '/books/1/'],
    [
      'an additional NOT NULL column',
      "alter table books add isbn text not null default 'x'; alter table books alter isbn drop default",
      'POST',
      '/books/',
    ],
    [
      'a column that is NOT NULL although the configuration allows null',
      "update books set subtitle = 'x'; alter table books alter subtitle set not null",
      'POST',
      '/books/',
    ],
  ])('%s', async (_what, change, method, path) => {
    await api.database.query({ text: change, values: [] })
    const body =
      method === 'GET'
        ? {}
        : { method, headers: { 'content-type': 'application/json' }, body: '{"title":"t","subtitle":null}' }
    const response = await api.fetch(path, body)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toMatchObject({ detail: 'The database does not match the configuration' })
  })
})

test.each([
  [
    'a constraint that only the table has',
    "alter table books add constraint titled check (title <> 'Gap')",
    '23514',
    'titled',
  ],
  ['a column shorter than its field', 'alter table books alter title type varchar(2)', '22001', undefined],
])(
  '%s causes a validation error, and the log reports that validation had accepted the value',
  async (_what, change, code, constraint) => {
    await api.database.query({ text: "update books set title = 'a'", values: [] })
    await api.database.query({ text: change, values: [] })
    const response = await api.send('POST', '/books/', { title: 'Gap' }, { 'x-request-id': 'request-1' })
    expect([response.status, await response.json()]).toMatchObject([400, { type: '/problems/validation' }])
    expect(api.logged.filter(({ event }) => event === 'validator_gap')).toMatchObject([
      { event: 'validator_gap', request_id: 'request-1', route: 'book-list', code, constraint },
    ])
    await api.send('POST', '/books/', { title: 5 })
    await api.send('POST', '/nowhere/', {})
    expect(api.logged.filter(({ event }) => event !== 'request')).toHaveLength(1)
    const several = await api.send('PATCH', '/books/', [{ id: 1, title: 'Gap' }])
    expect([several.status, await several.json()]).toMatchObject([400, { type: '/problems/validation' }])
    expect(api.logged.filter(({ event }) => event === 'validator_gap')).toMatchObject([{ code }, { code, constraint }])
  },
)

test('a column that the database should fill, and does not, is a mismatch', async () => {
  const other = await startApi(
    `version: 1
api: { prefix: "" }
database: { managed: false }
models:
  book:
    table: drafts
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 50 }
      words: { type: opaque, column_type: tsvector, generated: true }
resources:
  book: { model: book, path: /drafts/ }
`,
    { database: api.database },
  )
  try {
    const text =
      'create table drafts (id bigint generated always as identity primary key, title text, words tsvector not null)'
    await api.database.query({ text, values: [] })
    const response = await other.send('POST', '/drafts/', { title: 't' })
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { detail: 'The database does not match the configuration' },
    ])
  } finally {
    await other.close()
  }
})
