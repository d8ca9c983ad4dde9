import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { readDrift } from '../../../src/migrations/drift/drift.js'
import { unmanagedTableDifferences } from '../../../src/migrations/drift/unmanaged-tables.js'
import { schemaDifferences } from '../../../src/migrations/drift/verify.js'
import { planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { migrateUp } from '../../../src/migrations/run/run.js'
import { specOf } from '../../support/config.js'
import type { TestDatabase } from '../../support/database.js'
import { openScratch } from '../../../src/db/open.js'
import { type Folder, makeFolder, openForEach } from '../../support/migrations.js'

const SPEC = specOf(`version: 1
models:
  book:
    table: books
    fields: { id: { type: bigint, primary_key: true }, title: { type: string, max: 20 }, pages: { type: integer } }
  a_title:
    table: a_titles
    view: select id, title from stats where title in ('a  b', 'c')
    fields: { id: { type: bigint, primary_key: true }, title: { type: string, max: 20 } }
  stat:
    table: stats
    view: select books.id, books.title, books.pages from books where books.pages > 0 and lower(title) <> 'x'
    fields: { id: { type: bigint, primary_key: true }, title: { type: string, max: 20 }, pages: { type: integer } }
`)
const SECURE = `-- up
alter view stats set (security_barrier = true);
grant select on stats to public;
-- down
`
const RESTORED = /^create or replace view "stats" with \(security_barrier=true\) as SELECT .*;?$/

const databases = openForEach()
let database: TestDatabase
let folder: Folder
/** Its version of PostgreSQL may be another one. */
let embedded: Awaited<ReturnType<typeof openScratch>>
beforeAll(async () => {
  embedded = await openScratch()
})
afterAll(() => embedded.close())
beforeEach(async () => {
  database = databases.database
  folder = await makeFolder()
  await writeMigration(await planMigration(SPEC, folder.path, databases.scratch), folder.path)
  await folder.write('0002_secure.sql', SECURE)
  await migrateUp(database, folder.path)
  expect(await drift()).toEqual([])
  expect(await readDrift(database, folder.path, embedded)).toEqual([])
})

const run = async (text: string) => {
  for (const each of text.split(/;\s*/)) await database.query({ text: each, values: [] })
}
const drift = () => readDrift(database, folder.path, databases.scratch)

test.each([
  [
    'another query',
    'create or replace view stats with (security_barrier) as select id, title, pages from books',
    'view stats is with (security_barrier=true) SELECT ',
    RESTORED,
  ],
  [
    'no option',
    'alter view stats reset (security_barrier)',
    /^view stats is SELECT .* in the database and with \(sec/,
    RESTORED,
  ],
  [
    'one more column',
    `create or replace view stats with (security_barrier) as select id, title, pages, 1 as one from books where pages > 0 and lower(title) <> 'x'`,
    'view stats is with (security_barrier=true) SELECT ',
    /^drop view "a_titles"; drop view "stats"; create view "stats" with \(security_barrier=true\) as .*; grant select on stats to public; create view "a_titles" as /,
  ],
  [
    'a text with other spaces',
    `create or replace view a_titles as select id, title from stats where title in ('a b', 'c')`,
    'view a_titles is SELECT ',
    /'a {2}b'/,
  ],
])(
  'a view that has %s in the database is reported with a statement that restores it',
  async (_what, change, text, sql) => {
    await run(change)
    const found = await drift()
    const [first] = found
    expect(first).toEqual({
      object: expect.stringMatching(/^(?:stats|a_titles)$/),
      text: typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text),
      repair: { sql: expect.stringMatching(sql) },
    })
    for (const { repair } of found) if ('sql' in repair) await run(repair.sql)
    expect(await drift()).toEqual([])
    expect(await readDrift(database, folder.path, embedded)).toEqual([])
  },
)

test('views that are missing are reported in the order in which they can be created', async () => {
  await run('drop view stats cascade')
  const found = await drift()
  expect(found.map(({ text }) => text)).toEqual([
    'view stats is missing in the database',
    'view a_titles is missing in the database',
  ])
  expect(await schemaDifferences(SPEC, database)).toEqual(['view a_titles is missing', 'view stats is missing'])
  for (const { repair } of found) if ('sql' in repair) await run(repair.sql)
  expect(await drift()).toEqual([])
  expect(await schemaDifferences(SPEC, database)).toEqual([])
})

test('drift excludes a query that is written differently, and views that migrations did not make', async () => {
  await run('create view mine as select 1 as one')
  await run(
    `create or replace view stats with (security_barrier) as select b.id, b.title, b.pages from books b where b.pages > 0 and lower(b.title) <> 'x'`,
  )
  expect((await drift()).map(({ object }) => object)).toEqual(['stats'])
  await run(
    `create or replace view stats with (security_barrier = true) as select "id", title::varchar(20), pages from public.books where (pages > 0) and lower(title::text) != 'x'::text`,
  )
  expect(await drift()).toEqual([])
})

test('a query is compared once the types of its tables match', async () => {
  await run('drop view stats cascade; alter table books alter pages type bigint')
  await run(
    `create view stats with (security_barrier) as select id, title, pages::integer from books where pages > 0 and lower(title) <> 'x'`,
  )
  expect((await drift()).map(({ object }) => object)).toEqual(['books.pages', 'a_titles'])
})

test('a missing declared view has the help of migrations, not of tables of others', async () => {
  await run('drop view a_titles')
  expect(await unmanagedTableDifferences(SPEC, database)).toMatchObject([
    {
      message: 'view a_titles is missing',
      help: ['migrations create this view; see the statement that puts it back: snippetctl migrate status'],
    },
  ])
})
