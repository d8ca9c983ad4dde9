import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { declareField } from '../../../src/migrations/introspect/choose/declare-field.js'
import { adoptDrift } from '../../../src/migrations/introspect/adopt.js'
import { readDrift } from '../../../src/migrations/drift/drift.js'
import { planMigration } from '../../../src/migrations/plan/generate.js'
import { migrateUp, migrationStatus } from '../../../src/migrations/run/run.js'
import { BOOKS, BOOKS_MIGRATION } from '../../support/cli.js'
import { checkText } from '../../support/config.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { failureOf, type Folder, makeFolder } from '../../support/migrations.js'

let database: TestDatabase
let folder: Folder
let scratch: TestDatabase

beforeAll(async () => {
  scratch = await openTestDatabase()
})

afterAll(() => scratch.close())

beforeEach(async () => {
  database = await openTestDatabase()
  folder = await makeFolder({ '0001_create_books.sql': BOOKS_MIGRATION })
  await migrateUp(database, folder.path)
  await run(`insert into books (title) values ('a'), ('b')`)
})

afterEach(() => database.close())

const run = (text: string) => database.query({ text, values: [] })

describe('an object that is only in the database', () => {
  test.each<[what: string, change: string, object: string, text: RegExp]>([
    [
      'a column',
      `alter table books add tmp text default 'x'`,
      'books.tmp',
      /^column books\.tmp exists only in the database$/,
    ],
    ['a rule', 'alter table books add constraint short check (char_length(title) < 50)', 'books.short', /^constraint/],
    [
      'an index',
      'create index by_title on books (lower(title))',
      'books.by_title',
      /^index books\.by_title exists only/,
    ],
    [
      'a different type',
      'alter table books alter title type text collate "C"',
      'books.title',
      /^column books\.title is text collate "C" not null in the database and character varying\(100\)/,
    ],
    [
      'a column that became nullable',
      'alter table books alter title drop not null',
      'books.title',
      /^column books\.title is/,
    ],
    [
      'a default',
      "alter table books alter title set default 'none'",
      'books.title',
      /^column books\.title is character varying\(100\) collate "C" not null default 'none'::character varying in the database/,
    ],
    [
      'a different rule of the same name',
      `alter table books drop constraint books_title_length,
       add constraint books_title_length check (char_length(title) > 0 and title in ('a', 'b'))`,
      'books.books_title_length',
      /^constraint books\.books_title_length is CHECK .* in the database and CHECK \(.* in the files$/,
    ],
  ])('is reported with a repair that keeps all rows: %s (promise 17)', async (_what, change, object, text) => {
    await run(change)
    const drift = await readDrift(database, folder.path, scratch)
    expect(drift).toEqual([{ object, text: expect.stringMatching(text), repair: { adopt: object } }])
    const { rows } = await run('select * from books order by id')
    await adoptDrift(database, folder.path, { object, scratch })
    expect((await run('select * from books order by id')).rows).toEqual(rows)
    expect(await readDrift(database, folder.path, scratch)).toEqual([])
    expect((await migrationStatus(database, folder.path)).map(({ state }) => state)).toEqual(['applied', 'applied'])
    const fresh = await openTestDatabase()
    try {
      await migrateUp(fresh, folder.path)
      expect(await readDrift(fresh, folder.path, scratch)).toEqual([])
    } finally {
      await fresh.close()
    }
  })

  test.each([
    ['a different value', "'a'", "'b'"],
    ['a value instead of a function call', "upper('a')", "'A'"],
    ['null', "'a'", 'null'],
  ])('may be a default: %s', async (_what, was, is) => {
    await folder.write('0002_more.sql', `-- up\nalter table books add kind varchar(9) default ${was};\n`)
    await migrateUp(database, folder.path)
    expect(await readDrift(database, folder.path, scratch)).toEqual([])
    await run(`alter table books alter kind set default ${is}`)
    const drift = await readDrift(database, folder.path, scratch)
    expect(drift).toMatchObject([{ object: 'books.kind', repair: { adopt: 'books.kind' } }])
    await adoptDrift(database, folder.path, { object: 'books.kind', scratch })
    expect(await readDrift(database, folder.path, scratch)).toEqual([])
  })

  test('becomes a field in the file if it is a column, so that no plan drops it', async () => {
    const columns = `tmp text, code varchar(9) collate "C" not null default 'it''s', size integer default 7, at timestamptz default now()`
    for (const column of columns.split(/, (?=[a-z]+ [a-z])/)) await run(`alter table books add ${column}`)
    let text = BOOKS
    for (const object of ['books.at', 'books.code', 'books.size', 'books.tmp']) {
      const { column } = await adoptDrift(database, folder.path, { object, scratch })
      text = (column && declareField(text, 'resources.yaml', column)) ?? ''
    }
    expect(text).toBe(
      BOOKS.replace(
        'max: 100 }\n',
        `max: 100 }
      at: { type: timestamp, nullable: true, default: { function: now }, private: true }
      code: { type: string, max: 9, default: "it's", private: true }
      size: { type: integer, nullable: true, default: 7, private: true }
      tmp: { type: text, collation: default, nullable: true, private: true }
`,
      ),
    )
    const spec = checkText(text)
    if (Array.isArray(spec)) throw new Error(JSON.stringify(spec))
    expect(await planMigration(spec, folder.path, scratch)).toMatchObject({ steps: [], rejections: [], notes: [] })
  })

  test('is listed if the given name is unknown', async () => {
    await run('alter table books add tmp text')
    await expect(adoptDrift(database, folder.path, { object: 'books.title', scratch })).rejects.toMatchObject({
      errors: ['books.title does not exist only in the database'],
      help: ['There is: books.tmp'],
    })
    await folder.write('0002_more.sql', '-- up\nselect 1;\n')
    expect(await failureOf(adoptDrift(database, folder.path, { object: 'books.tmp', scratch }))).toBe(
      '0002_more must be applied first',
    )
  })
})

test('ignores equivalent spellings of the same expression', async () => {
  const words = `add size varchar(2) default 'm' check (size in ('s', 'm')), add place text default 'a' || 'b'`
  await folder.write(
    '0002_more.sql',
    `-- up\nalter table books ${words};\ncreate index on books (size) where size in ('s', 'm');\n`,
  )
  await migrateUp(database, folder.path)
  expect(await readDrift(database, folder.path, scratch)).toEqual([])
  await run(`alter table books alter size set default 'm'::varchar, alter place set default ('a'::text || 'b'::text)`)
  await run(`alter table books drop constraint books_size_check`)
  await run(
    `alter table books add constraint books_size_check check (size = any (array['s'::varchar, 'm'::varchar]::text[]))`,
  )
  expect(await readDrift(database, folder.path, scratch)).toEqual([])
})

test.each<[change: string, sql: string]>([
  [
    'drop index if exists books_idx; alter table books drop constraint books_title_length',
    'add constraint "books_title_length"',
  ],
  [
    'alter table books drop title',
    'alter table "books" add column "title" character varying(100) collate "C" not null',
  ],
  ['drop table books', 'create table "books" ('],
])('a missing object is reported with the statement that restores it, after `%s`', async (change, sql) => {
  await run(change)
  const [drift] = await readDrift(database, folder.path, scratch)
  expect(drift).toMatchObject({
    text: expect.stringMatching(/ is missing in the database$/),
    repair: { sql: expect.stringContaining(sql) },
  })
})

test.each([{ keys: 'title' }, { keys: 'lower(title)' }])(
  'an index on $keys that could not be built is reported with the statement that builds it again',
  async ({ keys }) => {
    await folder.write('0002_titles.sql', `-- up\ncreate unique index titles on books (${keys});\n`)
    await migrateUp(database, folder.path)
    await run(`drop index titles; insert into books (title) values ('a')`)
    await expect(run(`create unique index concurrently titles on books (${keys})`)).rejects.toThrow()
    const drift = await readDrift(database, folder.path, scratch)
    expect(drift).toEqual([
      {
        object: 'books.titles',
        text: 'index books.titles is not valid in the database: building it failed, or has not ended',
        repair: { sql: 'reindex index concurrently "titles"' },
      },
    ])
    await run(`delete from books where id = (select max(id) from books where title = 'a')`)
    await run('reindex index concurrently "titles"')
    expect(await readDrift(database, folder.path, scratch)).toEqual([])
  },
)
