import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { messageDifferences } from '../../../src/internal.js'
import { type Api, startApi } from '../../support/api.js'
import { specOf } from '../../support/config.js'

const YAML = `version: 1
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 40 }
    messages: { books_in_use: The book is lent }
  draft:
    table: drafts
    managed: false
    fields:
      id: { type: bigint, primary_key: true, key: client }
      title: { type: string, max: 40 }
resources:
  book: { model: book, path: /books/, bulk: [create] }
  draft: { model: draft, path: /drafts/ }
`

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  for (const text of [
    `create function judge() returns trigger language plpgsql as $$ begin
       if tg_op = 'DELETE' then raise 'book % is lent to Ada', old.id using constraint = 'books_in_use'; end if;
       if new.title = 'secret' then raise 'the secret is 42'; end if;
       return new;
     end $$`,
    'create trigger judge before insert or update or delete on books for each row execute function judge()',
    "create view drafts as select id, title from books where title like 'draft%' with check option",
    "insert into books (title) values ('Dune'), ('draft one')",
  ])
    await api.database.query({ text, values: [] })
})
afterAll(() => api.close())

const answer = async (method: string, path: string, body: unknown) => {
  const response = await api.send(method, path, body)
  const { type, detail } = (await response.json()) as { type: string; detail: string }
  return [response.status, type, detail]
}

test('an error that a trigger raises is a conflict, and its text, which may tell values, is not shown', async () => {
  const rejected = [409, '/problems/conflict', 'The database rejected the change']
  expect(await answer('POST', '/api/books/', { title: 'secret' })).toEqual(rejected)
  expect(await answer('PATCH', '/api/books/1/', { title: 'secret' })).toEqual(rejected)
  expect(await answer('POST', '/api/books/bulk/', [{ title: 'Emma' }, { title: 'secret' }])).toEqual(rejected)
  expect(await (await api.fetch('/api/books/')).json()).toEqual([
    { id: 1, title: 'Dune' },
    { id: 2, title: 'draft one' },
  ])
})

test('an error that names a constraint has the message of the configuration', async () => {
  expect(await answer('DELETE', '/api/books/1/', undefined)).toEqual([409, '/problems/conflict', 'The book is lent'])
  expect(await messageDifferences(specOf(YAML), api.database)).toEqual([])
})

test('a record that a view would not show is a conflict', async () => {
  expect(await answer('PATCH', '/api/drafts/2/', { title: 'final' })).toEqual([
    409,
    '/problems/conflict',
    'The database rejected the change',
  ])
})
