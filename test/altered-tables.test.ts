import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from './support/api.js'

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
  book: { model: book, path: /books/, filterable: { title: [contains], pages: [gt] } }
`

let api: Api
beforeEach(async () => {
  api = await startApi(YAML)
  await api.send('POST', '/books/', { title: 'first' })
})
afterEach(() => api.close())

describe('a table that was altered while the service runs is a mismatch of the database', () => {
  const toInteger = (column: string) =>
    `alter table books alter ${column} drop default; alter table books alter ${column} type integer using 1`

  test.each([
    ['a column of another type, compared', toInteger('title'), 'GET', '/books/?title__contains=x'],
    ['a column of another type, answered', toInteger('changed_at'), 'GET', '/books/1/'],
    ['a column of another type, set to the time', toInteger('changed_at'), 'PATCH', '/books/1/'],
    ['a column that is missing', 'alter table books drop title', 'GET', '/books/1/'],
    [
      'a column more that takes no null',
      "alter table books add isbn text not null default 'x'; alter table books alter isbn drop default",
      'POST',
      '/books/',
    ],
    [
      'a column that takes no null where the configuration does',
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
    expect(await response.json()).toMatchObject({ detail: 'The database does not fit the configuration' })
  })
})
