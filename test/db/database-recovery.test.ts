import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Connection, Database } from '../../src/db/database.js'
import { openDatabase } from '../../src/db/open.js'
import { poolDatabase } from '../../src/db/pool/pooled-database.js'
import { type TestDatabase, openTestDatabase, testDatabaseKind } from '../support/database.js'
import { createNaps } from '../support/naps.js'
import { type Cluster, createCluster, installedBinaries } from '../support/servers.js'
import { waitUntil } from '../support/wait-until.js'

const describeWithSessions = testDatabaseKind() === 'postgres' ? describe : describe.skip
const describeWithServer = testDatabaseKind() === 'postgres' && installedBinaries() ? describe : describe.skip

const one = { text: 'select 1', values: [], retry: true }
const pid = { text: 'select pg_backend_pid()', values: [] }
const unavailable = { type: 'unavailable', headers: { 'Retry-After': '1' } }

describeWithSessions('with two sessions, a database', () => {
  let admin: TestDatabase
  let database: Database
  beforeEach(async () => {
    admin = await openTestDatabase(
      'create table counters (id int primary key, n int); insert into counters values (1, 0), (2, 0)',
    )
    database = await openDatabase({ url: admin.url, directory: '' }, { DATABASE_POOL: '2' })
  })
  afterEach(async () => {
    await database.close()
    await admin.close()
  })

  const terminate = (backend: string | null | undefined) =>
    admin.query({ text: 'select pg_terminate_backend($1)', values: [backend ?? null] })
  /** Resolves when the other session runs a statement that contains `text`. */
  const running = async (text: string): Promise<string> => {
    const values = [`%${text}%`]
    const where = "state = 'active' and query like $1 and pid <> pg_backend_pid() and datname = current_database()"
    return waitUntil(
      async () =>
        (await admin.query({ text: `select pid from pg_stat_activity where ${where}`, values })).rows[0]?.[0] ?? '',
    )
  }

  test('sets the limits of its session', async () => {
    const names = [
      'statement_timeout',
      'lock_timeout',
      'idle_in_transaction_session_timeout',
      'application_name',
      'TimeZone',
    ]
    const text = `select ${names.map((name) => `current_setting('${name}')`).join()}`
    expect((await database.query({ text, values: [] })).rows).toEqual([['5s', '2s', '10s', 'snippetctl', 'UTC']])
  })

  test('has its own settings, whatever those of the database', async () => {
    const given = {
      datestyle: 'German',
      array_nulls: 'off',
      quote_all_identifiers: 'on',
      transform_null_equals: 'on',
      client_min_messages: 'error',
      default_transaction_deferrable: 'on',
    }
    for (const [name, value] of Object.entries(given)) {
      const text = `do $$ begin execute format('alter database %I set ${name} = ${value}', current_database()); end $$`
      await admin.query({ text, values: [] })
    }
    const text = `select ${Object.keys(given).map((name) => `current_setting('${name}')`)}, array[null]::text[], 1 = null`
    const opened = await openDatabase({ url: admin.url, directory: '' }, { DATABASE_POOL: '2' })
    expect((await opened.query({ text, values: [] })).rows).toEqual([
      ['ISO, MDY', 'on', 'off', 'off', 'warning', 'off', '{NULL}', null],
    ])
    await opened.close()
  })

  test('lets the server detect a service that vanished', async () => {
    const names = ['idle', 'interval', 'count']
    const settings = names.map((name) => `current_setting('tcp_keepalives_${name}')`)
    const text = `select inet_client_addr() is null, ${settings.join()}`
    const [[isUnixSocket, ...values] = []] = (await database.query({ text, values: [] })).rows
    expect(values).toEqual(isUnixSocket === 't' ? ['0', '0', '0'] : ['10', '5', '3'])
  })

  test('does not notice that an idle connection was cut', async () => {
    const before = (await database.query(pid)).rows[0]?.[0]
    const { open } = database.usage()
    await terminate(before)
    // The notification arrives while the connection is idle.
    await waitUntil(() => database.usage().open !== open)
    const after = (await database.query({ ...pid, retry: true })).rows[0]?.[0]
    expect(after).not.toBe(before)
  })

  test('retries a read once when its connection was cut', async () => {
    const naps = await createNaps(admin)
    await naps.begin()
    const read = database.query({ text: 'select 7 from nap() as first_try', values: [], retry: true })
    await terminate(await running('first_try'))
    await naps.end()
    expect((await read).rows).toEqual([['7']])

    const again = database.query({ text: 'select 7 from pg_sleep(60) as second_try', values: [], retry: true })
    const failed = expect(again).rejects.toMatchObject(unavailable)
    const first = await running('second_try')
    await terminate(first)
    const second = await waitUntil(
      () => running('second_try'),
      (found) => found !== first,
    )
    await terminate(second)
    await failed
  })

  test('never repeats a write that was cut, and reports definite failures of the server', async () => {
    const text = 'update counters set n = n + 1 from pg_sleep(60) as slow_write where id = 1'
    const write = expect(database.query({ text, values: [] })).rejects.toMatchObject(unavailable)
    await terminate(await running('slow_write'))
    await write
    expect((await database.query({ text: 'select n from counters where id = 1', values: [] })).rows).toEqual([['0']])
  })

  test('reports a statement timeout, and frees the backend', async () => {
    const work = database.transaction(async (connection) => {
      await connection.query({ text: "set local statement_timeout = '50ms'", values: [] })
      await connection.query({ text: 'select pg_sleep(5)', values: [] })
    })
    await expect(work).rejects.toMatchObject({ type: 'timeout' })
  })

  test('reports a lock timeout as busy', async () => {
    await admin.transaction(async (holder) => {
      await holder.query({ text: 'lock table counters', values: [] })
      const work = database.transaction(async (connection) => {
        await connection.query({ text: "set local lock_timeout = '50ms'", values: [] })
        await connection.query({ text: 'select * from counters', values: [] })
      })
      await expect(work).rejects.toMatchObject(unavailable)
    })
  })

  test('retries a deadlocked transaction, so that both succeed', async () => {
    let met: () => void = () => undefined
    const meeting = new Promise<void>((resolve) => (met = resolve))
    let waiting = 0
    const increment = (first: string, second: string) =>
      database.transaction(async (connection) => {
        const add = (id: string) =>
          connection.query({ text: 'update counters set n = n + 1 where id = $1', values: [id] })
        await add(first)
        if (++waiting === 2) met()
        await meeting
        await add(second)
      })
    await Promise.all([increment('1', '2'), increment('2', '1')])
    expect((await admin.query({ text: 'select n from counters order by id', values: [] })).rows).toEqual([['2'], ['2']])
  })

  test('lets a request wait two seconds for a connection', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    const holding = [1, 2].map(() => database.transaction(() => held))
    await expect(database.query(one)).rejects.toMatchObject(unavailable)
    release()
    await Promise.all(holding)
    await database.query(one)
  })
})

describeWithServer('when the server', () => {
  let cluster: Cluster
  let database: Database
  let frozen: number | undefined
  beforeAll(async () => {
    cluster = createCluster()
    await cluster.start()
    database = await openDatabase({ url: cluster.url, directory: '' }, {})
  })
  afterAll(async () => {
    await database.close()
    await cluster.remove()
  })
  afterEach(thaw)

  const freeze = (session: number) => {
    frozen = session
    process.kill(session, 'SIGSTOP')
  }
  /** Also after a test that never ends, because a frozen session would keep the server from stopping. */
  function thaw() {
    if (frozen !== undefined) process.kill(frozen, 'SIGCONT')
    frozen = undefined
  }

  test.each(['SIGINT', 'SIGQUIT'] as const)(
    'is stopped with %s and restarted, the service recovers by itself',
    async (signal) => {
      await Promise.all(Array.from({ length: 5 }, () => database.query(one)))
      const sleep = { text: 'select pg_sleep(5)', values: [], retry: true }
      const cut = expect(database.query(sleep)).rejects.toMatchObject(unavailable)
      await database.query(one)
      await cluster.stop(signal)
      await cut
      await expect(database.query(one)).rejects.toMatchObject(unavailable)
      await expect(database.probe()).rejects.toMatchObject(unavailable)
      await cluster.start()
      await Promise.all(Array.from({ length: 20 }, () => database.query(one)))
    },
  )

  test('freezes, ends the request and discards its connection', async () => {
    const pool = { connectionString: cluster.url, max: 1, connectionTimeoutMillis: 2_000 }
    const impatient = poolDatabase({
      description: '',
      whenPending: 'reject',
      concurrent: true,
      sending: { patience: 300, prepare: true },
      pool,
    })
    const session = Number((await impatient.query(pid)).rows[0]?.[0])
    freeze(session)
    await expect(impatient.query(one)).rejects.toMatchObject(unavailable)
    expect(Number((await impatient.query(pid)).rows[0]?.[0])).not.toBe(session)
    thaw()
    await impatient.close()
  })

  test('freezes, does not delay closing', async () => {
    const pipelining = await openDatabase({ url: cluster.url, directory: '' }, { DATABASE_POOL: '10' })
    freeze(Number((await pipelining.query({ ...pid, retry: true, quick: true })).rows[0]?.[0]))
    // If it waited for the frozen session, it would never end.
    await pipelining.close()
  })

  describe('does not respond', () => {
    let patient: Database
    let impatient: Database
    const open = (patience: number | undefined) =>
      poolDatabase({
        description: '',
        whenPending: 'reject',
        concurrent: true,
        sending: { patience, prepare: true },
        pool: { connectionString: cluster.url, max: 3 },
      })
    const sql = (text: string) => patient.query({ text, values: [] })
    const asleep = `select pid from pg_stat_activity where state = 'active' and query like '%pg_sleep(3600)%' and pid <> pg_backend_pid()`
    const everyoneAwake = () => waitUntil(async () => (await sql(asleep)).rows.length === 0)
    beforeAll(async () => {
      patient = open(undefined)
      impatient = open(300)
      await sql('create table things (n int)')
    })
    afterAll(async () => {
      await impatient.close()
      await patient.close()
    })

    test('cancels the statement, which then had no effect', async () => {
      const write = impatient.query({ text: 'insert into things select 1 from pg_sleep(3600)', values: [] })
      await expect(write).rejects.toMatchObject({ type: 'timeout', headers: { 'Retry-After': '1' } })
      await everyoneAwake()
    })

    test('cancels the statement of an aborted transaction', async () => {
      const ending = new AbortController()
      const work = patient.transaction(
        (connection) => connection.query({ text: 'select pg_sleep(3600)', values: [] }),
        { signal: ending.signal },
      )
      await waitUntil(async () => (await sql(asleep)).rows.length > 0)
      ending.abort(new Error('enough'))
      await expect(work).rejects.toThrow('enough')
      await everyoneAwake()
      expect(patient.usage()).toMatchObject({ waiting: 0 })
    })

    test('cancels a commit that no standby confirms, without claiming that nothing was stored', async () => {
      await sql(`alter system set synchronous_standby_names = 'nobody'`)
      await sql('select pg_reload_conf()')
      await waitUntil(async () => (await sql('show synchronous_standby_names')).rows[0]?.[0] === 'nobody')
      // The checkpointer tells all sessions that commits wait.
      await sql('checkpoint')
      const unknown = { type: 'outcome_unknown', headers: {} }
      const add = { text: 'insert into things values (2)', values: [] }
      try {
        await expect(impatient.query(add)).rejects.toEqual(expect.objectContaining(unknown))
        await expect(impatient.transaction((connection) => connection.query(add))).rejects.toMatchObject(unknown)
      } finally {
        await sql('alter system reset synchronous_standby_names')
        await sql('select pg_reload_conf()')
      }
      expect((await sql('select n from things where n = 2')).rows).toHaveLength(2)
    })

    test('when it is frozen, the outcome of a write is unknown, and of a transaction it is not', async () => {
      const freeze = async (connection: Connection) => {
        const frozen = Number((await connection.query(pid)).rows[0]?.[0])
        process.kill(frozen, 'SIGSTOP')
        return frozen
      }
      const add = { text: 'insert into things values (3)', values: [] }
      let frozen = 0
      const work = impatient.transaction(async (connection) => {
        frozen = await freeze(connection)
        await connection.query(add)
      })
      await expect(work).rejects.toMatchObject(unavailable)
      process.kill(frozen, 'SIGCONT')
      const committed = impatient.transaction(async (connection) => {
        await connection.query(add)
        frozen = await freeze(connection)
      })
      await expect(committed).rejects.toMatchObject({ type: 'outcome_unknown', headers: {} })
      process.kill(frozen, 'SIGCONT')
    })

    test('accepts a late response if the process itself was suspended', async () => {
      const write = impatient.query({ text: 'insert into things values (4)', values: [] })
      const until = performance.now() + 20
      while (performance.now() < until) await new Promise(setImmediate)
      // Longer than its patience.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
      await expect(write).resolves.toMatchObject({ count: 1 })
    })
  })
})
