import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { planMigration } from '../../../src/migrations/plan/generate.js'
import { schemaDifferences } from '../../../src/migrations/drift/verify.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { specOf } from '../../support/config.js'
import { makeFolder } from '../../support/migrations.js'

const MODELS = {
  book: {
    table: 'books',
    fields: {
      id: { type: 'bigint', primary_key: true },
      title: { type: 'string', min: 1, max: 100 },
      isbn: { type: 'text', unique: true, nullable: true },
      price: { type: 'decimal', precision: 8, scale: 2, default: '0.00' },
      author: { type: 'belongs_to', model: 'author' },
      made_at: { type: 'timestamp', auto: 'on_create' },
    },
  },
  author: { table: 'authors', fields: { id: { type: 'integer', primary_key: true } } },
}
const specWith = (book: object) =>
  specOf(
    JSON.stringify({ version: 1, models: MODELS, resources: { book: { model: 'book', path: '/books/', ...book } } }),
  )
const SPEC = specWith({})

let database: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
  const { text } = await planMigration(SPEC, (await makeFolder()).path, database)
  await database.query({ text: (text ?? '').split('-- down')[0] ?? '', values: [] })
})

afterEach(() => database.close())

describe('the schema of a database', () => {
  test('matches if the migrations created it, whatever else it has', async () => {
    expect(await schemaDifferences(SPEC, database)).toEqual([])
    const more = `create table other (id int); create index other_title on books (title);
      alter table books add note text, add size int not null default 1, add double int not null generated always as (1 + 1) stored`
    await database.query({ text: more, values: [] })
    expect(await schemaDifferences(SPEC, database)).toEqual([])
  })

  test.each<[change: string, differences: readonly string[]]>([
    ['drop table books', ['table books is missing']],
    ['alter table books rename to works', ['table books is missing']],
    [
      'alter table books rename title to name',
      [
        'column books.title is missing',
        'column books.name is not in the configuration, is not null and has no default: no row can be added',
      ],
    ],
    [
      'alter table books alter title type varchar(60) collate "C"',
      ['column books.title is character varying(60) and should be character varying(100)'],
    ],
    [
      'alter table books alter price type numeric(8, 3)',
      ['column books.price is numeric(8,3) and should be numeric(8,2)'],
    ],
    [
      'alter table books alter made_at type timestamp',
      ['column books.made_at is timestamp without time zone and should be timestamp with time zone'],
    ],
    [
      'alter table books alter title type varchar(100) collate "POSIX"',
      ['column books.title is kept in the order "POSIX" and should be kept in the order "C"'],
    ],
    ['alter table books alter title drop not null', ['column books.title takes null and should not']],
    ['alter table books alter isbn set not null', ['column books.isbn takes no null and should']],
    [
      'alter table books alter made_at drop default',
      ['column books.made_at has no default, and the server should fill it in'],
    ],
    ['alter table books alter id drop identity', ['column books.id has no default, and the server should fill it in']],
    ['alter table books drop constraint books_isbn_key', ['table books lacks: unique ("isbn")']],
    ['alter table books drop constraint books_isbn_key; create unique index on books (isbn)', []],
    [
      'alter table books drop constraint books_isbn_key; create unique index on books (isbn) where id > 0',
      ['table books lacks: unique ("isbn")'],
    ],
    [
      'alter table books drop constraint books_author_id_fkey',
      ['table books lacks: foreign key ("author_id") references "authors" ("id") on delete restrict'],
    ],
    [
      'alter table books add must int not null',
      ['column books.must is not in the configuration, is not null and has no default: no row can be added'],
    ],
  ])('after `%s`: %j', async (change, differences) => {
    await database.query({ text: change, values: [] })
    expect(await schemaDifferences(SPEC, database)).toEqual(differences)
  })

  test('may have required columns without a field where no resource creates records', async () => {
    await database.query({ text: 'alter table books add must int not null', values: [] })
    expect(await schemaDifferences(specWith({ read_only: true }), database)).toEqual([])
  })
})
