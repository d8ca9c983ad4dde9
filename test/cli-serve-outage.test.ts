import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  BOOKS,
  BOOKS_MIGRATION,
  BOOKS_MIGRATION_FILE,
  makeProject,
  type Project,
  type Serving,
  startServe,
} from './support/cli.js'
import { type Cluster, createCluster, installedBinaries } from './support/servers.js'

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

  test('answers 503 until it is there, then applies the migrations and serves', async () => {
    const server = await start('--migrate')
    expect((await fetch(`${server.url}/api/books/`)).status).toBe(503)
    await cluster.start()
    expect(await server.logged('migrated')).toMatchObject({ migration: '0001_create_books' })
    await server.logged('database_back')
    expect(await (await fetch(`${server.url}/api/books/`)).json()).toEqual([])
    expect(await server.stop()).toMatchObject({ code: 0, stderr: '' })
  })

  test('stops with 2 when migrations turn out to be pending and nobody allowed them', async () => {
    const server = await start()
    await cluster.start()
    const { code, stdout, stderr } = await server.ended
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: 1 migration is pending: 0001_create_books\n/)
    expect(stdout).not.toContain('"database_back"')
  })
})
