import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Json } from '../../../src/foundation/json.js'
import { countRows } from '../../../src/migrations/plan/prove/row-counts.js'
import { planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { migrateUp } from '../../../src/migrations/run/run.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { makeFolder, specOf } from '../../support/migrations.js'

let database: TestDatabase
let scratch: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
  scratch = await openTestDatabase()
})

afterEach(async () => {
  await database.close()
  await scratch.close()
})

type Models = { readonly [name: string]: Json }

const ID = { type: 'bigint', primary_key: true }
const book = (fields: Models): Models => ({ book: { table: 'books', fields: { id: ID, ...fields } } })
const author = { author: { table: 'authors', fields: { id: ID } } }
const writer = { writer: { table: 'writers', renamed_from: 'authors', fields: { id: ID } } }
const NUMBER = { type: 'bigint', nullable: true }
const ROWS = `
  insert into authors overriding system value values (1), (2);
  insert into books (author_id) values (1), (1), (7), (8), (null)`

test.each<[what: string, from: Models, rows: string, to: Models, says: string]>([
  [
    'another table',
    { ...book({ author_id: NUMBER }), ...author },
    ROWS,
    { ...book({ author: { type: 'belongs_to', model: 'author', nullable: true } }), ...author },
    '2 of 5 rows refer to a missing row',
  ],
  [
    'another table that is renamed',
    { ...book({ author_id: NUMBER }), ...author },
    ROWS,
    { ...book({ author: { type: 'belongs_to', model: 'writer', nullable: true } }), ...writer },
    '2 of 5 rows refer to a missing row',
  ],
  [
    'a table that the plan creates',
    book({ author_id: NUMBER }),
    'insert into books (author_id) values (1), (null)',
    { ...book({ author: { type: 'belongs_to', model: 'author', nullable: true } }), ...author },
    '1 of 2 rows refer to a missing row',
  ],
  [
    'its own table, in a renamed column',
    book({ before: NUMBER }),
    'insert into books (before) values (1), (1), (5), (null)',
    book({ sequel: { type: 'belongs_to', model: 'book', nullable: true, renamed_from: 'before' } }),
    '1 of 4 rows refer to a missing row',
  ],
])('a foreign key to %s is planned with the number of orphaned rows', async (_what, from, rows, to, says) => {
  const folder = await makeFolder()
  await writeMigration(await planMigration(specOf(from), folder.path, scratch), folder.path)
  await migrateUp(database, folder.path)
  for (const text of rows.split(';')) await database.query({ text, values: [] })
  const { steps } = await countRows(await planMigration(specOf(to), folder.path, scratch), database)
  const keys = steps.filter(({ subject }) => subject.endsWith('_fkey'))
  expect(keys).toMatchObject([{ safety: 'risky', count: { says } }])
})

test('a foreign key of a new column counts nothing', async () => {
  const folder = await makeFolder()
  const spec = specOf({ ...book({}), ...author })
  await writeMigration(await planMigration(spec, folder.path, scratch), folder.path)
  await migrateUp(database, folder.path)
  const to = { ...book({ author: { type: 'belongs_to', model: 'author', nullable: true } }), ...author }
  const { steps } = await countRows(await planMigration(specOf(to), folder.path, scratch), database)
  expect(steps.find(({ subject }) => subject.endsWith('_fkey'))?.risk).toBeUndefined()
  expect(steps.filter(({ count }) => count !== undefined)).toEqual([])
})

test('a new relation whose default names no row is rejected, because every row gets it', async () => {
  const folder = await makeFolder()
  const language = { language: { table: 'languages', fields: { code: { type: 'string', max: 9, primary_key: true } } } }
  await writeMigration(await planMigration(specOf({ ...book({}), ...language }), folder.path, scratch), folder.path)
  await migrateUp(database, folder.path)
  const plan = async (value: string) => {
    const field = { type: 'belongs_to', model: 'language', default: value }
    const planned = await planMigration(specOf({ ...book({ language: field }), ...language }), folder.path, scratch)
    return countRows(planned, database)
  }
  expect((await plan('en-US')).rejections).toEqual([])
  await database.query({ text: "insert into languages values ('en'); insert into books default values", values: [] })
  expect((await plan('en')).rejections).toEqual([])
  expect((await plan('en-US')).rejections).toEqual([
    "books.books_language_id_fkey cannot be added, because 1 of 1 rows refer to a missing row: they get the default 'en-US'::character varying: " +
      'give the field a default that refers to a row of languages, make the field `nullable` without a default, ' +
      'or first add the missing row to languages, in a migration of its own if other databases lack the row, too',
  ])
})

test('orphans of a foreign key to a column without an index are counted before the time limit', async () => {
  const folder = await makeFolder()
  const tag = (fields: Models): Models => ({ tag: { table: 'tags', fields: { id: ID, ...fields } } })
  const from = { ...book({ author_id: NUMBER }), ...tag({ code: { type: 'bigint' } }) }
  await writeMigration(await planMigration(specOf(from), folder.path, scratch), folder.path)
  await migrateUp(database, folder.path)
  await database.query({ text: 'insert into tags (code) select generate_series(1, 80000)', values: [] })
  await database.query({ text: 'insert into books (author_id) select generate_series(2, 80001)', values: [] })
  const author: Json = { type: 'belongs_to', model: 'tag', references: 'code', column: 'author_id', nullable: true }
  const to = { ...book({ author }), ...tag({ code: { type: 'bigint', unique: true } }) }
  const { steps } = await countRows(await planMigration(specOf(to), folder.path, scratch), database)
  const says = '1 of 80,000 rows refer to a missing row'
  expect(steps.filter(({ subject }) => subject.endsWith('_fkey'))).toMatchObject([{ count: { says } }])
})

test('orphans are counted if the table that they refer to is named like an alias', async () => {
  const folder = await makeFolder()
  const models = (reference: Json): Models => ({
    owner: { table: 'own', fields: { value1: { type: 'integer', primary_key: true, key: 'client' } } },
    book: { table: 'there', fields: { id: ID, value1: reference } },
  })
  await writeMigration(
    await planMigration(specOf(models({ type: 'integer', nullable: true })), folder.path, scratch),
    folder.path,
  )
  await migrateUp(database, folder.path)
  await database.query({ text: 'insert into own values (1); insert into there (value1) values (1)', values: [] })
  await database.query({ text: 'insert into there (value1) values (2)', values: [] })
  const to = models({ type: 'belongs_to', model: 'owner', column: 'value1', nullable: true })
  const { steps } = await countRows(await planMigration(specOf(to), folder.path, scratch), database)
  const says = '1 of 2 rows refer to a missing row'
  expect(steps.filter(({ subject }) => subject.endsWith('_fkey'))).toMatchObject([{ count: { says } }])
})
