import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Json } from '../../../src/foundation/json.js'
import { planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { migrateDown, migrateUp } from '../../../src/migrations/run/run.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { failureOf, type Folder, makeFolder, specOf } from '../../support/migrations.js'
import { describeSchema } from '../../support/schema-oracle.js'

type Fields = { readonly [name: string]: Json }

const book = (fields: Fields, indexes: readonly Json[] = []) =>
  specOf({
    book: {
      table: 'books',
      fields: { id: { type: 'bigint', primary_key: true }, note: { type: 'text', nullable: true }, ...fields },
      indexes,
    },
  })

let scratch: TestDatabase
let database: TestDatabase

beforeAll(async () => {
  scratch = await openTestDatabase()
})

afterAll(() => scratch.close())

beforeEach(async () => {
  database = await openTestDatabase()
})

afterEach(() => database.close())

async function write(spec: ReturnType<typeof specOf>, folder: Folder) {
  const planned = await planMigration(spec, folder.path, scratch)
  const [file = ''] = await writeMigration(planned, folder.path)
  return { planned, file }
}

async function see(columns: string) {
  const { rows } = await database.query({ text: `select ${columns} from books order by id`, values: [] })
  return { schema: await describeSchema(database), rows }
}

const ALL = { allows: () => true }

describe('up, down and up again', () => {
  test.each<[what: string, from: Fields, to: Fields, values: string, compare: string]>([
    [
      'a longer text',
      { code: { type: 'string', max: 5 } },
      { code: { type: 'string', max: 9 } },
      `'a', 'bc ', 'd    '`,
      'code',
    ],
    [
      'a shorter text',
      { code: { type: 'string', max: 9 } },
      { code: { type: 'string', max: 5 } },
      `'a', 'bc ', 'd    '`,
      'code',
    ],
    ['a wider number', { code: { type: 'integer' } }, { code: { type: 'bigint' } }, '1, -5, 2147483647', 'code'],
    [
      'a float as a decimal',
      { code: { type: 'float' } },
      { code: { type: 'decimal', precision: 9, scale: 2 } },
      '0, -1.5, 100',
      'code::float8',
    ],
    ['a float as text', { code: { type: 'float' } }, { code: { type: 'text' } }, `'-0', 1.5, -2.25`, 'code::text'],
    ['a number as text', { code: { type: 'integer' } }, { code: { type: 'text' } }, '1, -5, 7', 'code::text'],
    ['a text as a number', { code: { type: 'text' } }, { code: { type: 'integer' } }, `'1', '-5', '7'`, 'code::text'],
    [
      'a boolean as a number',
      { code: { type: 'boolean' } },
      { code: { type: 'integer' } },
      'true, false, true',
      'code::integer',
    ],
    [
      'a date as a timestamp',
      { code: { type: 'date' } },
      { code: { type: 'timestamp' } },
      `'2024-02-29', '0001-01-01', '9999-12-31'`,
      `code::date`,
    ],
    [
      'a smaller scale',
      { code: { type: 'decimal', precision: 10, scale: 4 } },
      { code: { type: 'decimal', precision: 8, scale: 2 } },
      '1.5, -2.25, 100',
      'code::float8',
    ],
    [
      'a default, a rule and a key',
      { code: { type: 'integer', default: 1 } },
      { code: { type: 'integer', default: 2, minimum: 0, unique: true, nullable: true } },
      '1, 2, 3',
      'code',
    ],
  ])('keeps every value: %s', async (_what, from, to, values, compare) => {
    const folder = await makeFolder()
    await write(book(from), folder)
    await migrateUp(database, folder.path)
    for (const value of values.split(', ')) await see('id').then(() => insert(value))
    const before = await see(compare)
    await write(book(to), folder)
    await migrateUp(database, folder.path)
    const after = await see(compare)
    expect(after.rows).toEqual(before.rows)
    expect(after.schema).not.toBe(before.schema)
    await migrateDown(database, folder.path)
    expect(await see(compare)).toEqual(before)
    await migrateUp(database, folder.path)
    expect(await see(compare)).toEqual(after)
  })

  const insert = (value: string) =>
    database.query({ text: `insert into books (note, code) values ('n', ${value})`, values: [] })

  test.each<[what: string, from: Json, to: Json, value: string, says: RegExp]>([
    [
      'trailing spaces that would be cut',
      { type: 'string', max: 9 },
      { type: 'string', max: 3 },
      `'a     '`,
      /longer than 3/,
    ],
    ['digits that would be rounded', { type: 'float' }, { type: 'integer' }, '1.5', /invalid input syntax/],
    [
      'decimals that would be rounded',
      { type: 'decimal', precision: 9, scale: 4 },
      { type: 'decimal', precision: 9, scale: 2 },
      '1.005',
      /do not fit numeric\(9,2\)/,
    ],
    ['a time of day', { type: 'timestamp' }, { type: 'date' }, `'2026-11-21T10:00:00Z'`, /have a time of day/],
    [
      'the sign of zero in a decimal',
      { type: 'float' },
      { type: 'decimal', precision: 9, scale: 2 },
      `'-0'`,
      /have no exact form as numeric\(9,2\)/,
    ],
    ['the sign of zero in JSON', { type: 'float', bits: 32 }, { type: 'json' }, `'-0'`, /have no exact form as jsonb/],
    ['a number in another notation', { type: 'text' }, { type: 'integer' }, `'007'`, /have no exact form as integer/],
    ['a number that is not a boolean', { type: 'integer' }, { type: 'boolean' }, '2', /neither 0 nor 1/],
  ])('fails rather than change a value: %s', async (_what, from, to, value, says) => {
    const folder = await makeFolder()
    await write(book({ code: from }), folder)
    await migrateUp(database, folder.path)
    await insert(value)
    const before = await see('*')
    await write(book({ code: to }), folder)
    expect(await failureOf(migrateUp(database, folder.path))).toMatch(says)
    expect(await see('*')).toEqual(before)
  })
})

test.each([
  { limits: 'choices', model: { kind: { type: 'choice', choices: ['x', 'y'] } } },
  { limits: 'one choice', model: { kind: { type: 'choice', choices: ['only'] } } },
  { limits: 'integers of a check', model: { kind: { type: 'integer', minimum: 1, maximum: 3 } } },
])('the test of a plan has rows in a table with a required field of $limits', async ({ model }) => {
  const folder = await makeFolder()
  await write(book(model), folder)
  const { planned } = await write(book({ ...model, more: { type: 'text', nullable: true } }), folder)
  expect(planned.proof).toMatchObject({ rows: 3 })
})

test('the test of a plan has rows in a table with a required column of an enum', async () => {
  const folder = await makeFolder({
    '0001_days.sql': `-- up\ncreate type mood as enum ('sad', 'ok');\ncreate table days (id bigint primary key, mood mood not null);\n`,
  })
  const fields: Fields = {
    id: { type: 'bigint', primary_key: true, key: 'client' },
    mood: { type: 'choice', choices: ['sad', 'ok'] },
    note: { type: 'text', nullable: true },
  }
  const { planned } = await write(specOf({ day: { table: 'days', fields } }), folder)
  expect(planned.proof).toMatchObject({ rows: 3 })
})

test('data that down cannot restore is named in the file and the plan; everything else is restored', async () => {
  const folder = await makeFolder()
  await write(book({ size: { type: 'integer', minimum: 1, unique: true } }, [['size', 'id']]), folder)
  await migrateUp(database, folder.path)
  const empty = await describeSchema(database)
  const { planned, file } = await write(book({}), folder)
  expect(planned.proof).toMatchObject({ rows: 3, losses: ['the values of books.size'] })
  expect(await readFile(file, 'utf8')).toMatch(
    /^-- up\n\n-- destroys the values of books\.size\n[^]*-- down\n\n-- cannot bring back the values of books\.size\n/,
  )
  await migrateUp(database, folder.path, ALL)
  await migrateDown(database, folder.path)
  expect(await describeSchema(database)).toBe(empty)
  await database.query({ text: `insert into books (note, size) values ('a', 1), ('b', 2)`, values: [] })
  await migrateUp(database, folder.path, ALL)
  await migrateDown(database, folder.path)
  expect((await see('note, size')).rows).toEqual([
    ['a', null],
    ['b', null],
  ])
})
