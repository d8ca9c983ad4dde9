import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Database } from '../../../src/db/database.js'
import { openDatabase } from '../../../src/db/open.js'
import { migrateUp, migrationStatus } from '../../../src/migrations/run/run.js'
import { makeProject, type Project, runCli } from '../../support/cli.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { failureOf, type Folder, makeFolder, tablesOf } from '../../support/migrations.js'
import { until } from '../../support/migrators.js'
import { withFullDisk } from '../../support/full-disk.js'
import { type Cluster, createCluster, installedBinaries } from '../../support/servers.js'

const FULL_AT = 20 * 1024 * 1024
const NAMES = ['t0', 't1', 't2', 't3']

/** Each row takes 300 bytes. */
const rows = (table: string, count: number) =>
  `create table ${table} (id int, t text);
insert into ${table} select g, repeat(md5(g::text), 8) from generate_series(1, ${count}) g;\n`

/** Four tables, with another statement after the first `at`. */
const around = (at: number, sql: string) => {
  const make = (tables: readonly string[]) => tables.map((name) => `create table ${name} (id int);\n`).join('')
  return `-- up\n${make(NAMES.slice(0, at))}${sql}${make(NAMES.slice(at))}`
}

const filesWith = (at: number, sql: string) => ({
  '0001_zero.sql': '-- up\ncreate table zero (id int);\n',
  '0002_more.sql': around(at, sql),
})

const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip
const onMachine = testDatabaseKind() === 'postgres' && installedBinaries() ? describe : describe.skip
const embedded = testDatabaseKind() === 'embedded' ? describe : describe.skip

onMachine('a migration for which the disk of the server is too small', () => {
  let cluster: Cluster
  let database: Database

  beforeEach(async () => {
    cluster = createCluster()
    await cluster.start(FULL_AT)
    database = await openDatabase({ url: cluster.url, directory: '' }, {})
  })

  afterEach(async () => {
    await database.close()
    await cluster.remove()
  })

  async function makeRoom(): Promise<void> {
    await cluster.stop('SIGINT')
    await cluster.start()
  }

  test.each([0, 2, 4])('leaves nothing behind after statement %i, and succeeds once there is room', async (at) => {
    const folder = await makeFolder(filesWith(at, rows('large', 120_000)))
    expect(await failureOf(migrateUp(database, folder.path), folder)).toMatch(
      /^0002_more\.sql:\d+: could not extend file .*Check free disk space/,
    )
    expect(await tablesOf(database)).toEqual(['zero'])
    await makeRoom()
    expect((await migrateUp(database, folder.path)).map(({ name }) => name)).toEqual(['0002_more'])
    expect(await tablesOf(database)).toEqual(['large', ...NAMES, 'zero'])
  })

  test('with a concurrent index is repeated from its start', async () => {
    const folder = await makeFolder({
      '0001_rows.sql': `-- up\n${rows('large', 40_000)}`,
      '0002_index.sql': '-- up\ncreate index concurrently large_t on large (t, t, t);\n',
    })
    expect(await failureOf(migrateUp(database, folder.path))).toMatch(/disk space|No space|too large/)
    expect((await migrationStatus(database, folder.path)).map(({ state }) => state)).toEqual(['applied', 'pending'])
    await makeRoom()
    expect((await migrateUp(database, folder.path)).map(({ name }) => name)).toEqual(['0002_index'])
    const { rows: found } = await database.query({
      text: 'select indexrelid::regclass::text, indisvalid::text from pg_index where indrelid = $1::regclass',
      values: ['large'],
    })
    expect(found).toEqual([['large_t', 'true']])
  })
})

embedded('a migration for which the disk is too small', () => {
  let project: Project

  beforeEach(async () => {
    project = await makeProject({ 'resources.yaml': 'version: 1\n' })
  })

  afterEach(() => project.remove())

  test('leaves nothing behind, and succeeds once there is room', async () => {
    for (const [name, content] of Object.entries(filesWith(2, rows('large', 120_000))))
      await project.write(`migrations/${name}`, content)
    const [command, ...args] = withFullDisk(
      [process.execPath, resolve('bin', 'snippetctl.js'), 'migrate', 'up'],
      FULL_AT,
    )
    const child = spawn(command, args, { cwd: project.folder, stdio: ['ignore', 'ignore', 'pipe'] })
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect({ code, said }).toEqual({
      code: 2,
      said: expect.stringMatching(/0002_more\.sql:\d+: could not extend file .*Check free disk space/),
    })
    const states = async () => {
      const { stdout } = await runCli(['migrate', 'status', '--json'], { cwd: project.folder })
      return JSON.parse(stdout).migrations.map(({ state }: { readonly state: string }) => state)
    }
    expect(await states()).toEqual(['applied', 'pending'])
    expect(await runCli(['migrate', 'up'], { cwd: project.folder })).toMatchObject({ code: 0 })
    expect(await states()).toEqual(['applied', 'applied'])
  })
})

onServer('a migration that is stopped', () => {
  let database: TestDatabase
  let administrator: Database
  let folder: Folder

  beforeEach(async () => {
    database = await openTestDatabase()
    administrator = await openDatabase({ url: database.url, directory: '' }, {})
  })

  afterEach(async () => {
    await administrator.close()
    await database.close()
  })

  const asleep = `pid <> pg_backend_pid() and datname = current_database() and wait_event = 'PgSleep'`
  const stop = (call: string) => async () => {
    await until(database, `exists (select from pg_stat_activity where ${asleep})`)
    await administrator.query({ text: `select ${call}(pid)::text from pg_stat_activity where ${asleep}`, values: [] })
  }

  test.each<[by: string, sql: string, says: RegExp, stop: () => Promise<void>]>([
    ['its own timeout', "set statement_timeout = '50ms';\n", /statement timeout/, async () => {}],
    ['a cancelled statement', '', /user request/, stop('pg_cancel_backend')],
    ['a terminated connection', '', /administrator command/, stop('pg_terminate_backend')],
  ])('by %s leaves nothing behind, and the next run succeeds', async (_by, sql, says, interfere) => {
    folder = await makeFolder(filesWith(2, `${sql}select pg_sleep(60);\n`))
    const [failure] = await Promise.all([failureOf(migrateUp(database, folder.path), folder), interfere()])
    expect(failure).toMatch(says)
    expect(await tablesOf(administrator)).toEqual(['zero'])
    await folder.write('0002_more.sql', around(2, sql.replace('50ms', '50s')))
    expect((await migrateUp(database, folder.path)).map(({ name }) => name)).toEqual(['0002_more'])
    expect(await tablesOf(database)).toEqual([...NAMES, 'zero'])
    // What a file set for itself is gone with it.
    const { rows: kept } = await database.query({ text: 'show statement_timeout', values: [] })
    expect(kept).toEqual([['5s']])
  })

  test('is not limited by a timeout of the database', async () => {
    await database.query({
      text: `do $$ begin execute format('alter database %I set statement_timeout = 100', current_database()); end $$`,
      values: [],
    })
    folder = await makeFolder(filesWith(2, 'select pg_sleep(0.3);\n'))
    const fresh = await openDatabase({ url: database.url, directory: '' }, {})
    try {
      expect((await migrateUp(fresh, folder.path)).map(({ name }) => name)).toEqual(['0001_zero', '0002_more'])
    } finally {
      await fresh.close()
    }
  })
})
