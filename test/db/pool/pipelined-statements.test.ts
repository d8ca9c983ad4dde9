import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Database } from '../../../src/db/database.js'
import { openDatabase } from '../../../src/db/open.js'
import { openPipelined } from '../../../src/db/pool/pipelined-connections.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { createNaps } from '../../support/naps.js'
import { waitUntil } from '../../support/wait-until.js'

const describeWithSessions = testDatabaseKind() === 'postgres' ? describe : describe.skip

const quick = { retry: true, quick: true }
const echo = (value: number) => ({
  ...quick,
  name: `echo_${value % 7}`,
  text: `select $1::int, ${value % 7}`,
  values: [String(value)],
})
const count = {
  text: `select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  values: [],
}

describeWithSessions('quick reads', () => {
  let admin: TestDatabase
  let database: Database
  beforeEach(async () => {
    admin = await openTestDatabase()
    database = await openDatabase({ url: admin.url, directory: '' }, { DATABASE_POOL: '9' })
  })
  afterEach(async () => {
    await database.close()
    await admin.close()
  })

  test('each get their own response over few connections', async () => {
    const values = Array.from({ length: 1_000 }, (_, index) => index)
    const answers = await Promise.all(values.map((value) => database.query(echo(value))))
    expect(answers.map(({ rows }) => rows)).toEqual(values.map((value) => [[String(value), String(value % 7)]]))
    expect(Number((await admin.query(count)).rows[0]?.[0])).toBeLessThanOrEqual(3)
  })

  test('are not affected when one of them fails', async () => {
    const wrong = { ...quick, text: 'select 1 / $1::int', values: ['0'] }
    const right = [1, 2, 3, 4].map((value) => database.query(echo(value)))
    const failed = [1, 2, 3].map(() => expect(database.query(wrong)).rejects.toMatchObject({ code: '22012' }))
    const after = [5, 6].map((value) => database.query(echo(value)))
    await Promise.all(failed)
    expect((await Promise.all([...right, ...after])).map(({ rows }) => rows[0]?.[0])).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
      '6',
    ])
  })

  test('are retried when their connections are closed', async () => {
    await Promise.all([1, 2, 3].map((value) => database.query(echo(value))))
    const naps = await createNaps(admin)
    await naps.begin()
    // No more than there are connections.
    const slow = Array.from({ length: 9 }, (_, index) => ({
      ...quick,
      text: 'select $1::int from nap() as cut_me',
      values: [String(index)],
    }))
    const slowAnswers = Promise.all(slow.map((statement) => database.query(statement)))
    // They wait behind the slow ones.
    const behind = Promise.all([7, 8, 9].map((value) => database.query(echo(value))))
    expect(database.usage().pipelinedStatements).toBe(12)
    const text = `select count(pg_terminate_backend(pid)) from pg_stat_activity where query like '%cut_me%' and state = 'active' and pid <> pg_backend_pid()`
    await waitUntil(async () => (await admin.query({ text, values: [] })).rows[0]?.[0] !== '0')
    await naps.end()
    expect((await slowAnswers).map(({ rows }) => Number(rows[0]?.[0]))).toEqual(slow.map((_, index) => index))
    expect((await behind).map(({ rows }) => rows[0]?.[0])).toEqual(['7', '8', '9'])
  })

  test('return results even if they are slow, without delaying others for long', async () => {
    await admin.query({ text: 'create table held (a int); insert into held values (7)', values: [] })
    await Promise.all([1, 2, 3].map((value) => database.query(echo(value))))
    const naps = await createNaps(admin)
    await naps.begin()
    const slow = { ...quick, name: 'slow', text: 'select a from held, nap()', values: [] }
    const order: string[] = []
    const slowAnswers = [1, 2, 3].map(() => database.query(slow).then(({ rows }) => order.push(`slow ${rows[0]?.[0]}`)))
    await Promise.all([4, 5, 6].map((value) => database.query(echo(value)).then(() => order.push('quick'))))
    await naps.end()
    await Promise.all(slowAnswers)
    expect(order).toEqual(['quick', 'quick', 'quick', 'slow 7', 'slow 7', 'slow 7'])
  })

  test('are pipelined once they prove to be quick, until they are slow', async () => {
    const waits = (time: number) => ({
      retry: true,
      quick: 'perhaps' as const,
      name: 'waits',
      text: 'select pg_backend_pid() from pg_sleep($1::float8)',
      values: [String(time)],
    })
    const ask = async (time: number) => String((await database.query(waits(time))).rows[0]?.[0])
    const lane = async () =>
      String((await database.query({ ...quick, text: 'select pg_backend_pid()', values: [] })).rows[0]?.[0])
    const usual = await lane()
    const first = await ask(0)
    expect(first).not.toBe(usual)
    const untilQuick = async () => {
      let shared = first
      for (let asked = 0; asked < 1_000 && shared !== usual; asked++) shared = await ask(0)
      expect(shared).toBe(usual)
    }
    await untilQuick()
    // On a busy machine a statement may have been slow again in the meantime.
    let slow = await ask(0.5)
    for (let again = 0; again < 20 && slow !== usual; again++) {
      await untilQuick()
      slow = await ask(0.5)
    }
    expect(slow).toBe(usual)
    expect(await ask(0)).not.toBe(usual)
  })

  test.each([true, 'perhaps' as const])('exclude statements with large results, quick: %s', async (expected) => {
    const ask = async (statement: object) =>
      String((await database.query({ retry: true, quick: true, values: [], text: '', ...statement })).rows[0]?.[0])
    const shared = await ask({ text: 'select pg_backend_pid()' })
    const large = { quick: expected, name: 'large', text: "select pg_backend_pid(), repeat('x', 100000)" }
    for (let asked = 0; asked < 12; asked++) await ask(large)
    expect(await ask(large)).not.toBe(shared)
  })

  test('use the pool while the server accepts no further connection', async () => {
    const role = `limited_${randomUUID().replaceAll('-', '')}`
    const changeRole = (text: string) => admin.query({ text: text.replace('$', role), values: [] })
    await changeRole("create role $ login password 'secret' connection limit 3")
    const url = Object.assign(new URL(admin.url ?? ''), { username: role, password: 'secret' }).href
    const limited = await openDatabase({ url, directory: '' }, { DATABASE_POOL: '4' })
    await Promise.all([1, 2, 3].map(() => limited.query({ text: 'select pg_sleep(0.2)', values: [] })))
    const start = performance.now()
    expect((await limited.query(echo(1))).rows).toEqual([['1', '1']])
    await changeRole('alter role $ connection limit 4')
    await waitUntil(async () => {
      await limited.query(echo(2))
      return limited.usage().pipelinedConnections > 0
    })
    expect(performance.now() - start).toBeGreaterThanOrEqual(1_000)
    await limited.close()
    await changeRole('drop role $')
  })

  test('give their connection to a transaction if the server has no other one', async () => {
    const role = `limited_${randomUUID().replaceAll('-', '')}`
    const changeRole = (text: string) => admin.query({ text: text.replace('$', role), values: [] })
    await changeRole("create role $ login password 'secret' connection limit 1")
    const url = Object.assign(new URL(admin.url ?? ''), { username: role, password: 'secret' }).href
    const limited = await openDatabase({ url, directory: '' }, { DATABASE_POOL: '4' })
    try {
      const write = () => limited.transaction((connection) => connection.query({ text: 'select 1', values: [] }))
      expect((await limited.query(echo(1))).rows).toEqual([['1', '1']])
      expect(limited.usage()).toMatchObject({ pipelinedConnections: 1, open: 0 })
      const reads = Array.from({ length: 50 }, (_, value) => limited.query(echo(value)))
      expect((await write()).rows).toEqual([['1']])
      await Promise.all(reads)
      const mixed = await Promise.all([write(), limited.query(echo(2)), write(), limited.query(echo(3)), write()])
      expect(mixed.map(({ rows }) => rows[0]?.[0])).toEqual(['1', '2', '1', '3', '1'])
      const busy = Array.from({ length: 12 }, async () => {
        for (let count = 0; count < 40; count++) await write()
      })
      await Promise.all(busy)
      await changeRole('alter role $ connection limit 4')
      await waitUntil(async () => {
        await limited.query(echo(2))
        return limited.usage().pipelinedConnections > 0
      })
    } finally {
      await limited.close()
      await changeRole('drop role $')
    }
  })

  const session = { ...quick, text: 'select pg_backend_pid()', values: [] }

  test.each([
    { count: 20, connections: 1, least: 20 },
    { count: 21, connections: 2, least: 1 },
    { count: 41, connections: 3, least: 1 },
    { count: 120, connections: 3, least: 40 },
  ])('open a connection for each 20 that are in progress: $count', async ({ count, connections, least }) => {
    const reads = Array.from({ length: count }, () => database.query(session))
    expect(database.usage().pipelinedConnections).toBe(connections)
    const numbers = new Map<unknown, number>()
    for (const { rows } of await Promise.all(reads)) numbers.set(rows[0]?.[0], (numbers.get(rows[0]?.[0]) ?? 0) + 1)
    expect([numbers.size, Math.min(...numbers.values())]).toEqual([connections, least])
  })

  test('take no more time together than passes', async () => {
    const connections = openPipelined({
      client: { connectionString: admin.url },
      maxConnections: 1,
      prepare: async () => {},
      sending: { patience: undefined, prepare: true },
    })
    await connections.query(session, 1)
    const start = performance.now()
    const nap = { ...session, text: 'select pg_sleep(0.02)' }
    const answers = await Promise.all([1, 2, 3].map(() => connections.query(nap, 1)))
    const passed = performance.now() - start
    await connections.close()
    expect(answers.reduce((sum, { time }) => sum + time, 0)).toBeLessThanOrEqual(passed)
  })

  test('use another connection after one has lost its prepared statements', async () => {
    const named = { ...session, name: 'session' }
    const before = (await database.query(named)).rows
    expect((await database.query(named)).rows).toEqual(before)
    await database.query({ ...quick, text: 'deallocate all', values: [] })
    await database.query(named)
    const after = (await database.query(named)).rows
    expect(after).not.toEqual(before)
    expect((await database.query(session)).rows).toEqual(after)
    expect(database.usage().pipelinedConnections).toBe(1)
  })

  test('are prepared again when their table was changed', async () => {
    await admin.query({ text: 'create table things (a int); insert into things values (1)', values: [] })
    const all = { ...quick, name: 'all_things', text: 'select * from things', values: [] }
    expect((await database.query(all)).rows).toEqual([['1']])
    await admin.query({ text: 'alter table things add b int default 2', values: [] })
    const answers = await Promise.all([1, 2, 3, 4].map(() => database.query(all)))
    expect(answers.map(({ rows }) => rows)).toEqual(answers.map(() => [['1', '2']]))
  })
})

describeWithSessions('DATABASE_PREPARE', () => {
  const prepared = { text: 'select count(*) from pg_prepared_statements', values: [] }
  const named = { text: 'select 1', values: [], name: 'named' }

  test.each([
    ['on', '1'],
    ['off', '0'],
  ])('=%s leaves %s statements prepared', async (value, count) => {
    const admin = await openTestDatabase()
    const database = await openDatabase(
      { url: admin.url, directory: '' },
      { DATABASE_PREPARE: value, DATABASE_POOL: '1' },
    )
    const { rows } = await database.transaction(async (connection) => {
      await connection.query(named)
      return connection.query(prepared)
    })
    expect(rows).toEqual([[count]])
    await database.close()
    await admin.close()
  })
})

test('DATABASE_PREPARE accepts only on and off', async () => {
  const choice = { url: 'postgres://host/books', directory: '' }
  await expect(openDatabase(choice, { DATABASE_PREPARE: 'yes' })).rejects.toThrow('DATABASE_PREPARE is "yes"')
})
