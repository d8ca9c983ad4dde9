import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Database, ResultStore } from '../../../src/db/database.js'
import { withParts } from '../../../src/db/wrap.js'
import type { Json } from '../../../src/foundation/json.js'
import { compareOnly, planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { readMigrations } from '../../../src/migrations/files/files.js'
import { openResultStore } from '../../../src/migrations/run/result-store.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { specOf } from '../../support/migrations.js'

const TABLES = 100
const CODE_INDEX = { fields: ['code'], ignore_case: true }

/** Enough checks that their numbers sort in another order as text. */
const CHECKED = Object.fromEntries(
  Array.from({ length: 12 }, (_, at) => [`n${at}`, { type: 'integer', minimum: at, default: at }]),
)

type Fields = { readonly [name: string]: Json }
type Models = { readonly [name: string]: Fields }

const ID: Fields = { type: 'bigint', primary_key: true }

/** Models with parts of every kind. The last one has other fields or indexes. */
function modelsWith(fields: Fields = {}, indexes: Json = [['title'], CODE_INDEX]): Models {
  const model = (at: number): Fields => {
    const isLast = at === TABLES - 1
    return {
      table: at === 0 ? '"order.0"' : `order ${at}`,
      fields: {
        id: ID,
        title: { type: 'string', max: 20, default: 'none' },
        code: { type: 'string', max: 8, unique: true },
        state: { type: 'choice', choices: ['new', 'done'], default: 'new' },
        parent: { type: 'belongs_to', model: `m${Math.max(0, at - 1)}`, nullable: true, on_delete: 'cascade' },
        ...(isLast ? { ...CHECKED, ...fields } : {}),
      },
      indexes: isLast ? indexes : [['title'], CODE_INDEX],
    }
  }
  return Object.fromEntries(Array.from({ length: TABLES }, (_, at) => [`m${at}`, model(at)]))
}

/** How many of the models have parts of every kind where one of them changes. Comparing the tables takes the time. */
const WITH_PARTS = 20

/** The same models, but the first ones have only a key. */
function mostlyKeys(fields?: Fields, indexes?: Json): Models {
  return Object.fromEntries(
    Object.entries(modelsWith(fields, indexes)).map(([name, model], at) => [
      name,
      at < TABLES - WITH_PARTS ? { ...model, fields: { id: ID }, indexes: [] } : model,
    ]),
  )
}

const TITLE: Fields = { type: 'string', max: 20, default: 'none' }

let place: string
let opened: TestDatabase
let scratch: Database
let migrations: string
let fewParts: string

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'sketched-'))
  migrations = join(place, 'migrations')
  opened = await openTestDatabase('')
  const store = openResultStore(join(place, 'schemas'), 'one')
  // Only what files create is kept, so that each plan needs the schema of its configuration.
  const write: ResultStore['write'] = async (key, value) => {
    if (!('to' in (value as object))) await store.write(key, value)
  }
  scratch = withParts(opened, { results: { read: store.read, write } })
  await writeMigration(await planMigration(specOf(modelsWith()), migrations, scratch), migrations)
  await planMigration(specOf(modelsWith()), migrations, scratch)
  fewParts = join(place, 'few-parts')
  await writeMigration(await planMigration(specOf(mostlyKeys()), fewParts, scratch), fewParts)
})

afterAll(async () => {
  await opened.close()
  await rm(place, { recursive: true, force: true })
})

/** The number that PostgreSQL gives to the next object. */
async function nextObject(): Promise<number> {
  const { rows } = await scratch.query({ text: 'select lo_creat(-1)::text', values: [] })
  return Number(rows[0]?.[0])
}

test('an embedded database does not create the tables of a plan that has nothing to change', async () => {
  const before = await nextObject()
  const { steps, rejections } = await planMigration(specOf(modelsWith()), migrations, scratch)
  expect([steps, rejections]).toEqual([[], []])
  expect((await nextObject()) - before).toBeLessThan(scratch.concurrent ? Infinity : TABLES * 24)
})

test('an embedded database creates the tables of a first migration only while it tests the migration', async () => {
  const before = await nextObject()
  const { text, proof } = await planMigration(specOf(modelsWith()), join(place, 'none'), scratch)
  expect([text, proof]).toEqual([expect.stringContaining('create table'), { rows: 0, columns: 0, losses: [] }])
  // A table with its row type, indexes, sequence and constraints is more than 24 objects; the test creates it once, because its down part leaves nothing.
  expect((await nextObject()) - before).toBeLessThan(scratch.concurrent ? Infinity : TABLES * 50)
})

test('a change of one of many tables is planned and tested', async () => {
  const models = modelsWith({ pages: { type: 'integer', nullable: true } })
  const { steps, rejections, proof } = await planMigration(specOf(models), migrations, scratch)
  expect([steps.map(({ subject }) => subject), rejections]).toEqual([['order 99.pages'], []])
  // The last table has one row: the others need more tries.
  expect(proof).toEqual({ rows: (TABLES - 1) * 3 + 1, columns: TABLES * 5 + 12, losses: [] })
})

test('a plan that rows prevent looks for large tables once', async () => {
  const folder = join(place, 'with-rows')
  await cp(fewParts, folder, { recursive: true })
  const insert = `insert into "order 99" (title, code) values ('a', 'a'), ('a', 'b')`
  await writeFile(join(folder, '0002_rows.sql'), `-- up\n${insert};\n-- down\ndelete from "order 99";\n`)
  const asked: (readonly string[])[] = []
  const findLarge = async (tables: readonly string[]) => {
    asked.push(tables)
    return new Set<string>()
  }
  const spec = specOf(mostlyKeys({ title: { ...TITLE, unique: true } }))
  const { rejections } = await planMigration(spec, folder, scratch, { findLarge })
  expect([rejections, asked]).toEqual([
    [expect.stringContaining('the rows that the migrations insert')],
    [['order 99']],
  ])
})

test('a plan that renames one of many tables also renames its sequence', async () => {
  const models = mostlyKeys()
  const renamed = { ...models.m99, table: 'chapters', renamed_from: 'order 99' }
  const { steps, rejections } = await planMigration(specOf({ ...models, m99: renamed }), fewParts, scratch)
  const statements = steps.flatMap(({ up }) => up)
  expect(rejections).toEqual([])
  expect(statements).toContain('alter table "order 99" rename to "chapters"')
  expect(statements).toContain('alter sequence "order 99_id_seq" rename to "chapters_id_seq"')
})

const PARENT: Fields = { type: 'belongs_to', model: 'm98', nullable: true, on_delete: 'cascade' }
const OTHER_INDEX = [['title', 'code'], CODE_INDEX]

test.each<[change: string, models: Models, subject: string]>([
  ['a type', mostlyKeys({ title: { ...TITLE, max: 30 } }), 'title'],
  ['a default', mostlyKeys({ title: { ...TITLE, default: 'some' } }), 'title'],
  ['whether a column takes null', mostlyKeys({ title: { ...TITLE, nullable: true } }), 'title'],
  ['a check', mostlyKeys({ state: { type: 'choice', choices: ['new', 'old'], default: 'new' } }), 'state'],
  ['a unique key', mostlyKeys({ code: { type: 'string', max: 8 } }), 'code'],
  ['the action of a foreign key', mostlyKeys({ parent: { ...PARENT, on_delete: 'restrict' } }), 'parent'],
  ['the target of a foreign key', mostlyKeys({ parent: { ...PARENT, model: 'm97' } }), 'parent'],
  ['an index', mostlyKeys({}, OTHER_INDEX), 'title'],
  ['an index on an expression', mostlyKeys({}, [['title'], { fields: ['code'] }]), 'code'],
])('a change in one of many tables is found: %s', async (_change, models, subject) => {
  const { steps, rejections } = await compareOnly(specOf(models), await readMigrations(fewParts), scratch)
  expect([steps.length > 0, rejections]).toEqual([true, []])
  expect(steps.filter((step) => !step.subject.startsWith(`order 99.`) || !step.subject.includes(subject))).toEqual([])
})
