import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { readDrift } from '../../../src/migrations/drift/drift.js'
import { planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { migrateDown, migrateUp } from '../../../src/migrations/run/run.js'
import { schemaDifferences } from '../../../src/migrations/drift/verify.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { makeFolder, specOf } from '../../support/migrations.js'

const FOREIGN = `
  create table "Their table" (id int primary key, book_title text, unique (book_title));
  insert into "Their table" values (1, 'kept'), (2, null);
  create view their_view as select count(*) from "Their table";
  create schema other; create table other.books (id int); insert into other.books values (1)`

const LOOK = `select 'Their table' as t, md5(string_agg(x::text, ',' order by id)), max(xmin::text) from "Their table" x
  union all select 'other.books', md5(string_agg(x::text, ',')), max(xmin::text) from other.books x order by 1`

const ID = { type: 'bigint', primary_key: true }
const FIRST = specOf({ book: { table: 'books', fields: { id: ID, title: { type: 'string', max: 100 } } } })
const SECOND = specOf({
  book: {
    table: 'volumes',
    renamed_from: 'books',
    fields: { id: ID, heading: { type: 'text', renamed_from: 'title' } },
  },
})
const NONE = specOf({ author: { fields: { id: ID } } }, ['volumes', 'Their table'.toLowerCase().replace(' ', '_')])

let database: TestDatabase
let scratch: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase(FOREIGN)
  scratch = await openTestDatabase()
})

afterEach(async () => {
  await database.close()
  await scratch.close()
})

test('tables without migrations are unchanged by all plans, applies and reverts', async () => {
  const look = async () => (await database.query({ text: LOOK, values: [] })).rows
  const before = await look()
  const folder = await makeFolder()
  for (const spec of [FIRST, SECOND, NONE]) {
    const planned = await planMigration(spec, folder.path, scratch)
    expect(planned).toMatchObject({ rejections: [], notes: [] })
    await writeMigration(planned, folder.path)
    await migrateUp(database, folder.path, { allows: (name) => name === 'volumes' })
    expect(await readDrift(database, folder.path, scratch)).toEqual([])
    expect(await schemaDifferences(spec, database)).toEqual([])
    expect(await look()).toEqual(before)
  }
  await migrateDown(database, folder.path, { steps: 3, allows: (name) => ['author', 'books'].includes(name) })
  expect(await look()).toEqual(before)
})
