import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { openDatabase } from '../../../src/internal.js'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  PLUGGED,
  type Project,
  type Serving,
  startServe,
} from '../../support/cli.js'
import { type Cluster, createCluster, installedBinaries } from '../../support/servers.js'
import { untilPrinted } from '../../support/until-printed.js'

let project: Project
let cluster: Cluster
let serving: Serving | undefined

const onMachine = installedBinaries() === undefined ? describe.skip : describe

onMachine('serve, started while its PostgreSQL is down', () => {
  beforeEach(async () => {
    project = await makeProject({ 'resources.yaml': BOOKS, [BOOKS_MIGRATION_FILE]: BOOKS_MIGRATION })
    cluster = createCluster()
  })

  afterEach(async () => {
    await serving?.stop('SIGKILL')
    serving = undefined
    await cluster.remove()
    await project.remove()
  })

  const start = async (...args: readonly string[]) => {
    serving = await startServe(args, { cwd: project.folder, env: { DATABASE_URL: cluster.url } })
    return serving
  }

  test.each([[[]], [['--workers', '2']]])(
    'responds with 503 until it is back, then applies the migrations and serves: %j',
    async (args) => {
      const server = await start('--migrate', ...args)
      expect((await fetch(`${server.url}/api/books/`)).status).toBe(503)
      await cluster.start()
      expect(await server.logged('migrated')).toMatchObject({ migration: '0001_create_books' })
      // Each worker says so for itself.
      await untilPrinted(server.child.stdout, () => count(server, 'database_back') >= (args.length > 0 ? 2 : 1))
      expect(count(server, 'migrated')).toBe(1)
      expect(await (await fetch(`${server.url}/api/books/`)).json()).toEqual([])
      expect(await server.stop()).toMatchObject({ code: 0, stderr: '' })
    },
  )

  test('runs hooks in serializable transactions once it is back', async () => {
    await project.write('resources.yaml', PLUGGED)
    await project.write('plugin.mjs', "export default (app) => app.hooks('book', { isolation: 'serializable' })")
    const server = await start('--migrate')
    await cluster.start()
    await server.logged('database_back')
    const database = await openDatabase({ url: cluster.url, directory: '' }, {})
    await database.query({ text: SHOWING_ISOLATION, values: [] })
    await database.close()
    const { status, title } = await create(server, 'one')
    expect([status, title]).toEqual([201, 'serializable'])
  })

  test.each([[[]], [['--workers', '2']]])(
    'stops with 2 if migrations turn out to be pending and are not allowed: %j',
    async (args) => {
      const server = await start(...args)
      await cluster.start()
      const { code, stdout, stderr } = await server.ended
      expect(code).toBe(2)
      expect(stderr).toMatch(/^error: 1 migration is pending: 0001_create_books\n/)
      expect(stdout).not.toContain('"database_back"')
    },
  )
})

/** Has each record say how isolated the transaction is that makes it. */
const SHOWING_ISOLATION = `
  create function show() returns trigger language plpgsql as $$ begin new.title := current_setting('transaction_isolation'); return new; end $$;
  create trigger show before insert on books for each row execute function show()`

async function create({ url }: Serving, title: string) {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/api/books/`, { method: 'POST', headers, body: JSON.stringify({ title }) })
  return { status: answer.status, ...((await answer.json()) as { readonly title: string }) }
}

function count({ output }: Serving, event: string): number {
  return output.stdout.split(`"event":"${event}"`).length - 1
}
