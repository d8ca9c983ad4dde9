import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import type { Database, Result, Statement } from '../../../src/db/database.js'
import { openDatabase } from '../../../src/db/open.js'
import { createMonitor } from '../../../src/health/monitor.js'
import { withReplica } from '../../../src/db/pool/replica.js'
import { Problem } from '../../../src/foundation/problem.js'
import { type Api, startApi } from '../../support/api.js'
import type { Plugin } from '../../../src/index.js'
import { PLUGGED } from '../../support/cli.js'
import { openTestDatabase, watchDatabase } from '../../support/database.js'
import { hasReplicas, type Replicated, startReplicated } from '../../support/replicated.js'
import { waitUntil } from '../../support/wait-until.js'

const describeWithServers = hasReplicas ? describe : describe.skip

const TABLE = `create table "books" ("id" bigint generated always as identity primary key, "title" varchar(100) not null);
  insert into "books" ("title") values ('Dune')`
const LAG = 300

const plugin: Plugin = (app) =>
  app.route('GET', '/locked/', 'locked', async (context) => {
    const books = context.store(app.resource('book'))
    const [first] = await books.lockMany([1n])
    return { status: 200, body: [first !== undefined, (await books.lock(1n)) !== undefined] }
  })

describeWithServers('with a replica', () => {
  let replicated: Replicated
  let api: Api

  beforeAll(async () => {
    replicated = await startReplicated([TABLE], LAG)
    api = await startApi(PLUGGED, { plugin, database: replicated.database })
  })

  afterEach(() => replicated?.resume())

  afterAll(async () => {
    await api?.close()
    await replicated?.close()
  })

  const titles = async (headers: Readonly<Record<string, string>> = {}): Promise<unknown> => {
    const response = await api.fetch('/api/books/', { headers })
    expect(response.status).toBe(200)
    return ((await response.json()) as { title: string }[]).map(({ title }) => title)
  }
  /** Statements on the table of books that a server has answered, by its own count of scans. */
  const scansOf = async (server: Database): Promise<number> => {
    const text =
      "select pg_stat_clear_snapshot(), sum(seq_scan + coalesce(idx_scan, 0)) from pg_stat_user_tables where relname = 'books'"
    return Number((await server.query({ text, values: [] })).rows[0]?.[1])
  }
  /** Resolves once reads come from the replica. */
  const untilItReads = async () => {
    for (const before = await scansOf(replicated.follower); (await scansOf(replicated.follower)) === before; )
      await titles()
  }

  test('GET reads from the replica, and gets the data of the primary', async () => {
    await untilItReads()
    expect(await titles()).toEqual(['Dune'])
    expect(replicated.database.description).toMatch(/^PostgreSQL at .*; reads from PostgreSQL at /)
  })

  test('a write is visible at once with `Prefer: read=primary`, and otherwise after the bound, even if the replica has stopped', async () => {
    await untilItReads()
    await replicated.pause()
    const created = await api.send('POST', '/api/books/', { title: 'Emma' })
    expect(created.status).toBe(201)
    const acknowledged = performance.now()
    const { id } = (await created.json()) as { id: number }
    for (const prefer of ['read=primary', 'respond-async, READ = "primary"', 'read=primary; why=edit']) {
      expect(await titles({ prefer })).toContain('Emma')
    }
    while (performance.now() - acknowledged < LAG) await titles()
    expect(await titles()).toContain('Emma')
    expect((await api.fetch(`/api/books/${id}/`)).status).toBe(200)
    expect((await api.send('PATCH', `/api/books/${id}/`, {})).status).toBe(200)
    expect((await api.fetch(`/api/books/${id}/`, { method: 'DELETE' })).status).toBe(204)
  })

  test('requests with other preferences still use the replica', async () => {
    await untilItReads()
    const latest = async () => {
      const text =
        "select coalesce(max(query_start), '-infinity')::text from pg_stat_activity where query like '%books%' and pid <> pg_backend_pid()"
      return (await replicated.follower.query({ text, values: [] })).rows[0]?.[0]
    }
    const before = await latest()
    await waitUntil(async () => {
      await titles({ prefer: 'return=minimal' })
      return (await latest()) !== before
    })
  })

  test('records are locked on the primary, for GET too', async () => {
    await untilItReads()
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.fetch('/api/locked/')))
    const text = "select query from pg_stat_activity where query like '%for no key update%' and pid <> pg_backend_pid()"
    expect((await replicated.follower.query({ text, values: [] })).rows).toEqual([])
    for (const answer of answers) expect(await answer.json()).toEqual([true, true])
  })

  test('the replica is used again once it has caught up', async () => {
    await replicated.pause()
    await api.send('POST', '/api/books/', { title: 'Ilium' })
    await replicated.resume()
    await untilItReads()
    expect(await titles()).toContain('Ilium')
  })

  test('no read fails while the replica is unavailable', async () => {
    await untilItReads()
    await replicated.replica.stop()
    for (let reads = 0; reads < 20; reads++) expect(await titles()).toContain('Dune')
    await replicated.replica.start()
    await untilItReads()
  })

  test.each([
    {
      why: 'is behind',
      stop: () => replicated.pause(),
      start: () => replicated.resume(),
      msg: 'reads go to the primary: the replica is more than 300 ms behind',
    },
    {
      why: 'is unavailable',
      stop: () => replicated.replica.stop(),
      start: () => replicated.replica.start(),
      msg: 'reads go to the primary: the replica is unavailable',
    },
  ])('the log and the metrics say that the replica $why, and that it is used again', async ({ stop, start, msg }) => {
    await untilItReads()
    const monitor = await createMonitor({ database: replicated.database, isDraining: () => false })
    const states = async () => {
      const found = (await monitor.metrics()).find(({ name }) => name === 'snippetctl_database_replica')
      return found?.values.map(({ labels, value }) => `${labels['state']} ${value}`).join(', ')
    }
    const isUsed = async () => (await states()) === 'used 1, unused 0'
    await waitUntil(isUsed)
    const begun = api.logged.length
    const changes = () => api.logged.slice(begun).filter(({ event }) => event.startsWith('replica'))
    const lastChange = () => changes().at(-1)
    await stop()
    await api.send('POST', '/api/books/', { title: 'Omeros' })
    await waitUntil(() => lastChange()?.event === 'replica_unused')
    expect(lastChange()).toMatchObject({ msg })
    expect(await states()).toBe('used 0, unused 1')
    await start()
    await waitUntil(() => lastChange()?.event === 'replica_used')
    expect(lastChange()).toMatchObject({ msg: 'reads go to the replica again' })
    await waitUntil(isUsed)
    // Each entry is about a change.
    for (const [at, { event }] of changes().entries()) expect(changes()[at + 1]?.event).not.toBe(event)
    monitor.close()
  })
})

test('an overload does not reject the statements that measure the lag of the replica', async () => {
  const primary = watchDatabase(await openTestDatabase())
  const replica = watchDatabase(await openTestDatabase())
  const database = withReplica({ primary: primary.watched, replica: replica.watched, bound: LAG })
  await database.reads?.query({ text: 'select 1', values: [], retry: true })
  await waitUntil(() => replica.sent.length > 0)
  expect(primary.sent).toContainEqual(expect.objectContaining({ name: 'replica_position', follows: true }))
  // The lag is measured again and again, so a slow machine may see several checks.
  for (const statement of replica.sent) expect(statement).toMatchObject({ name: 'replica_replayed', follows: true })
  await database.close()
})

describe('with a replica that is known to be current', () => {
  const READ: Statement = { text: 'select 1', values: [], retry: true }
  const MEASURES = ['replica_position', 'replica_replayed']
  let asked: string[]
  /** Whether the replica has replayed more than the primary has written. */
  let ahead: 't' | 'f'
  let answer: () => Promise<Result>
  let database: Database

  const server = (name: string): Database =>
    ({
      query: (statement: Statement) => {
        asked.push(`${name} ${statement.name ?? statement.text}`)
        return MEASURES.includes(statement.name ?? '')
          ? { rows: [['t', name === 'primary' ? ahead : '0/1']] }
          : answer()
      },
      close: async () => undefined,
    }) as unknown as Database

  beforeEach(() => void (ahead = 'f'))
  const start = async (bound: number) => {
    asked = []
    answer = async () => ({ rows: [], columns: [], count: 0, command: 'SELECT' })
    database = withReplica({ primary: server('primary'), replica: server('replica'), bound })
    for (let reads = 0; reads < 9; reads += 1) await database.reads?.query(READ)
    expect(asked.at(-1)).toBe('replica select 1')
  }
  afterEach(() => database.close())

  test('only reads that lock nothing go to it', async () => {
    await start(60_000)
    asked = []
    await database.reads?.query({ ...READ, retry: false })
    await database.reads?.query({ ...READ, locks: true })
    await database.reads?.query(READ)
    expect(asked).toEqual(['primary select 1', 'primary select 1', 'replica select 1'])
  })

  test('a read that it fails goes to the primary, unless it took too long', async () => {
    await start(60_000)
    asked = []
    answer = () => Promise.reject(new Problem('timeout'))
    await expect(database.reads?.query(READ)).rejects.toMatchObject({ type: 'timeout' })
    expect(asked).toEqual(['replica select 1'])
    answer = () => Promise.reject(new Problem('unavailable'))
    await expect(database.reads?.query(READ)).rejects.toMatchObject({ type: 'unavailable' })
    expect(asked.slice(1)).toEqual(['replica select 1', 'primary select 1'])
  })

  test('a measurement counts from its beginning, however long it takes', async () => {
    jest.useFakeTimers()
    try {
      asked = []
      answer = async () => ({ rows: [], columns: [], count: 0, command: 'SELECT' })
      const replica = server('replica')
      const slow = {
        ...replica,
        query: async (statement: Statement) => {
          if (statement.name === 'replica_replayed') await new Promise((resolve) => setTimeout(resolve, 3_000))
          return replica.query(statement)
        },
      }
      database = withReplica({ primary: server('primary'), replica: slow, bound: 4_000 })
      const read = async () => {
        await database.reads?.query(READ)
        return asked.at(-1)
      }
      expect(await read()).toBe('primary select 1')
      await jest.advanceTimersByTimeAsync(3_999)
      expect(await read()).toBe('replica select 1')
      await jest.advanceTimersByTimeAsync(1)
      expect(await read()).toBe('primary select 1')
    } finally {
      jest.useRealTimers()
    }
  })

  test('a replica that is ahead of the primary is not read, from the first read on', async () => {
    jest.useFakeTimers()
    try {
      await start(4_000)
      const said: unknown[] = []
      database.replica?.onChange((change) => said.push(change))
      const read = async (from: Database) => {
        asked = []
        await from.reads?.query(READ)
        return asked.find((each) => each.endsWith(' select 1'))
      }
      ahead = 't'
      await jest.advanceTimersByTimeAsync(4_000)
      expect(await read(database)).toBe('primary select 1')
      await jest.advanceTimersByTimeAsync(8_000)
      expect(await read(database)).toBe('primary select 1')
      expect(said).toEqual([{ reason: 'the replica has changes that the primary lacks' }])
      const restarted = withReplica({ primary: server('primary'), replica: server('replica'), bound: 4_000 })
      for (let reads = 0; reads < 9; reads += 1) expect(await read(restarted)).toBe('primary select 1')
      await restarted.close()
      ahead = 'f'
      await jest.advanceTimersByTimeAsync(2_000)
      expect(await read(database)).toBe('replica select 1')
      expect(said.at(-1)).toBe(undefined)
    } finally {
      jest.useRealTimers()
    }
  })

  test.each([
    { found: 'f', reason: 'the replica is more than 4000 ms behind' },
    { found: null, reason: 'the server is not a replica' },
  ])('nothing is said before the bound has passed: $reason', async ({ found, reason }) => {
    jest.useFakeTimers()
    try {
      asked = []
      answer = async () => ({ rows: [], columns: [], count: 0, command: 'SELECT' })
      const replica = { ...server('replica'), query: async () => ({ rows: [[found]] }) } as unknown as Database
      database = withReplica({ primary: server('primary'), replica, bound: 4_000 })
      const said: unknown[] = []
      database.replica?.onChange((change) => said.push(change))
      expect(database.replica?.isUsed()).toBe(undefined)
      await database.reads?.query(READ)
      await jest.advanceTimersByTimeAsync(3_999)
      expect([said, database.replica?.isUsed()]).toEqual([[], undefined])
      await jest.advanceTimersByTimeAsync(1_000)
      expect([said, database.replica?.isUsed()]).toEqual([[{ reason }], false])
    } finally {
      jest.useRealTimers()
    }
  })

  test.each([
    ['between measurements', 0, 4],
    ['during one', 1_000, 5],
  ])(
    'its lag is measured four times within the bound, however many reads there are, until the database is closed %s',
    async (_when, later, count) => {
      jest.useFakeTimers()
      try {
        await start(4_000)
        for (let reads = 0; reads < 50; reads += 1) await database.reads?.query(READ)
        const measured = () => asked.filter((each) => each === 'replica replica_replayed').length
        await jest.advanceTimersByTimeAsync(3_000)
        expect(measured()).toBe(4)
        jest.advanceTimersByTime(later)
        await database.close()
        await jest.advanceTimersByTimeAsync(9_000)
        expect(measured()).toBe(count)
      } finally {
        jest.useRealTimers()
      }
    },
  )
})

test('the embedded database cannot have a replica', async () => {
  const rejected = openDatabase(
    { url: undefined, directory: 'unused' },
    { DATABASE_REPLICA_URL: 'postgres://replica/app' },
  )
  await expect(rejected).rejects.toThrow('DATABASE_REPLICA_URL is set, but the embedded database cannot have a replica')
})

test.each(['0', '49', '60001', '1.5', 'soon', ''])('DATABASE_REPLICA_LAG=%j is rejected', async (given) => {
  const env = { DATABASE_REPLICA_LAG: given }
  await expect(openDatabase({ url: 'postgres://db/app', directory: '' }, env)).rejects.toThrow(
    'DATABASE_REPLICA_LAG is',
  )
})

test('a malformed URL is rejected by the name of its variable, without the password', async () => {
  const env = { DATABASE_REPLICA_URL: 'mysql://app:secret@db/app' }
  const rejected = openDatabase({ url: 'postgres://db/app', directory: '' }, env)
  await expect(rejected).rejects.toThrow(/^DATABASE_REPLICA_URL is malformed: (?!.*secret)/)
})
