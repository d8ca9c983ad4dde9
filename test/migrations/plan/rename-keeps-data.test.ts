import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Json } from '../../../src/foundation/json.js'
import { planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { migrateDown, migrateUp } from '../../../src/migrations/run/run.js'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, runInHost } from '../../support/cli.js'
import { checkText } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { type Folder, makeFolder, specOf } from '../../support/migrations.js'

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

type Models = { readonly [name: string]: Json }

const ID = { type: 'bigint', primary_key: true }
const author = (table: string, more: Models = {}, fields: Models = { name: { type: 'text', unique: true } }) => ({
  author: { table, ...more, fields: { id: ID, ...fields } },
})
const book = (fields: Models, more: Models = {}): Models => ({
  book: { table: 'books', ...more, fields: { id: ID, ...fields, author: { type: 'belongs_to', model: 'author' } } },
})

async function migrateTo(models: Models, folder: Folder): Promise<readonly string[]> {
  const planned = await planMigration(specOf(models), folder.path, scratch)
  expect(planned.rejections).toEqual([])
  await writeMigration(planned, folder.path)
  await migrateUp(database, folder.path)
  return planned.steps.map(({ safety }) => safety)
}

async function cells(text: string) {
  return (await database.query({ text, values: [] })).rows
}

const FIRST = { ...author('authors'), ...book({ size: { type: 'integer', minimum: 1 } }) }
const ROWS = `insert into authors (name) values ('Ada'), ('Bob');
  insert into books (size, author_id) values (1, 1), (2, 2), (3, 2)`

describe('a declared rename', () => {
  test.each<[what: string, to: Models, read: string]>([
    [
      'of a column',
      { ...author('authors'), ...book({ pages: { type: 'integer', minimum: 1, renamed_from: 'size' } }) },
      'select pages, author_id from books order by id',
    ],
    [
      'of a table that others refer to',
      { ...author('writers', { renamed_from: 'authors' }), ...book({ size: { type: 'integer', minimum: 1 } }) },
      'select size, w.id from books join writers w on w.id = author_id order by books.id',
    ],
    [
      'of a relation',
      {
        ...author('authors'),
        book: {
          table: 'books',
          fields: {
            id: ID,
            size: { type: 'integer', minimum: 1 },
            writer: { type: 'belongs_to', model: 'author', renamed_from: 'author' },
          },
        },
      },
      'select size, writer_id from books order by id',
    ],
    [
      'of a table and a column in it, with another type and another rule',
      {
        ...author('authors'),
        book: {
          table: 'volumes',
          renamed_from: 'books',
          fields: {
            id: ID,
            pages: { type: 'bigint', minimum: 0, renamed_from: 'size' },
            author: { type: 'belongs_to', model: 'author' },
          },
        },
      },
      'select pages, author_id from volumes order by id',
    ],
  ])('%s keeps every value in both directions, and the sequence continues', async (_what, to, read) => {
    const folder = await makeFolder()
    await migrateTo(FIRST, folder)
    await database.query({ text: ROWS, values: [] })
    await migrateTo(to, folder)
    const values = [
      ['1', '1'],
      ['2', '2'],
      ['3', '2'],
    ]
    expect(await cells(read)).toEqual(values)
    expect(await planMigration(specOf(to), folder.path, scratch)).toMatchObject({
      steps: [],
      rejections: [],
      notes: [],
    })
    await migrateDown(database, folder.path)
    expect(await cells('select size, author_id from books order by id')).toEqual(values)
    await database.query({ text: 'insert into books (size, author_id) values (4, 1)', values: [] })
    expect(await cells('select max(id)::text from books')).toEqual([['4']])
  })

  test('is a single safe step', async () => {
    const folder = await makeFolder()
    await migrateTo(FIRST, folder)
    const to = { ...author('authors'), ...book({ pages: { type: 'integer', minimum: 1, renamed_from: 'size' } }) }
    expect(new Set(await migrateTo(to, folder))).toEqual(new Set(['safe']))
  })
})

test('a table that is renamed keeps its foreign key to a key that gets another type', async () => {
  const towns = (code: Models, table: Models): Models => ({
    country: { table: 'countries', fields: { id: ID, code: { ...code, unique: true } } },
    city: { ...table, fields: { id: ID, country: { type: 'belongs_to', model: 'country', references: 'code' } } },
  })
  const folder = await makeFolder()
  await migrateTo(towns({ type: 'integer' }, { table: 'cities' }), folder)
  const rows = 'insert into countries (code) values (7); insert into cities (country_id) values (7)'
  await database.query({ text: rows, values: [] })
  await migrateTo(towns({ type: 'string', max: 10 }, { table: 'towns', renamed_from: 'cities' }), folder)
  expect(await cells('select country_id from towns')).toEqual([['7']])
  await expect(cells(`insert into towns (country_id) values ('8')`)).rejects.toThrow('conflicts with another record')
  await migrateDown(database, folder.path)
  await expect(cells('insert into cities (country_id) values (8)')).rejects.toThrow('conflicts with another record')
  await migrateUp(database, folder.path)
  expect(await cells('select country_id from towns')).toEqual([['7']])
})

test('a rename is written into the file by the command, which then plans it', async () => {
  const renamed = BOOKS.replace('title: {', 'heading: {').replace('[title]', '[heading]')
  const project = await makeProject({ 'resources.yaml': renamed, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  try {
    const { code, stdout, stderr } = await runInHost(['migrate', 'plan', '--rename', 'books.title:heading'], {
      cwd: project.folder,
    })
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'added `renamed_from` to resources.yaml: books.title is now heading\n',
    })
    expect(stdout).toMatch(/^ {2}> rename {2}books\.heading +was title/)
    const written = await readFile(join(project.folder, 'resources.yaml'), 'utf8')
    expect(written).toBe(renamed.replace('heading: { type', 'heading: { renamed_from: title, type'))
    expect(checkText(written)).toMatchObject({ models: [{ table: 'books' }] })
  } finally {
    await project.remove()
  }
})

test.each([
  [
    'books.heading:title',
    'error: --rename: the migrations have no books.heading to rename\n  = help: `renamed_from` was removed from resources.yaml again; the former name comes first: --rename old:new\n',
  ],
  [
    'books.title:heading',
    'error: --rename: the model `book` has no field `heading`\n  = help: first rename the field in the file: title becomes heading\n',
  ],
])('changes no file if the migrations or the file lack the renamed field: %s', async (rename, error) => {
  const project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  try {
    const { code, stderr } = await runInHost(['migrate', 'plan', '--rename', rename], { cwd: project.folder })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(error) })
    expect(await readFile(join(project.folder, 'resources.yaml'), 'utf8')).toBe(BOOKS)
  } finally {
    await project.remove()
  }
})
