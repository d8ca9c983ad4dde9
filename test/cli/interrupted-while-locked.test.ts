import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { BOOKS, BOOKS_MIGRATION, BOOKS_MIGRATION_FILE, makeProject, type Project, runInHost } from '../support/cli.js'
import { envOf, openTestDatabase, type TestDatabase, testDatabaseKind } from '../support/database.js'
import { interrupt } from '../support/interrupt.js'

const onServer = testDatabaseKind() === 'postgres' ? describe : describe.skip

onServer('Ctrl-C while another session holds a lock', () => {
  let project: Project
  let database: TestDatabase
  beforeEach(async () => {
    project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
    database = await openTestDatabase()
  })
  afterEach(async () => {
    await project.remove()
    await database.close()
  })

  const read = async (text: string) => (await database.query({ text, values: [] })).rows
  const isWaiting = async () =>
    (await read(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
      .length > 0

  /** Does work in a transaction after a statement, for as long as a command takes to start. */
  const whileHeld = (lock: string, work: (query: (text: string) => Promise<unknown>) => Promise<void>) =>
    database.transaction(
      async (connection) => {
        const query = (text: string) => connection.query({ text, values: [] })
        await query(lock)
        await work(query)
      },
      { unlimited: true },
    )

  test('ends `db copy`, which has copied nothing and can be repeated', async () => {
    const options = { cwd: project.folder }
    const onTarget = { ...options, env: envOf(database) }
    const copy = ['db', 'copy', '--to', database.url ?? '']
    await project.write('books.json', '{"book": [{"id": 1, "title": "Kindred"}]}')
    for (const args of [
      ['migrate', 'up'],
      ['seed', 'books.json'],
    ])
      expect(await runInHost(args, options)).toMatchObject({ code: 0 })
    expect(await runInHost(['migrate', 'up'], onTarget)).toMatchObject({ code: 0 })
    await whileHeld('lock table books', async () => {
      expect(await interrupt(copy, options, isWaiting)).toBe(130)
    })
    expect(await read('select id from books')).toEqual([])
    expect(await runInHost(copy, options)).toMatchObject({ code: 0 })
    expect(await read('select id::text from books')).toEqual([['1']])
  })

  test('ends `introspect --manage`, which has written nothing and can be repeated', async () => {
    const folder = join(project.folder, 'new')
    await mkdir(folder)
    const options = { cwd: folder, env: envOf(database) }
    await read('create table books (id bigint generated always as identity primary key, title text not null)')
    await whileHeld('create table snippetctl_migrations (name text)', async (query) => {
      expect(await interrupt(['introspect', '--manage'], options, isWaiting)).toBe(130)
      await query('drop table snippetctl_migrations')
    })
    const files = await readdir(folder, { recursive: true })
    expect(files.filter((name) => /\.(yaml|sql)$/.test(name))).toEqual([])
    expect(await runInHost(['introspect', '--manage'], options)).toMatchObject({ code: 0 })
    expect(await runInHost(['migrate', 'status'], options)).toMatchObject({ code: 0 })
  })
})
