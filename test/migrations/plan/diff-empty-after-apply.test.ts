import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Json } from '../../../src/foundation/json.js'
import { planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { migrateDown, migrateUp } from '../../../src/migrations/run/run.js'
import { schemaDifferences } from '../../../src/migrations/drift/verify.js'
import { openTestDatabase, type TestDatabase } from '../../support/database.js'
import { type Folder, makeFolder, specOf, tablesOf } from '../../support/migrations.js'
import { describeSchema } from '../../support/schema-oracle.js'
import { type Fields, type Schema, schemaPairs } from '../../support/schema-pairs.js'

/** `npm run test:pairs` says 1000. */
const PAIRS = Number(process.env['SNIPPETCTL_PAIRS'] ?? 6)

const id = { type: 'integer', primary_key: true }

const number = { type: 'integer', nullable: true }
const unique = { fields: { id, gil: number, hal: number }, indexes: [{ fields: ['gil', 'hal'], unique: true }] }
const placedIn = (model: string): Json => ({
  table: 'authors',
  fields: { id, ira: number, joy: number },
  relations: { place: { model, fields: ['ira', 'joy'], references: ['gil', 'hal'], on_delete: 'restrict' } },
  indexes: [],
})

/** One field of a model, before and after. */
const pairOf = (before: Fields, after: Fields): [readonly [Schema, Schema]] => {
  const schemaOf = (fields: Fields): Schema => ({
    models: {
      author: { table: 'authors', fields: { id, ...fields }, indexes: [] },
    },
    dropped: [],
  })
  return [[schemaOf(before), schemaOf(after)]]
}

/** A relation becomes a number while the table that it refers to is dropped. */
const relationOfDroppedTable: readonly [Schema, Schema] = [
  {
    models: {
      author: {
        table: 'authors',
        fields: { id, bob: { type: 'belongs_to', model: 'book', on_delete: 'restrict', nullable: true } },
        indexes: [],
      },
      book: { table: 'books', fields: { id }, indexes: [] },
    },
    dropped: [],
  },
  {
    models: {
      author: {
        table: 'authors',
        fields: { id, fay: { type: 'integer', nullable: true, renamed_from: 'bob_id' } },
        indexes: [],
      },
    },
    dropped: ['books'],
  },
]

/** A relation over two fields refers to another table, and the fields that it referred to are dropped. */
const relationFromDroppedFields: readonly [Schema, Schema] = [
  { models: { author: placedIn('shelf'), shelf: { table: 'shelfs', ...unique } }, dropped: [] },
  {
    models: {
      author: placedIn('book'),
      book: { table: 'books', ...unique },
      shelf: { table: 'shelfs', fields: { id }, indexes: [], dropped: ['gil', 'hal'] },
    },
    dropped: [],
  },
]

/** A relation refers to another table, and the one that it referred to is dropped. */
const relationToAnotherTable: readonly [Schema, Schema] = (
  [['book', []] as const, ['shelf', ['books']] as const] as const
).map(
  ([model, dropped]): Schema => ({
    models: {
      author: {
        table: 'authors',
        fields: { id, bob: { type: 'belongs_to', model, on_delete: 'restrict', nullable: true } },
        indexes: [],
      },
      [model]: { table: `${model}s`, fields: { id }, indexes: [] },
    },
    dropped: [...dropped],
  }),
) as [Schema, Schema]

/** What random pairs have found. */
const FOUND = [
  [relationToAnotherTable],
  [relationFromDroppedFields],
  [relationOfDroppedTable] satisfies [readonly [Schema, Schema]],
  pairOf({ ada: { type: 'string', max: 100 } }, { ada: { type: 'text', max: 50 } }),
  pairOf({ ada: { type: 'string', max: 100 } }, { ada: { type: 'choice', choices: ['x', 'y'] } }),
  pairOf({ ada: { type: 'string', max: 100 } }, { ada: { type: 'text', max: 100 } }),
  pairOf({ ada: { type: 'float', maximum: 9 } }, { ada: { type: 'integer', maximum: 9 } }),
  pairOf({ ada: { type: 'float', maximum: 9 } }, { bob: { type: 'integer', maximum: 9, renamed_from: 'ada' } }),
  pairOf(
    { ada: { type: 'belongs_to', model: 'author', on_delete: 'restrict', nullable: true } },
    { ada: { type: 'integer', renamed_from: 'ada_id' } },
  ),
  pairOf({ ada: { type: 'text' } }, { ada: { type: 'text', default: "it's\r\n\\r" } }),
]

let scratch: TestDatabase
let database: TestDatabase

beforeAll(async () => {
  scratch = await openTestDatabase()
  database = await openTestDatabase()
})

afterAll(async () => {
  await scratch.close()
  await database.close()
})

const plan = ({ models, dropped }: Schema, folder: Folder) =>
  planMigration(specOf(models, dropped), folder.path, scratch)

/** Plans, writes and applies the difference. */
async function migrateTo(schema: Schema, folder: Folder): Promise<void> {
  const planned = await plan(schema, folder)
  expect(planned.rejections).toEqual([])
  if (planned.steps.length > 0) await writeMigration(planned, folder.path)
  await migrateUp(database, folder.path, { allows: () => true })
}

/** What a database is that has only ever had one schema; it is empty again afterwards. */
async function describeFresh(schema: Schema): Promise<string> {
  const folder = await makeFolder()
  await migrateTo(schema, folder)
  const described = await describeSchema(database)
  await empty(folder)
  return described
}

/** Whatever the pair before left behind. */
const RESET = 'drop schema public cascade; create schema public'

async function empty(folder: Folder): Promise<void> {
  await migrateDown(database, folder.path, { steps: 9, allows: () => true })
  expect(await tablesOf(database)).toEqual([])
}

test('after a plan is applied neither the planner nor pg_dump finds a difference, and down restores the schema', async () => {
  const property = fc.asyncProperty(schemaPairs, async ([from, to]) => {
    await database.query({ text: RESET, values: [] })
    const folder = await makeFolder()
    await migrateTo(from, folder)
    const before = await describeSchema(database)
    await migrateTo(to, folder)
    expect(await plan(to, folder)).toMatchObject({ steps: [], rejections: [], notes: [] })
    expect(await schemaDifferences(specOf(to.models), database)).toEqual([])
    const migrated = await describeSchema(database)
    if ((await folder.names()).length > 1) await migrateDown(database, folder.path, { allows: () => true })
    const back = await describeSchema(database)
    await empty(folder)
    expect(migrated).toBe(await describeFresh(to))
    expect(back).toBe(Object.keys(from.models).length > 0 ? before : back)
  })
  await fc.assert(property, {
    numRuns: PAIRS + FOUND.length,
    examples: FOUND,
    interruptAfterTimeLimit: 3_600_000,
    markInterruptAsFailure: true,
  })
}, 4_000_000)
