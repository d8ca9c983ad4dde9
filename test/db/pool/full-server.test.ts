import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Database } from '../../../src/db/database.js'
import { openDatabase } from '../../../src/db/open.js'
import { waitUntil } from '../../support/wait-until.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'

const describeWithSessions = testDatabaseKind() === 'postgres' ? describe : describe.skip

const quick = { retry: true, quick: true } as const

describeWithSessions('statements on a server that has no further connection for the service', () => {
  let admin: TestDatabase
  let role: string
  let opened: Database[]
  /** The names of the statements that are done, in order, and the errors of those that failed. */
  let done: string[]

  beforeEach(async () => {
    admin = await openTestDatabase()
    role = `limited_${randomUUID().replaceAll('-', '')}`
    opened = []
    done = []
  })
  afterEach(async () => {
    for (const database of opened) await database.close()
    await admin.query({ text: `drop role ${role}`, values: [] })
    await admin.close()
  })

  const limit = (connections: number) =>
    admin.query({ text: `create role ${role} login password 'secret' connection limit ${connections}`, values: [] })
  const open = async (connections: number): Promise<Database> => {
    const url = Object.assign(new URL(admin.url ?? ''), { username: role, password: 'secret' }).href
    const database = await openDatabase({ url, directory: '' }, { DATABASE_POOL: String(connections) })
    opened.push(database)
    return database
  }
  const sleep = (seconds: number) => ({ text: `select pg_sleep(${seconds})`, values: [] })
  const note = async (name: string, work: Promise<unknown>): Promise<void> => {
    await work.then(
      () => done.push(name),
      (error: Error) => done.push(`${name}: ${error.message}`),
    )
  }
  const write = (database: Database, seconds: number) =>
    database.transaction((connection) => connection.query(sleep(seconds)))

  test.each([
    { count: 5, pause: 20 },
    { count: 25, pause: 20 },
    { count: 25, pause: 0 },
  ])('are served in order while a pipelined connection is slow to close: $count, every $pause ms', async (of) => {
    await limit(2)
    const database = await open(9)
    const slow = database.query({ ...quick, text: 'select 1 from pg_sleep(2)', values: [] })
    await delay(50)
    const all = [note('first', database.query(sleep(0.25)))]
    await delay(50)
    const names = Array.from({ length: of.count }, (_, index) => `s${index}`)
    for (const name of names) {
      all.push(note(name, database.query(sleep(0.01))))
      await delay(of.pause)
    }
    await Promise.all(all)
    expect(done).toEqual(['first', ...names])
    await slow
  })

  test('the first takes a connection that another process closes', async () => {
    await limit(2)
    const database = await open(9)
    const other = await open(1)
    await other.query(sleep(0))
    const busy = database.transaction((connection) => connection.query(sleep(1)))
    await delay(100)
    const all: Promise<void>[] = []
    for (const name of ['s0', 's1', 's2', 's3']) {
      all.push(note(name, database.query(sleep(0.05))))
      await delay(80)
    }
    await other.close()
    await Promise.all(all)
    expect(done).toEqual(['s0', 's1', 's2', 's3'])
    await busy
  })

  test('a process without any connection takes one as soon as another process closes its own', async () => {
    await limit(1)
    const other = await open(1)
    await other.query(sleep(0))
    const waiting = note('first', (await open(1)).query(sleep(0)))
    await delay(200)
    await other.close()
    await waiting
    expect(done).toEqual(['first'])
  })

  test('many writers keep the few connections busy, and leave none behind', async () => {
    await limit(3)
    const database = await open(20)
    const until = performance.now() + 1_500
    const writers = Array.from({ length: 14 }, async (_, index) => {
      while (performance.now() < until)
        await note('', index % 2 ? write(database, 0.005) : database.query(sleep(0.005)))
    })
    await Promise.all(writers)
    expect(new Set(done)).toEqual(new Set(['']))
    // The last attempt to open a connection may still be under way.
    await waitUntil(async () => database.usage().idle === database.usage().open)
  })

  test('a probe ends within its time, with an answer or without', async () => {
    await limit(1)
    const database = await open(9)
    const busy = write(database, 1)
    await delay(50)
    const start = performance.now()
    await expect(database.probe()).rejects.toMatchObject({ type: 'unavailable' })
    expect(performance.now() - start).toBeLessThan(750)
    await busy
    const writers = Array.from({ length: 8 }, () => write(database, 0.05))
    await database.probe()
    await Promise.all(writers)
  })

  test('a closing pipelined connection does not delay the end of the service', async () => {
    await limit(1)
    const database = await open(9)
    const slow = database.query({ ...quick, text: 'select 1 from pg_sleep(3)', values: [] }).catch(() => undefined)
    await delay(50)
    const waiting = note('first', database.query(sleep(0)))
    await delay(50)
    expect(database.usage()).toMatchObject({ pipelinedConnections: 1, pipelinedStatements: 1 })
    const start = performance.now()
    await database.close()
    expect(performance.now() - start).toBeLessThan(1_500)
    await Promise.all([slow, waiting])
  })

  test('quick reads behind a slow one are sent elsewhere also if their connection is given up', async () => {
    await limit(2)
    const database = await open(4)
    const slow = database.query({ ...quick, text: 'select 1 from pg_sleep(1.5)', values: [] })
    const start = performance.now()
    const behind = database.query({ ...quick, text: 'select 2', values: [] })
    await delay(20)
    await Promise.all([note('a', write(database, 0.05)), note('b', write(database, 0.05))])
    await behind
    expect(performance.now() - start).toBeLessThan(1_200)
    expect(done.toSorted()).toEqual(['a', 'b'])
    await slow
  })
})
