import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { migrateUp } from '../../../src/migrations/run/run.js'
import { makeProject, runCli } from '../../support/cli.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { makeFolder, tablesOf } from '../../support/migrations.js'
import { buildMigrator, killNow, startMigrator, until } from '../../support/migrators.js'
import { nextOutput } from '../../support/until-printed.js'

/** `npm run test:kills` says 50. */
const KILLS = Number(process.env['SNIPPETCTL_KILLS'] ?? 4)
const STATEMENTS = 10

const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip
const embedded = testDatabaseKind() === 'embedded' ? describe : describe.skip

onServer('a migrator of a server', () => {
  let database: TestDatabase
  let program: string

  beforeAll(async () => {
    program = await buildMigrator()
  })

  beforeEach(async () => {
    database = await openTestDatabase()
  })

  afterEach(() => database.close())

  const sleeping = `exists (select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep')`
  const names = Array.from({ length: STATEMENTS }, (_, at) => `t${at}`)
  const make = (tables: readonly string[]) => tables.map((name) => `create table ${name} (id int);\n`).join('')

  test.each(Array.from({ length: KILLS }, (_, kill) => (kill * 7 + 3) % (STATEMENTS + 1)))(
    'that is killed after statement %i leaves nothing behind, and the next run succeeds',
    async (at) => {
      const folder = await makeFolder({
        '0001_zero.sql': '-- up\ncreate table zero (id int);\n',
        '0002_more.sql': `-- up\n${make(names.slice(0, at))}select pg_sleep(600);\n${make(names.slice(at))}`,
      })
      const child = startMigrator(program, database.url ?? '', folder.path)
      await until(database, sleeping)
      await killNow(child)
      expect(await tablesOf(database)).toEqual(['zero'])
      await folder.write('0002_more.sql', `-- up\n${make(names)}`)
      expect((await migrateUp(database, folder.path)).map(({ name }) => name)).toEqual(['0002_more'])
      expect(await tablesOf(database)).toEqual([...names, 'zero'])
    },
  )
})

embedded('a migrator of the embedded database', () => {
  test('that is killed midway leaves a whole migration or nothing, and the next run succeeds', async () => {
    const rows = 'insert into one select generate_series(1, 300000);\n'
    const project = await makeProject({
      'resources.yaml': 'version: 1\n',
      'migrations/0001_zero.sql': '-- up\ncreate table zero (id int);\n',
      'migrations/0002_more.sql': `-- up\ncreate table one (id int);\n${rows}create table two (id int);\n`,
    })
    try {
      const command = resolve('bin', 'snippetctl.js')
      const child = spawn(process.execPath, [command, 'migrate', 'up'], { cwd: project.folder, stdio: 'pipe' })
      await nextOutput(child.stderr)
      await killNow(child)
      const left = await runCli(['migrate', 'status', '--json'], { cwd: project.folder })
      expect(JSON.parse(left.stdout)).toMatchObject({
        migrations: [
          { state: expect.stringMatching(/applied|pending/) },
          { state: expect.stringMatching(/applied|pending/) },
        ],
      })
      expect(await runCli(['migrate', 'up'], { cwd: project.folder })).toMatchObject({ code: 0 })
      expect(await runCli(['migrate', 'status'], { cwd: project.folder })).toMatchObject({ code: 0 })
    } finally {
      await project.remove()
    }
  })
})
