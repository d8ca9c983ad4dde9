import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { build } from 'esbuild'
import { openDatabase } from '../src/db/open.js'
import { migrateUp, migrationStatus } from '../src/migrations/run.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from './support/database.js'
import { makeFolder, tablesOf } from './support/migrations.js'

// A killed process, and two processes, need a server outside of this one.
const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

const MIGRATOR = `
  import { openDatabase } from './src/db/open.ts'
  import { migrateUp } from './src/migrations/run.ts'
  const database = await openDatabase({ url: process.env.URL, directory: '' }, {})
  await migrateUp(database, process.env.FOLDER)
  await database.close()`

/** The program of a migrator that is a process of its own. */
async function buildMigrator(): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: MIGRATOR, resolveDir: process.cwd(), loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    write: false,
  })
  return outputFiles[0]?.text ?? ''
}

function startMigrator(program: string, url: string, folder: string) {
  const child = spawn(process.execPath, ['--input-type=module'], {
    env: { ...process.env, URL: url, FOLDER: folder },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  child.stdin.end(program)
  return child
}

onServer('migrators of one server', () => {
  let database: TestDatabase
  let program: string

  beforeAll(async () => {
    program = await buildMigrator()
  })

  beforeEach(async () => {
    database = await openTestDatabase()
  })

  afterEach(() => database.close())

  async function until(condition: string): Promise<void> {
    for (;;) {
      const { rows } = await database.query({ text: `select (${condition})::text`, values: [] })
      if (rows[0]?.[0] === 'true') return
      // A busy look would take the processor from the migrator that it looks for.
      await delay(20)
    }
  }

  const sleeping = `exists (select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep')`

  test.each([
    { killed: 'at its first statement', before: '', after: 'create table two (id int);' },
    { killed: 'between two statements', before: 'create table one (id int);', after: 'create table two (id int);' },
    { killed: 'at its last statement', before: 'create table one (id int); create table two (id int);', after: '' },
  ])(
    'one that is killed $killed leaves nothing behind, and the next one succeeds soon',
    async ({ before, after }) => {
      const folder = await makeFolder({
        '0001_zero.sql': '-- up\ncreate table zero (id int);\n',
        '0002_more.sql': `-- up\n${before}\nselect pg_sleep(600);\n${after}\n`,
      })
      const child = startMigrator(program, database.url ?? '', folder.path)
      await until(sleeping)
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      expect(await exit).toEqual([null, 'SIGKILL'])
      expect(await tablesOf(database)).toEqual(['zero'])
      await folder.write('0002_more.sql', '-- up\ncreate table one (id int);\ncreate table two (id int);\n')
      expect((await migrateUp(database, folder.path)).map(({ name }) => name)).toEqual(['0002_more'])
      expect(await tablesOf(database)).toEqual(['one', 'two', 'zero'])
    },
    60_000,
  )

  /** Starts work while another session holds what `lock` takes, and lets go as soon as the condition is met. */
  async function whileHeld<T>(lock: string, start: () => Promise<T>, condition: string): Promise<T> {
    const holder = await openDatabase({ url: database.url, directory: '' }, {})
    try {
      const [work] = await holder.transaction(async (connection) => {
        await connection.query({ text: lock, values: [] })
        const started = start()
        await until(condition)
        return [started]
      })
      return await work
    } finally {
      await holder.close()
    }
  }

  test('one that waits for the other finds the work done', async () => {
    const folder = await makeFolder({
      '0001_one.sql': '-- up\nselect pg_advisory_xact_lock(1, 1);\ncreate table one (id int);\n',
    })
    const other = await openDatabase({ url: database.url, directory: '' }, {})
    const both = () => Promise.all([migrateUp(database, folder.path), migrateUp(other, folder.path)])
    try {
      const waiting = `select count(*) from pg_locks where locktype = 'advisory' and not granted and database =
        (select oid from pg_database where datname = current_database())`
      const done = await whileHeld('select pg_advisory_xact_lock(1, 1)', both, `(${waiting}) = 2`)
      expect(done.flat()).toMatchObject([{ name: '0001_one' }])
    } finally {
      await other.close()
    }
  })

  test('one that meets a locked table waits for it', async () => {
    const one = '-- up\ncreate table one (id int);\n'
    await migrateUp(database, (await makeFolder({ '0001_one.sql': one })).path)
    const folder = await makeFolder({ '0001_one.sql': one, '0002_more.sql': '-- up\nalter table one add more int;\n' })
    const blocked = `exists (select from pg_locks where not granted and relation = 'one'::regclass)`
    const done = await whileHeld('select from one', () => migrateUp(database, folder.path), blocked)
    expect(done).toMatchObject([{ name: '0002_more' }])
    expect((await migrationStatus(database, folder.path)).map(({ state }) => state)).toEqual(['applied', 'applied'])
  })
})
