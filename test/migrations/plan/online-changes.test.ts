import { readFile } from 'node:fs/promises'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { openDatabase } from '../../../src/db/open.js'
import type { Json } from '../../../src/foundation/json.js'
import { schemaDifferences } from '../../../src/migrations/drift/verify.js'
import { readMigrations } from '../../../src/migrations/files/files.js'
import { planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { migrateDown, migrateUp, migrationStatus } from '../../../src/migrations/run/run.js'
import { describeBlocker } from '../../../src/migrations/run/watch.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { failureOf, type Folder, makeFolder, specOf } from '../../support/migrations.js'
import { buildMigrator, killNow, startMigrator, until } from '../../support/migrators.js'
import { describeSchema } from '../../support/schema-oracle.js'

type Fields = Readonly<Record<string, Json>>
type Models = Readonly<Record<string, { readonly fields: Fields; readonly [key: string]: Json }>>

const id = { type: 'bigint', primary_key: true }
const author = { table: 'authors', fields: { id, name: { type: 'string', max: 40 } } }
const fields: Fields = {
  id,
  title: { type: 'string', min: 1, max: 100 },
  code: { type: 'string', max: 20 },
  pages: { type: 'integer', nullable: true },
}
const books = (more: Fields, rest: Readonly<Record<string, Json>> = {}): Models => ({
  author,
  book: { table: 'books', ...rest, fields: { ...fields, ...more } },
})
const BASE = books({})
const indexed = (index: Json): Models => books({}, { indexes: [index] })
const UNIQUE: Fields = { code: { type: 'string', max: 20, unique: true } }
const LIVING = books(
  { removed_at: { type: 'timestamp', nullable: true } },
  { indexes: [{ fields: ['code'], unique: true, where: { removed_at__isnull: true } }] },
)
const reader: Fields = { author: { type: 'belongs_to', model: 'author', nullable: true } }

let database: TestDatabase
let scratch: TestDatabase
let folder: Folder

beforeEach(async () => {
  database = await openTestDatabase()
  scratch = await openTestDatabase()
  folder = await makeFolder()
})

afterEach(async () => {
  await database.close()
  await scratch.close()
})

const findLarge = async (tables: readonly string[]) => new Set(tables)
const plan = (models: Models) => planMigration(specOf(models), folder.path, scratch, { findLarge })

/** Applies a configuration, stores rows, and writes the plan of another one. */
async function prepare(from: Models, to: Models) {
  await writeMigration(await plan(from), folder.path, 'first')
  await migrateUp(database, folder.path)
  await database.query({
    text: `insert into authors (name) select 'n' || n from generate_series(1, 50) n`,
    values: [],
  })
  await database.query({
    text: `insert into books (title, code, pages) select 't' || n, 'c' || n, n from generate_series(1, 50) n`,
    values: [],
  })
  const planned = await plan(to)
  expect(planned.rejections).toEqual([])
  const files = await writeMigration(planned, folder.path, 'more')
  return { planned, files }
}

describe('a change of a large table blocks its requests only for a moment, and can be reverted:', () => {
  test.each<[what: string, from: Models, to: Models, files: number]>([
    ['a unique field', BASE, books({ code: { type: 'string', max: 20, unique: true } }), 1],
    ['a unique index', BASE, books({}, { indexes: [{ fields: ['title', 'code'], unique: true }] }), 1],
    [
      'a unique index without case',
      BASE,
      books({}, { indexes: [{ fields: ['code'], unique: true, ignore_case: true }] }),
      1,
    ],
    ['an index instead of another', indexed({ fields: ['code'] }), indexed({ fields: ['code', 'pages'] }), 1],
    [
      'an index with the name of another',
      indexed({ fields: ['title'], where: { code: 'a-b' } }),
      indexed({ fields: ['title'], where: { code: 'a.b' } }),
      2,
    ],
    ['a unique index of some rows instead of a unique field', books(UNIQUE), LIVING, 2],
    [
      'two unique fields instead of one',
      books(UNIQUE),
      books({}, { indexes: [{ fields: ['title', 'code'], unique: true }] }),
      1,
    ],
    ['a rule', BASE, books({ pages: { type: 'integer', nullable: true, minimum: 1 } }), 1],
    ['another rule', BASE, books({ title: { type: 'string', min: 2, max: 100 } }), 2],
    ['a required field', BASE, books({ pages: { type: 'integer' } }), 1],
    ['a required field with a default', BASE, books({ pages: { type: 'integer', default: 7 } }), 2],
    ['a relation', BASE, books(reader), 2],
    [
      'a relation with another action',
      books(reader),
      books({ author: { type: 'belongs_to', model: 'author', nullable: true, on_delete: 'cascade' } }),
      2,
    ],
    ['a longer text with a rule', BASE, books({ title: { type: 'string', min: 1, max: 150 } }), 2],
    [
      'a unique field, and a relation to it',
      BASE,
      {
        ...books({ code: { type: 'string', max: 20, unique: true } }),
        loan: { table: 'loans', fields: { id, book: { type: 'belongs_to', model: 'book', references: 'code' } } },
      },
      2,
    ],
    [
      'all at once',
      BASE,
      books(
        { ...reader, code: { type: 'string', max: 20, unique: true }, pages: { type: 'integer', minimum: 1 } },
        { indexes: [['pages']] },
      ),
      2,
    ],
  ])('%s', async (_what, from, to, count) => {
    const { planned, files } = await prepare(from, to)
    const before = await describeSchema(database)
    expect(files.length).toBe(count)
    const blocking = planned.steps.flatMap(({ locks }) => locks?.works ?? []).filter((work) => work.blocking)
    expect(blocking).toEqual([])
    await migrateUp(database, folder.path)
    expect(await schemaDifferences(specOf(to), database)).toEqual([])
    expect(await plan(to)).toMatchObject({ steps: [], rejections: [] })
    await migrateDown(database, folder.path, { steps: count, allows: () => true })
    expect(await describeSchema(database)).toBe(before)
    await migrateUp(database, folder.path)
    expect(await schemaDifferences(specOf(to), database)).toEqual([])
  })
})

test.each([
  { replaced: { fields: ['code'] }, by: { fields: ['code', 'pages'] }, name: 'books_code_idx' },
  {
    replaced: { fields: ['title'], where: { code: 'a-b' } },
    by: { fields: ['title'], where: { code: 'a.b' } },
    name: 'books_title_code_a_b_idx',
  },
])('an index is dropped only after the index that replaces it was built: $name', async ({ replaced, by, name }) => {
  const { planned } = await prepare(indexed(replaced), indexed(by))
  const file = planned.outsideText ?? planned.text ?? ''
  const [up = ''] = file.split('-- down')
  expect(up.replaceAll(/"replaced_\w+"/g, `"${name}"`).match(/(?:create|drop) index concurrently "\w+"/g)).toEqual([
    expect.stringMatching(/^create /),
    `drop index concurrently "${name}"`,
  ])
  const index = planned.text?.match(/alter index "\w+"/g) ?? []
  expect(index).toEqual(planned.outsideText === undefined ? [] : [`alter index "${name}"`, expect.any(String)])
})

test('a unique constraint is dropped only after the unique index that replaces it was built', async () => {
  const { planned } = await prepare(books(UNIQUE), LIVING)
  expect(planned.text).not.toContain('books_code_key')
  const [up = ''] = (planned.outsideText ?? '').split('-- down')
  expect(up.match(/^(?:create|alter) .*$/gm)).toEqual([
    'create unique index concurrently "books_code_removed_at_null_key" on "books" ("code") where "removed_at" is null;',
    'alter table "books" drop constraint if exists "books_code_key";',
  ])
  expect(planned.steps.map(({ risk }) => risk)).toContainEqual(
    expect.stringMatching(/; stays until the new index is built$/),
  )
})

test.each<{ change: string; pages: Fields }>([
  { change: 'a default', pages: { type: 'integer', nullable: true, default: 7 } },
  { change: 'a value in each row', pages: { type: 'integer' } },
  { change: 'both', pages: { type: 'integer', default: 7 } },
])('an index stays until the index that replaces it was built if its column gets $change', async ({ pages }) => {
  const to = books({ pages }, { indexes: [['pages', 'title']] })
  const { planned } = await prepare(indexed(['pages']), to)
  expect(planned.text ?? '').not.toMatch(/^drop index "/m)
  const [up = ''] = (planned.outsideText ?? planned.text ?? '').split('-- down')
  expect(up.match(/(?:create|drop) index concurrently "\w+"/g)).toEqual([
    expect.stringMatching(/^create /),
    'drop index concurrently "books_pages_idx"',
  ])
})

test('an index whose column is dropped goes with it, before another one is built', async () => {
  const { code: _code, ...others } = fields
  const to = { author, book: { table: 'books', dropped: ['code'], fields: others, indexes: [['pages']] } }
  const { planned } = await prepare(indexed({ fields: ['code'] }), to)
  expect(planned.text).toContain('drop index "books_code_idx"')
  expect(planned.outsideText).not.toContain('drop index concurrently "books_code_idx"')
})

test('a constraint that is replaced under another name restricts new rows between the two files', async () => {
  const range = (minimum: number) => ({ type: 'integer', nullable: true, minimum })
  const { author: relation, pages: _pages, ...others } = { ...fields, ...reader }
  const writer = { ...(relation as Fields), renamed_from: 'author', on_delete: 'cascade' }
  const to = {
    author,
    book: { table: 'books', fields: { ...others, writer, leaves: { ...range(1), renamed_from: 'pages' } } },
  }
  const { planned } = await prepare(books({ ...reader, pages: range(0) }), to)
  const [up = ''] = planned.text?.split('-- down') ?? []
  const constraints = [...up.matchAll(/(drop|add) constraint "(\w+)"(?:;| .* not valid;)/g)]
  expect(constraints.map(([, change, name]) => `${change} ${name}`)).toEqual([
    'drop books_author_id_fkey',
    'drop books_pages_range',
    'add books_leaves_range',
    'add books_writer_id_fkey',
  ])
  await migrateUp(database, folder.path)
  expect(await plan(to)).toMatchObject({ steps: [], rejections: [] })
  await migrateDown(database, folder.path, { steps: 2, allows: () => true })
  await migrateUp(database, folder.path)
})

test('a small table gets one file, whose statements are one transaction', async () => {
  await writeMigration(await plan(BASE), folder.path, 'first')
  const to = specOf(books({ code: { type: 'string', max: 20, unique: true } }))
  const planned = await planMigration(to, folder.path, scratch, { findLarge: async () => new Set(['authors']) })
  expect(planned.text).not.toContain('concurrently')
  expect(planned.outsideText).toBeUndefined()
})

test('a row that breaks a rule is reported, and `migrate up` continues once it is gone', async () => {
  await prepare(BASE, books({ pages: { type: 'integer', nullable: true, minimum: 1 } }))
  await database.query({ text: 'update books set pages = 0 where id = 1', values: [] })
  expect(await failureOf(migrateUp(database, folder.path), folder)).toMatch(
    /^0002_more\.sql:\d+: check constraint "books_pages_range" of relation "books" is violated by some row/,
  )
  await database.query({ text: 'update books set pages = 1 where id = 1', values: [] })
  expect(await migrateUp(database, folder.path)).toMatchObject([{ name: '0002_more' }])
})

test('a file without a transaction has only statements that can run again', async () => {
  await folder.write(
    '0001_a.sql',
    '-- transaction: none\n\n-- up\nalter table a validate constraint b;\nupdate a set b = 1;\n-- down\nalter table a drop constraint b;\n',
  )
  const error = await failureOf(readMigrations(folder.path), folder)
  expect(error.split('\n').map((line) => line.slice(0, 50))).toEqual([
    '0001_a.sql:5: with `-- transaction: none`, a state',
    '0001_a.sql:7: with `-- transaction: none`, a state',
  ])
})

const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

onServer('on a server', () => {
  let program: string

  beforeAll(async () => {
    program = await buildMigrator()
  })

  const to = books({ code: { type: 'string', max: 20, unique: true }, pages: { type: 'integer', minimum: 1 } })

  const unique = books({ code: { type: 'string', max: 20, unique: true } })

  /** Holds a lock with which statements up to one of them succeed, and kills the migrator while it waits there. */
  test.each<[what: string, to: Models, lock: string, waiting: string]>([
    ['an index that is built', unique, "insert into books (title, code) values ('x', 'y')", 'create unique index%'],
    ['a rule that is validated', to, 'lock table books in share row exclusive mode', 'alter table%'],
  ])('a killed migrator is continued by the next one: %s', async (_what, wanted, lock, waiting) => {
    await prepare(BASE, wanted)
    const holder = await openDatabase({ url: database.url, directory: '' }, {})
    try {
      await holder
        .transaction(
          async (connection) => {
            await connection.query({ text: lock, values: [] })
            const child = startMigrator(program, database.url ?? '', folder.path, 'ignore')
            await until(
              database,
              `exists (select from pg_stat_activity where datname = current_database() and query like '${waiting}' and wait_event_type = 'Lock')`,
            )
            await killNow(child)
            throw new Error('rolled back')
          },
          { unlimited: true },
        )
        .catch(() => undefined)
    } finally {
      await holder.close()
    }
    expect((await migrationStatus(database, folder.path)).map(({ state }) => state)).toEqual(['applied', 'pending'])
    await migrateUp(database, folder.path)
    expect(await schemaDifferences(specOf(wanted), database)).toEqual([])
  })

  test.each([1, 2, 3, 4, 5, 6, 7])('a run that ended after statement %i is continued', async (statements) => {
    const { files } = await prepare(BASE, to)
    const [, migration] = await readMigrations(folder.path)
    expect(files.length).toBe(1)
    for (const { text, concurrent } of migration?.up.slice(0, statements) ?? [])
      await database.query({ text: concurrent?.sql ?? text, values: [] })
    expect(await migrateUp(database, folder.path)).toMatchObject([{ name: '0002_more' }])
    expect(await schemaDifferences(specOf(to), database)).toEqual([])
  })

  test('another constraint of the same name is not taken for it', async () => {
    await prepare(BASE, to)
    await database.query({
      text: 'alter table books add constraint books_pages_range check (pages > 7) not valid',
      values: [],
    })
    expect(await failureOf(migrateUp(database, folder.path), folder)).toMatch(
      /"books_pages_range" for relation "books" already exists/,
    )
  })

  test('a migration that waits for a lock names the session that holds it, without its statement', async () => {
    await prepare(BASE, books({ stars: { type: 'integer', nullable: true } }))
    const { url = '' } = database
    const holder = await openDatabase(
      { url: `${url}${url.includes('?') ? '&' : '?'}application_name=report`, directory: '' },
      {},
    )
    const named: string[] = []
    let release: () => void = () => {}
    const released = new Promise<void>((done) => {
      release = done
    })
    try {
      const holding = holder.transaction(
        async (connection) => {
          await connection.query({ text: `select 'secret' from books`, values: [] })
          await released
        },
        { unlimited: true },
      )
      await until(
        database,
        `exists (select from pg_locks where relation = 'books'::regclass and mode = 'AccessShareLock')`,
      )
      const onBlocked = (blockers: readonly Parameters<typeof describeBlocker>[0][]) => {
        named.push(...blockers.map(describeBlocker))
        // On a busy machine, the first attempt may end before it was observed.
        if (blockers.length > 0) release()
      }
      await migrateUp(database, folder.path, { onBlocked })
      await holding
    } finally {
      await holder.close()
    }
    expect(named[0]).toMatch(/^session \d+ \(.+\), idle in transaction, its last statement began \d+ s ago$/)
    expect(named.join()).not.toContain('secret')
  })
})

describe('a column of a large table that becomes required', () => {
  const REQUIRED = books({ pages: { type: 'integer', default: 7 } })

  /** More rows than are filled in one transaction, of which every other one has no value. */
  const MANY = `insert into books (title, code, pages)
    select repeat('t', 90) || n, 'c' || n, case when n % 2 = 0 then n end from generate_series(1, 30000) n`
  const count = async (where: string) =>
    Number((await database.query({ text: `select count(*) from books where ${where}`, values: [] })).rows[0]?.[0])

  test('is filled before requests notice, and again after new rows must have a value', async () => {
    const { files } = await prepare(BASE, REQUIRED)
    expect(await readFile(files[0] ?? '', 'utf8')).not.toContain('update')
    const text = await readFile(files[1] ?? '', 'utf8')
    const fill = 'update "books" set "pages" = 7 where "pages" is null;\n\n'
    const added = 'alter table "books" add constraint "books_pages_required" check ("pages" is not null) not valid;\n\n'
    expect(text).toContain(
      `-- transaction: none\n\n-- up\n\n${fill}${added}${fill}alter table "books" validate constraint`,
    )
    await database.query({ text: MANY, values: [] })
    await migrateUp(database, folder.path)
    expect([await count('pages = 7'), await count('pages is null')]).toEqual([15_001, 0])
  })

  const onServer = testDatabaseKind() === 'postgres' ? test : test.skip
  onServer('is filled by many short transactions, and an interrupted run is continued', async () => {
    await prepare(BASE, REQUIRED)
    await database.query({ text: MANY, values: [] })
    const trap = `create function stop() returns trigger language plpgsql as $$
      begin if new.code = 'c29999' then raise 'interrupted'; end if; return new; end $$;
      create trigger stop before update on books for each row execute function stop()`
    for (const statement of trap.split(/(?<=\$\$);\n/)) await database.query({ text: statement, values: [] })
    expect(await failureOf(migrateUp(database, folder.path), folder)).toMatch(/^0003_more_online\.sql:5: interrupted/)
    const [filled, left] = [await count('pages = 7'), await count('pages is null')]
    expect(filled).toBeGreaterThan(5_000)
    expect(left).toBeGreaterThan(0)
    expect(filled + left).toBe(15_001)
    await database.query({ text: 'drop trigger stop on books', values: [] })
    await migrateUp(database, folder.path)
    expect([await count('pages = 7'), await count('pages is null')]).toEqual([15_001, 0])
    expect(await schemaDifferences(specOf(REQUIRED), database)).toEqual([])
  })

  test('is filled from another table by a hand-written migration', async () => {
    await writeMigration(await plan(BASE), folder.path, 'first')
    await folder.write('0002_other.sql', '-- up\ncreate table other (n integer);\ninsert into other values (7);\n')
    await migrateUp(database, folder.path)
    await folder.write(
      '0003_fill.sql',
      '-- transaction: none\n-- up\nupdate public.books set pages = n from other where pages is null;\n',
    )
    await database.query({ text: MANY, values: [] })
    await migrateUp(database, folder.path)
    expect([await count('pages = 7'), await count('pages is null')]).toEqual([15_000, 0])
  })

  test('is filled in the transaction by an expression that cannot be recognised as one value', async () => {
    const pages = (rest: object) => books({ pages: { type: 'integer', ...rest } })
    await writeMigration(await plan(BASE), folder.path, 'first')
    const byHand = 'alter table books alter pages set default abs(least(1, 2) - 5)'
    await folder.write('0002_by_hand.sql', `-- up\n${byHand};\n-- down\nalter table books alter pages drop default;\n`)
    const planned = await plan(pages({}))
    const [inside = '', outside = ''] = await Promise.all(
      (await writeMigration(planned, folder.path, 'more')).map((file) => readFile(file, 'utf8')),
    )
    expect(inside).toMatch(/^update "books" set "pages" = abs\(.* where "pages" is null;$/m)
    expect(outside).not.toContain('update')
    await migrateUp(database, folder.path)
    expect(await plan(pages({}))).toMatchObject({ steps: [], rejections: [] })
  })
})

test.each([
  ['update books set pages = 1, code = 2 where pages is null'],
  ['update books set pages = 1'],
  ['update books set pages = 1 where code is null'],
  ['update books set pages = 1 where pages is null or true'],
])('a file without a transaction cannot have: %s', async (text) => {
  await folder.write('0001_fill.sql', `-- transaction: none\n\n-- up\n\n${text};\n`)
  expect(await failureOf(readMigrations(folder.path), folder)).toContain(
    '0001_fill.sql:5: with `-- transaction: none`, a statement must be able to run again after an interruption',
  )
})
