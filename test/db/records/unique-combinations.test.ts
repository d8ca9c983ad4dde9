import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'
import { mistakesOf } from '../../support/config.js'

const CONFIG = `version: 1
api: { prefix: "" }
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100 }
      publisher: { type: integer, nullable: true }
      code: { type: string, max: 10, nullable: true }
      shelf: { type: integer, nullable: true }
  loan:
    table: loans
    fields:
      id: { type: bigint, primary_key: true }
      book: { type: belongs_to, model: book }
      member: { type: integer }
      day: { type: date, nullable: true }
      hidden: { type: integer, private: true, default: 0 }
    indexes:
      - { fields: [book, member], unique: true }
      - { fields: [member, day], unique: true, message: This member has a loan on that day already }
      - { fields: [day, hidden], unique: true }
resources:
  books: { model: book, path: /books/ }
  loans: { model: loan, path: /loans/, bulk: [create] }
`

let api: Api
beforeAll(async () => {
  api = await startApi(CONFIG, { checkResponses: false })
  const statements = [
    'create table publishers (id integer primary key)',
    'alter table books add constraint by_hand foreign key (publisher) references publishers (id)',
    'create unique index also_by_hand on books (code, shelf)',
    "insert into books (title) values ('a'), ('b')",
    'insert into loans (book_id, member) values (1, 1)',
    "insert into loans (book_id, member, day, hidden) values (2, 2, '2026-01-01', 7)",
    "insert into loans (book_id, member, day) values (2, 3, '2026-02-02')",
    "insert into books (title, code, shelf) values ('c', 'x', 1)",
  ]
  for (const text of statements) await api.database.query({ text, values: [] })
})
afterAll(() => api.close())

const BOTH = 'The combination of Book and Member is taken by another record'
const BY_HAND = 'The combination of Code and Shelf is taken by another record'
const OWN = 'This member has a loan on that day already'

test.each([
  ['errors at each of its fields', '/loans/', { book: 1, member: 1 }, { book: BOTH, member: BOTH }],
  [
    'the index of the record in an array',
    '/loans/',
    [
      { book: 1, member: 9 },
      { book: 1, member: 1 },
    ],
    { '1.book': BOTH, '1.member': BOTH },
  ],
  ['its own message', '/loans/', { book: 1, member: 2, day: '2026-01-01' }, { member: OWN, day: OWN }],
  [
    'errors at the columns of a hand-made index',
    '/books/',
    { title: 'd', code: 'x', shelf: 1 },
    { code: BY_HAND, shelf: BY_HAND },
  ],
  [
    'an error at the column of a hand-made foreign key',
    '/books/',
    { title: 'd', publisher: 5 },
    { publisher: 'Publisher names a record that does not exist' },
  ],
])('a duplicate combination is rejected with %s', async (_what, path, body, errors) => {
  const response = await api.send('POST', path, body)
  const problem = (await response.json()) as { readonly errors: unknown; readonly detail: string }
  expect([response.status, problem.errors, problem.detail]).toEqual([409, errors, Object.values(errors)[0]])
})

test('a duplicate combination with a private field is rejected without naming any field', async () => {
  const response = await api.send('POST', '/loans/', { book: 1, member: 8, day: '2026-02-02' })
  const problem = (await response.json()) as { readonly errors?: unknown; readonly detail: string }
  expect([response.status, problem.errors, /day|hidden/i.test(problem.detail)]).toEqual([409, undefined, false])
})

test('a message for an index that is not unique is an error of check', () => {
  expect(mistakesOf(CONFIG.replace('unique: true, message', 'message'))).toEqual(['22:34 SC319'])
})
