import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { once } from 'node:events'
import type { Database } from '../../../src/db/database.js'
import { openDatabase } from '../../../src/db/open.js'
import { migrateDown, migrateUp, migrationStatus } from '../../../src/migrations/run/run.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { makeFolder, tablesOf } from '../../support/migrations.js'
import { buildMigrator, startMigrator, whileHeld } from '../../support/migrators.js'

let database: TestDatabase

beforeEach(async () => {
  database = await openTestDatabase()
})

afterEach(() => database.close())

test('two migrators that start together in one process apply each migration once', async () => {
  const folder = await makeFolder({
    '0001_one.sql': '-- up\ncreate table one (id int);\n',
    '0002_two.sql': '-- up\ncreate table two (id int);\n',
  })
  const done = await Promise.all([migrateUp(database, folder.path), migrateUp(database, folder.path)])
  expect(
    done
      .flat()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(['0001_one', '0002_two'])
})

// Two processes need a server outside of this one.
const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

/** Holds up the migrator that runs `pg_advisory_xact_lock(1, 1)` until another one polls for the lock of migrators. */
const HELD = {
  lock: 'select pg_advisory_xact_lock(1, 1)',
  condition: `exists (select from pg_stat_activity where datname = current_database() and query ~ '^select pg_try_advisory')
    and exists (select from pg_locks where locktype = 'advisory' and not granted and database =
      (select oid from pg_database where datname = current_database()))`,
}

onServer('migrators of one server', () => {
  let program: string

  beforeAll(async () => {
    program = await buildMigrator()
  })

  test('five processes all succeed, and each migration is applied once', async () => {
    const folder = await makeFolder({
      '0001_one.sql': '-- up\ncreate table one (id int);\n',
      '0002_two.sql': '-- up\ncreate table two (id int);\ninsert into one values (1);\n',
    })
    const children = Array.from({ length: 5 }, () => startMigrator(program, database.url ?? '', folder.path))
    const ends = await Promise.all(children.map((child) => once(child, 'exit')))
    expect(ends.map(([code]) => code as number)).toEqual([0, 0, 0, 0, 0])
    expect(await tablesOf(database)).toEqual(['one', 'two'])
    expect((await database.query({ text: 'select id::text from one', values: [] })).rows).toEqual([['1']])
  })

  test('a migrator that has waited for another one has nothing left to do', async () => {
    const folder = await makeFolder({
      '0001_one.sql': '-- up\nselect pg_advisory_xact_lock(1, 1);\ncreate table one (id int);\n',
    })
    const other = await openDatabase({ url: database.url, directory: '' }, {})
    const both = () => Promise.all([migrateUp(database, folder.path), migrateUp(other, folder.path)])
    try {
      const done = await whileHeld(database, HELD, both)
      expect(done.flat()).toMatchObject([{ name: '0001_one' }])
    } finally {
      await other.close()
    }
  })

  test('two migrators that revert the last migration together revert only that one', async () => {
    const folder = await makeFolder({
      '0001_one.sql': '-- up\ncreate table one (id int);\n-- down\ndrop table one;\n',
      '0002_two.sql':
        '-- up\ncreate table two (id int);\n-- down\nselect pg_advisory_xact_lock(1, 1);\ndrop table two;\n',
    })
    await migrateUp(database, folder.path)
    const other = await openDatabase({ url: database.url, directory: '' }, {})
    const down = (each: Database) => migrateDown(each, folder.path, { allows: () => true })
    try {
      const ends = await whileHeld(database, HELD, () => Promise.allSettled([down(database), down(other)]))
      expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({
        reason: { message: expect.stringContaining('0002_two is not the last applied migration any more') },
      })
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(await tablesOf(database)).toEqual(['one'])
    } finally {
      await other.close()
    }
  })

  test('a migrator waits for a locked table', async () => {
    const one = '-- up\ncreate table one (id int);\n'
    await migrateUp(database, (await makeFolder({ '0001_one.sql': one })).path)
    const folder = await makeFolder({ '0001_one.sql': one, '0002_more.sql': '-- up\nalter table one add more int;\n' })
    const condition = `exists (select from pg_locks where not granted and relation = 'one'::regclass)`
    const done = await whileHeld(database, { lock: 'select from one', condition }, () =>
      migrateUp(database, folder.path),
    )
    expect(done).toMatchObject([{ name: '0002_more' }])
    expect((await migrationStatus(database, folder.path)).map(({ state }) => state)).toEqual(['applied', 'applied'])
  })
})
