import { beforeEach, describe, expect, test } from '@jest/globals'
import { readDrift } from '../../../src/migrations/drift/drift.js'
import { indexDifferences } from '../../../src/migrations/drift/index-differences.js'
import { schemaDifferences } from '../../../src/migrations/drift/verify.js'
import { planMigration, writeMigration } from '../../../src/migrations/plan/generate.js'
import { migrateDown, migrateUp } from '../../../src/migrations/run/run.js'
import { testDatabaseKind } from '../../support/database.js'
import { type Folder, makeFolder, openForEach, specOf } from '../../support/migrations.js'

const EVENTS = `-- up
create table events (
  id integer not null, day date not null, kind varchar(20) collate "C" not null,
  constraint events_pkey primary key (id, day)
) partition by range (day);
create table events_old partition of events for values from (minvalue) to ('2026-01-01');
create table events_new partition of events for values from ('2026-01-01') to (maxvalue);
-- down
drop table events;
-- owns: "events_pkey"
`
const eventModel = (more: object = {}) => ({
  table: 'events',
  primary_key: ['id', 'day'],
  fields: {
    id: { type: 'integer', key: 'client' },
    day: { type: 'date' },
    kind: { type: 'string', max: 20 },
    ...more,
  },
})
const events = (more: object = {}, indexes: readonly (readonly string[])[] = []) =>
  specOf({ event: { ...eventModel(more), indexes } })

const databases = openForEach()
let folder: Folder
beforeEach(async () => {
  folder = await makeFolder({ '0001_events.sql': EVENTS })
  await migrateUp(databases.database, folder.path)
})

/** A plan that builds indexes concurrently wherever it can. */
const plan = (spec: ReturnType<typeof events>) =>
  planMigration(spec, folder.path, databases.scratch, { findLarge: async (tables) => new Set(tables) })

const indexes = async () => {
  const text = `select indexname from pg_indexes where tablename ~ '^events' order by 1`
  return (await databases.database.query({ text, values: [] })).rows.flat()
}

test('a plan leaves partitions alone without a note, because `dropped` would lose their rows', async () => {
  expect(await plan(events())).toMatchObject({ steps: [], rejections: [], notes: [] })
})

test('a partitioned table gets indexes in one transaction, because they cannot be built concurrently, and constraints and columns', async () => {
  const before = await indexes()
  const spec = events({ n: { type: 'integer', nullable: true } }, [['kind'], ['day', 'kind']])
  const planned = await plan(spec)
  expect(planned).toMatchObject({ rejections: [], text: expect.stringContaining('create index "events_kind_idx"') })
  expect(planned.outsideText).toBeUndefined()
  await writeMigration(planned, folder.path)
  await migrateUp(databases.database, folder.path)
  expect(await indexes()).toEqual(
    [
      ...before,
      ...['events', 'events_new', 'events_old'].flatMap((name) => [`${name}_day_kind_idx`, `${name}_kind_idx`]),
    ].sort(),
  )
  expect(await plan(spec)).toMatchObject({ steps: [], rejections: [], notes: [] })
  expect(await readDrift(databases.database, folder.path, databases.scratch)).toEqual([])
  await migrateDown(databases.database, folder.path, { allows: () => true })
  expect(await indexes()).toEqual(before)
})

test('a rule and a required field of a partitioned table do not block its requests', async () => {
  await writeMigration(await plan(events({ n: { type: 'integer', nullable: true } })), folder.path)
  await migrateUp(databases.database, folder.path)
  const insert = `insert into events (id, day, kind) select n, date '2025-12-01' + n, 'a' from generate_series(1, 60) n`
  await databases.database.query({ text: insert, values: [] })
  const spec = events({ n: { type: 'integer', minimum: 1, default: 5 } })
  const planned = await plan(spec)
  const works = planned.steps.flatMap(({ locks }) => locks?.works ?? [])
  expect(works.filter(({ blocking }) => blocking)).toEqual([])
  expect(planned.outsideText).toContain('not valid')
  await writeMigration(planned, folder.path)
  await migrateUp(databases.database, folder.path)
  expect(await plan(spec)).toMatchObject({ steps: [], rejections: [], notes: [] })
  const counted = { text: 'select count(*)::text, min(n)::text, max(n)::text from events', values: [] }
  expect((await databases.database.query(counted)).rows).toEqual([['60', '5', '5']])
  await migrateDown(databases.database, folder.path, { allows: () => true })
})

// The embedded database runs the file in one transaction.
const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

onServer('a column is filled in short transactions', () => {
  const PARTS = Array.from({ length: 50 }, (_, at) => at)
  test.each([
    {
      kind: 'partitioned table with many small partitions',
      sql: PARTS.map((at) => `create table many_${at} partition of many for values in (${at}) with (fillfactor = 10);`),
      table: 'create table many (part integer, n integer) partition by list (part);',
    },
    {
      kind: 'table with tables that inherit from it',
      sql: PARTS.map((at) => `create table many_${at} (check (part = ${at})) inherits (many) with (fillfactor = 10);`),
      table: 'create table many (part integer, n integer);',
    },
  ])('of a $kind', async ({ sql, table }) => {
    const rows = PARTS.map((at) => `insert into many_${at} select ${at} from generate_series(1, 100);`)
    await folder.write(
      '0002_many.sql',
      `-- up\n${[table, ...sql, ...rows].join('\n')}\n-- down\ndrop table many cascade;\n`,
    )
    await folder.write('0003_fill.sql', '-- transaction: none\n-- up\nupdate many set n = 5 where n is null;\n')
    await migrateUp(databases.database, folder.path)
    const text = `select sum(count)::text, (max(count) <= 2500)::text from (select count(n) from many group by xmin) t`
    expect((await databases.database.query({ text, values: [] })).rows).toEqual([['5000', 'true']])
  })
})

test('an index of a partitioned table keeps ` ON ONLY ` in its condition', async () => {
  const index = `create index odd on events (id) where kind = ' ON ONLY '`
  await folder.write('0002_odd.sql', `-- up\n${index};\n-- down\ndrop index odd;\n`)
  await migrateUp(databases.database, folder.path)
  await databases.database.query({ text: 'drop index odd', values: [] })
  const drift = await readDrift(databases.database, folder.path, databases.scratch)
  expect(drift.find(({ object }) => object === 'events.odd')?.repair).toEqual({
    sql: expect.stringMatching(/^CREATE INDEX odd ON events USING btree \(id\) WHERE kind::text = ' ON ONLY '/),
  })
})

describe.each([{ condition: '' }, { condition: ` where kind = 'a'` }])(
  'an index that partitions lack$condition',
  ({ condition }) => {
    const index = `create index odd on events (kind)${condition}`

    test('is drift, and its repair creates it everywhere', async () => {
      await folder.write('0002_odd.sql', `-- up\n${index};\n-- down\ndrop index odd;\n`)
      await migrateUp(databases.database, folder.path)
      const all = await indexes()
      await databases.database.query({ text: 'drop index odd', values: [] })
      await databases.database.query({ text: index.replace(' on ', ' on only '), values: [] })
      const drift = await readDrift(databases.database, folder.path, databases.scratch)
      const found = drift.find(({ object }) => object === 'events.odd')
      expect(found?.text).toBe('index events.odd is incomplete in the database: partitions lack it')
      for (const text of (found && 'sql' in found.repair ? found.repair.sql : '').split('; '))
        await databases.database.query({ text, values: [] })
      expect(await indexes()).toEqual(all)
      expect(await readDrift(databases.database, folder.path, databases.scratch)).toEqual([])
    })
  },
)

test('a key that partitions lack is drift, with a repair, and does not count as the key', async () => {
  const { database, scratch } = databases
  for (const sql of ['drop constraint events_pkey', 'add constraint events_pkey primary key (id, day)'])
    await database.query({ text: `alter table only events ${sql}`, values: [] })
  expect(await schemaDifferences(events(), database)).toEqual(['table events lacks: primary key ("id", "day")'])
  const drift = await readDrift(database, folder.path, scratch)
  const found = drift.find(({ object }) => object === 'events.events_pkey')
  expect(found?.text).toBe('constraint events.events_pkey is incomplete in the database: partitions lack it')
  for (const text of (found && 'sql' in found.repair ? found.repair.sql : '').split('; '))
    await database.query({ text, values: [] })
  expect(await readDrift(database, folder.path, scratch)).toEqual([])
})

test('a plan does not keep an index that partitions lack in place of a declared one', async () => {
  await folder.write('0002_odd.sql', `-- up\ncreate index odd on only events (kind);\n-- down\ndrop index odd;\n`)
  expect(await plan(events({}, [['kind']]))).toMatchObject({
    rejections: [],
    text: expect.stringContaining('create index "events_kind_idx"'),
  })
})

test('`check --database` names the partitions that lack an index', async () => {
  for (const text of [
    'drop table events_old',
    "create table events_past partition of events for values from (minvalue) to ('2026-01-01') partition by range (day)",
    'create table events_old partition of events_past default',
    'create index odd on only events (kind)',
    'create index odd_past on only events_past (kind)',
    'alter index odd attach partition odd_past',
    'create index odd_new on events_new (kind)',
    'alter index odd attach partition odd_new',
  ])
    await databases.database.query({ text, values: [] })
  const { rejections } = await indexDifferences(events({}, [['kind']]), databases.database)
  expect(rejections).toMatchObject([
    {
      code: 'SC404',
      message: 'the index `odd` of the database is not valid: partitions lack it: events_old',
      help: [expect.stringContaining('its parent table: alter index "odd" attach partition ')],
    },
  ])
})

test('a partitioned table can refer to a field that the same plan makes unique', async () => {
  const withKinds = (kind: object, more: object = {}) =>
    specOf({
      kind: {
        table: 'kinds',
        fields: { id: { type: 'bigint', primary_key: true }, code: { type: 'string', max: 20, ...kind } },
      },
      event: eventModel(more),
    })
  await writeMigration(await plan(withKinds({})), folder.path, 'kinds')
  await migrateUp(databases.database, folder.path)
  const spec = withKinds(
    { unique: true },
    { sort: { type: 'belongs_to', model: 'kind', references: 'code', nullable: true } },
  )
  const planned = await plan(spec)
  expect(planned.outsideText).toBeUndefined()
  expect(planned.steps.find(({ subject }) => subject === 'kinds.kinds_code_key')).toMatchObject({
    waits: 'reads and writes of events and kinds wait while the index is built',
  })
  await writeMigration(planned, folder.path, 'sorts')
  await migrateUp(databases.database, folder.path)
  expect(await plan(spec)).toMatchObject({ steps: [], rejections: [], notes: [] })
  await migrateDown(databases.database, folder.path, { allows: () => true })
})

test('an error of a partitioned table that no other object causes gets no help to drop one', async () => {
  const spec = events({ kind: { type: 'string', max: 20, unique: true } })
  await expect(plan(spec)).rejects.toMatchObject({
    errors: [expect.stringContaining('unique constraint on partitioned table must include all partitioning columns')],
    help: [],
  })
})

test('`migrate status` restores a missing index of a partitioned table with those of its partitions', async () => {
  await writeMigration(await plan(events({}, [['kind']])), folder.path)
  await migrateUp(databases.database, folder.path)
  const all = await indexes()
  await databases.database.query({ text: 'drop index events_kind_idx', values: [] })
  const drift = await readDrift(databases.database, folder.path, databases.scratch)
  const found = drift.find(({ object }) => object === 'events.events_kind_idx')
  await databases.database.query({ text: found && 'sql' in found.repair ? found.repair.sql : '', values: [] })
  expect(await indexes()).toEqual(all)
  expect(await readDrift(databases.database, folder.path, databases.scratch)).toEqual([])
})
