import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { messageDifferences } from '../../../src/internal.js'
import { type Api, startApi } from '../../support/api.js'
import { checkText, mistakesOf, specOf } from '../../support/config.js'

const YAML = `version: 1
api: { prefix: "" }
models:
  book:
    table: books
    fields:
      id: { type: bigint, primary_key: true }
      isbn: { type: string, max: 13, unique: true, nullable: true }
      stock: { type: integer, minimum: 0, default: 9 }
      sold: { type: integer, default: 0 }
      shelf: { type: integer, nullable: true }
      place: { type: integer, nullable: true }
      maker: { type: integer, nullable: true }
      row: { type: integer, nullable: true }
      seal: { type: integer, private: true, nullable: true }
    messages:
      books_sold_below_stock: More copies are sold than there were
      books_isbn_key: This ISBN is in the catalogue already
      books_shelf_place: Another book stands there
      books_maker: Nobody has made this book
      Books once a row: There is a book in this row
      books_sealed: This shelf is sealed
      reviews_book: Somebody has reviewed the book
      prizes_book: The book has won a prize
      notes_book: There is a note about the book
  note:
    table: notes
    fields: { id: { type: bigint, primary_key: true }, sold: { type: integer }, book: { type: bigint, nullable: true } }
    messages: { other: Nothing }
  sale:
    table: sales
    fields: { id: { type: bigint, primary_key: true }, year: { type: integer }, code: { type: integer } }
    messages: { sales_code: A code is at least 1, sales_2026_year_code_key: This code is taken in 2026 }
resources:
  book: { model: book, path: /books/, bulk: [create, destroy] }
  note: { model: note, path: /notes/, bulk: [create] }
  sale: { model: sale, path: /sales/, bulk: [create] }
`

const BY_HAND = [
  'alter table books add constraint books_sold_below_stock check (sold <= stock)',
  'create unique index books_shelf_place on books (shelf, place)',
  'create unique index books_sealed on books (shelf, seal)',
  'create table makers (id integer primary key)',
  'alter table books add constraint books_maker foreign key (maker) references makers (id)',
  'alter table books add constraint "Books once a row" exclude using btree ("row" with =) deferrable initially deferred',
  'create table reviews (book integer constraint reviews_book references books (id))',
  'create table prizes (book integer constraint prizes_book references books (id) deferrable initially deferred)',
  'alter table notes add constraint books_sold_below_stock check (sold < 5)',
  'alter table notes add constraint notes_book foreign key (book) references books (id) deferrable initially deferred',
  'drop table sales',
  `create table sales (id bigint generated always as identity, year integer, code integer constraint sales_code check (code > 0),
    constraint one_code_a_year unique (year, code) deferrable initially deferred) partition by range (year)`,
  'create table sales_2026 partition of sales for values from (2026) to (2027)',
  "insert into books (isbn, shelf, place, row) values ('1', 1, 1, 1), (null, 2, null, null), (null, 3, null, null)",
  'insert into notes (sold, book) values (1, 3)',
  'insert into sales (year, code) values (2026, 1)',
  'update books set seal = 7 where shelf = 2',
  'insert into reviews values (1)',
  'insert into prizes values (2)',
  `create function count_sold() returns trigger language plpgsql as
    'begin insert into notes (sold) values (new.sold); return new; end'`,
  'create trigger count_sold after update on books for each row execute function count_sold()',
]

let api: Api
beforeAll(async () => {
  api = await startApi(YAML)
  for (const text of BY_HAND) await api.database.query({ text, values: [] })
})
afterAll(() => api.close())

const SOLD = 'More copies are sold than there were'
const OF_BOTH = { sold: SOLD, stock: SOLD }
const LOW = 'A code is at least 1'
const THERE = 'Another book stands there'
const TAKEN = 'This code is taken in 2026'

interface Problem {
  readonly detail: string
  readonly errors?: unknown
}

describe('a change that a hand-made constraint rejects', () => {
  test.each<
    [what: string, method: string, path: string, body: unknown, status: number, detail: string, errors: unknown]
  >([
    ['a check', 'POST', '/books/', { sold: 10 }, 400, SOLD, OF_BOTH],
    ['a check, in an update', 'PATCH', '/books/1/', { stock: 3, sold: 4 }, 400, SOLD, OF_BOTH],
    ['a check, for one of several records', 'POST', '/books/', [{ sold: 1 }, { sold: 10 }], 400, SOLD, OF_BOTH],
    ['a unique index', 'POST', '/books/', { shelf: 1, place: 1 }, 409, THERE, { shelf: THERE, place: THERE }],
    ['a unique index with a private field', 'PATCH', '/books/1/', { shelf: 2 }, 409, 'This shelf is sealed', undefined],
    [
      'a foreign key',
      'POST',
      '/books/',
      { maker: 5 },
      409,
      'Nobody has made this book',
      { maker: 'Nobody has made this book' },
    ],
    ['a deferred exclusion constraint', 'POST', '/books/', { row: 1 }, 409, 'There is a book in this row', undefined],
    [
      'a unique field',
      'POST',
      '/books/',
      { isbn: '1' },
      409,
      'This ISBN is in the catalogue already',
      { isbn: 'This ISBN is in the catalogue already' },
    ],
    [
      'a foreign key of a table without a model',
      'DELETE',
      '/books/1/',
      undefined,
      409,
      'Somebody has reviewed the book',
      undefined,
    ],
    [
      'a deferred foreign key of a table without a model',
      'DELETE',
      '/books/?ids=2',
      undefined,
      409,
      'The book has won a prize',
      undefined,
    ],
    [
      'a deferred foreign key of a table with a model',
      'DELETE',
      '/books/?ids=3',
      undefined,
      409,
      'There is a note about the book',
      undefined,
    ],
    ['a check of a partition', 'POST', '/sales/', { year: 2026, code: 0 }, 400, LOW, { code: LOW }],
    ['a unique key of a partition', 'POST', '/sales/', { year: 2026, code: 1 }, 409, TAKEN, undefined],
    ['a deferred unique key of a partition', 'POST', '/sales/', [{ year: 2026, code: 1 }], 409, TAKEN, undefined],
    [
      'a constraint of the same name on another table',
      'POST',
      '/notes/',
      { sold: 5 },
      400,
      'Sold is not valid',
      { sold: 'Sold is not valid' },
    ],
    [
      'a constraint of the same name, violated by a trigger',
      'PATCH',
      '/books/1/',
      { sold: 5 },
      400,
      'A value cannot be stored',
      undefined,
    ],
  ])('gets the message of the model: %s', async (what, method, path, body, status, detail, errors) => {
    if (what.includes('private'))
      await api.database.query({ text: 'update books set seal = 7 where id = 1', values: [] })
    const response = await (body === undefined ? api.fetch(path, { method }) : api.send(method, path, body))
    const problem = (await response.json()) as Problem
    expect([response.status, problem.detail, problem.errors]).toEqual([status, detail, errors])
  })

  test('does not use the message of the related model if that record is missing', async () => {
    const response = await api.send('POST', '/notes/', [{ sold: 1, book: 99 }])
    const problem = (await response.json()) as Problem
    expect([response.status, problem.detail]).toEqual([409, 'Book names a record that does not exist'])
  })
})

describe('messages', () => {
  test('cause a warning if the database lacks the constraint, also where a column was dropped', async () => {
    for (const text of ['alter table notes add extra integer', 'alter table notes drop extra'])
      await api.database.query({ text, values: [] })
    const spec = specOf(
      YAML.replace('books_maker:', 'book_maker:').replace('sales_2026_year_code_key', 'one_code_a_year'),
    )
    expect(await messageDifferences(spec, api.database)).toEqual([
      {
        code: 'SC408',
        path: ['models', 'book', 'messages', 'book_maker'],
        part: 'key',
        message: 'the table `books` of the database has no constraint `book_maker`',
        help: ['a constraint with a similar name exists: `books_maker`'],
      },
      {
        code: 'SC408',
        path: ['models', 'note', 'messages', 'other'],
        part: 'key',
        message: 'the table `notes` of the database has no constraint `other`',
        help: ['known: `books_sold_below_stock`, `notes_book`, `notes_pkey`'],
      },
      {
        code: 'SC408',
        path: ['models', 'sale', 'messages', 'one_code_a_year'],
        part: 'key',
        message: 'the table `sales` of the database has no constraint `one_code_a_year`',
        help: ['known: `sales_2026_year_code_key`, `sales_code`'],
      },
    ])
  })

  test('may be those of the check of a domain', async () => {
    const TEMPERATURE = `create domain celsius as integer constraint not_colder check (value > -273);
      create table weather (id bigint generated always as identity primary key, degrees celsius not null)`
    const spec = specOf(`version: 1
database: { managed: false }
models:
  weather:
    table: weather
    fields: { id: { type: bigint, primary_key: true }, degrees: { type: integer } }
    messages: { not_colder: Nothing is colder }
resources: { weather: { model: weather, path: /weather/ } }
`)
    await api.database.query({ text: TEMPERATURE, values: [] })
    expect(await messageDifferences(spec, api.database)).toEqual([])
  })

  test.each([
    ['an empty message', 'some_check: ""', '17:19 SC207'],
    ['a blank message', 'some_check: "  "', '17:19 SC207'],
    ['a number as message', 'some_check: 5', '17:19 SC203'],
    ['the name of a rule of a field', 'books_stock_range: Less than nothing', '17:7 SC323'],
  ])('are rejected with %s', (_what, line, expected) => {
    expect(mistakesOf(YAML.replace('books_sold_below_stock: More copies are sold than there were', line))).toEqual([
      expected,
    ])
  })

  test('do not cause a warning for a declared unique index', () => {
    const text = YAML.replace(
      '    messages:\n',
      '    indexes: [[place, id], { fields: [place, row], unique: true }]\n    messages:\n      books_place_row_key: Taken\n',
    )
    const found = checkText(text)
    expect(Array.isArray(found) && found.map(({ message, help }) => [message, help])).toEqual([
      [
        'the message of `books_place_row_key` belongs next to its declaration',
        ['write it as `message` under `models.book.indexes[1]`'],
      ],
    ])
  })
})
