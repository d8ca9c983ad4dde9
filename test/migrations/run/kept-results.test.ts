import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Database, ResultStore } from '../../../src/db/database.js'
import { withParts } from '../../../src/db/wrap.js'
import type { Json } from '../../../src/foundation/json.js'
import { readDrift } from '../../../src/migrations/drift/drift.js'
import { type Plan, planMigration } from '../../../src/migrations/plan/generate.js'
import { openResultStore } from '../../../src/migrations/run/result-store.js'
import { migrateUp } from '../../../src/migrations/run/run.js'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, runInHost } from '../../support/cli.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { type Folder, makeFolder, specOf } from '../../support/migrations.js'

let scratch: TestDatabase
let place: string

beforeAll(async () => {
  scratch = await openTestDatabase()
})
afterAll(() => scratch.close())
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'kept-'))
})
afterEach(() => rm(place, { recursive: true, force: true }))

const MODELS: { readonly [name: string]: Json } = {
  book: {
    table: 'books',
    fields: {
      id: { type: 'bigint', primary_key: true },
      title: { type: 'string', max: 100, min: 2 },
      kind: { type: 'choice', choices: ['a', 'b'], default: 'a' },
    },
    indexes: [['title']],
    dropped: ['pages'],
  },
}
const WIDER = { book: { ...(MODELS['book'] as object), indexes: [] } }
const VIEW = {
  shelf: {
    primary_key: 'none',
    view: 'select kind, count(*) as books from books group by kind',
    fields: { books: { type: 'bigint' } },
  },
}

/** A scratch database with kept results, and how often they were found and missing. */
function counting(program = 'one'): { readonly database: Database; readonly seen: { found: number; missing: number } } {
  const store = openResultStore(place, program)
  const seen = { found: 0, missing: 0 }
  const results: ResultStore = {
    async read(key) {
      const value = await store.read(key)
      seen[value === undefined ? 'missing' : 'found'] += 1
      return value
    },
    write: (key, value) => store.write(key, value),
  }
  return { database: withParts(scratch, { results }), seen }
}

const FIRST = `-- up

create table books (
  id bigint generated always as identity,
  title varchar(100) collate "C" not null,
  constraint books_pkey primary key (id)
);
`
const SECOND = '-- up\n\nalter table books add column pages integer check (pages > 0);\n'

const filesOf = (more: Readonly<Record<string, string>> = {}): Promise<Folder> =>
  makeFolder({ '0001_create_books.sql': FIRST, '0002_pages.sql': SECOND, ...more })

async function planTwice(models: { readonly [name: string]: Json }, folder: Folder) {
  const plan = (database?: Database): Promise<Plan> => planMigration(specOf(models), folder.path, database ?? scratch)
  const [first, second] = [counting(), counting()]
  const plans = [await plan(), await plan(first.database), await plan(second.database)]
  return { plans, seen: second.seen }
}

test.each([
  ['with steps, which it proves', MODELS],
  ['that drops', WIDER],
  ['with a view', { ...MODELS, ...VIEW }],
])('a plan %s is the same from kept results', async (_name, models) => {
  const { plans, seen } = await planTwice(models, await filesOf())
  expect(plans[0]).toMatchObject({ rejections: [], proof: {} })
  expect(JSON.stringify(plans[1])).toBe(JSON.stringify(plans[0]))
  expect(JSON.stringify(plans[2])).toBe(JSON.stringify(plans[0]))
  expect(seen).toEqual({ found: 2, missing: 0 })
})

test.each([
  ['another statement', { '0002_pages.sql': SECOND.replace('> 0', '> 1') }, 1],
  ['one more file', { '0003_more.sql': '-- up\n\nalter table books add column more text;\n' }, 1],
  ['a list of what it makes for resources.yaml', { '0002_pages.sql': `${SECOND}\n-- owns: nothing\n` }, 1],
  ['a comment', { '0002_pages.sql': `-- A comment.\n${SECOND}` }, 0],
])('after %s in the files, only what they make is computed again', async (_name, more, missing) => {
  await planMigration(specOf(MODELS), (await filesOf()).path, counting().database)
  const { database, seen } = counting()
  await planMigration(specOf(MODELS), (await filesOf(more)).path, database)
  expect(seen).toEqual({ found: 2 - missing, missing })
})

test('another configuration, another program and other settings find no results', async () => {
  const folder = await filesOf()
  const plan = async (models: typeof MODELS, { database, seen }: ReturnType<typeof counting>) => {
    await planMigration(specOf(models), folder.path, database)
    return seen
  }
  await plan(MODELS, counting())
  expect(await plan(WIDER, counting())).toEqual({ found: 1, missing: 1 })
  expect(await plan(MODELS, counting('another'))).toEqual({ found: 0, missing: 2 })
  await scratch.query({ text: `set datestyle = 'German'`, values: [] })
  try {
    if (!scratch.concurrent) expect(await plan(MODELS, counting())).toEqual({ found: 0, missing: 2 })
  } finally {
    await scratch.query({ text: 'reset datestyle', values: [] })
  }
})

test.each([
  ['a function', 'create function f() returns integer language sql as $$ select 1 $$'],
  ['a query', 'select 1'],
  ['code', `do $$ begin perform set_config('a.b', 'c', true); end $$`],
  ['a change of rows that calls a function', `update books set title = md5('x')`],
  ['new rows from a function', `insert into books (title) select md5('x')`],
  ['a table from a query that calls a function', `create table t as select md5('x') as digest`],
  ['a value that depends on the time', `create table t (day date default 'today')`],
])('%s in a file: its effect may differ each time, so what the files make is not kept', async (_name, statement) => {
  const folder = await filesOf({ '0003_more.sql': `-- up\n\n${statement};\n` })
  const { seen } = await planTwice(MODELS, folder)
  expect(seen).toEqual({ found: 1, missing: 0 })
})

test('the schema of files that change rows without calling functions is kept', async () => {
  const rows = `insert into books (title) values ('a (b)'), ('c');\nupdate books set title = 'x' where (id > 1);\n`
  const folder = await filesOf({ '0003_more.sql': `-- up\n\n${rows}` })
  expect((await planTwice(MODELS, folder)).seen).toEqual({ found: 2, missing: 0 })
})

test('a change of the database is found when what the files make is known', async () => {
  const database = await openTestDatabase('')
  try {
    const folder = await filesOf()
    await migrateUp(database, folder.path)
    const drift = async () => (await readDrift(database, folder.path, counting().database)).map(({ text }) => text)
    expect(await drift()).toEqual([])
    expect(await drift()).toEqual([])
    await database.query({ text: 'alter table books add check (pages < 1000)', values: [] })
    const found = ['constraint books.books_pages_check1 exists only in the database']
    expect(await drift()).toEqual(found)
    expect(await drift()).toEqual(found)
  } finally {
    await database.close()
  }
})

test('a damaged result counts as missing, and is replaced', async () => {
  const store = openResultStore(place, 'one')
  await store.write('key', { tables: [1, 2, 3] })
  const [file = ''] = (await readdir(place)).map((name) => join(place, name))
  const whole = await readFile(file)
  const damaged = Buffer.from(whole)
  damaged.writeUInt8(damaged.readUInt8(30) ^ 1, 30)
  for (const content of [damaged, whole.subarray(0, 20), Buffer.from('')]) {
    await writeFile(file, content)
    expect(await store.read('key')).toBeUndefined()
  }
  await store.write('key', { tables: [1] })
  expect(await store.read('key')).toEqual({ tables: [1] })
})

test('the number of results is bounded, and those that are used stay', async () => {
  const store = openResultStore(place, 'one')
  for (let each = 0; each < 40; each += 1) {
    await store.write(`key ${each}`, each)
    expect(await store.read('key 0')).toBe(0)
  }
  expect(await readdir(place)).toHaveLength(20)
  expect(await store.read('key 39')).toBe(39)
  expect(await store.read('key 1')).toBeUndefined()
})

test('a folder that cannot be written to keeps nothing, without an error', async () => {
  await writeFile(join(place, 'file'), '')
  const store = openResultStore(join(place, 'file', 'schemas'), 'one')
  await store.write('key', 1)
  expect(await store.read('key')).toBeUndefined()
})

test('commands keep their results next to the configuration, and say the same with them', async () => {
  const project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
  const folder = join(project.folder, '.snippetctl', 'schemas')
  try {
    const plan = () => runInHost(['migrate', 'plan'], { cwd: project.folder })
    const first = await plan()
    const kept = await readdir(folder)
    expect(kept).toHaveLength(2)
    expect(await plan()).toEqual(first)
    expect(await readdir(folder)).toEqual(kept)
  } finally {
    await project.remove()
  }
})

test('the result for a view with a relation and a list is kept', async () => {
  const models = {
    member: {
      fields: { id: { type: 'bigint', primary_key: true }, names: { type: 'array', items: { type: 'text' } } },
    },
    loan: { fields: { id: { type: 'bigint', primary_key: true }, member: { type: 'belongs_to', model: 'member' } } },
    report: {
      view: 'select m.id as member, m.names, count(*) as loans from member m join loan l on l.member_id = m.id group by m.id',
      primary_key: ['member'],
      fields: {
        member: { type: 'belongs_to', model: 'member', column: 'member' },
        names: { type: 'array', items: { type: 'text' } },
        loans: { type: 'bigint', minimum: 1 },
      },
    },
  }
  const project = await makeProject({ 'resources.yaml': JSON.stringify({ version: 1, models }) })
  try {
    const plan = () => runInHost(['migrate', 'plan'], { cwd: project.folder })
    const first = await plan()
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('report') })
    expect(await plan()).toEqual(first)
  } finally {
    await project.remove()
  }
})
