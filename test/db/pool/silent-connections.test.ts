import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import pg from 'pg'
import type { Database, Statement } from '../../../src/db/database.js'
import { openDatabase } from '../../../src/db/open.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { passTime } from '../../support/pass-time.js'
import { waitUntil } from '../../support/wait-until.js'

const describeWithSessions = testDatabaseKind() === 'postgres' ? describe : describe.skip

/** A proxy in front of a database server that can stop forwarding. Its connections stay open. */
interface Proxy {
  readonly port: number
  /** Silences the connections that are open, and with `all` also later ones. */
  silence(scope: 'open' | 'all'): void
  /** Forwards everything again, with the bytes that have arrived meanwhile. */
  resume(): void
  /** The number of silent connections that the client has not closed. */
  silent(): number
  close(): Promise<unknown>
}

async function startProxy(url: string): Promise<Proxy> {
  const { host, port } = new pg.Client({ connectionString: url })
  const target = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port }
  const open = new Map<Socket, Socket>()
  const silent = new Set<Socket>()
  let held: (() => void)[] = []
  let isSilent = false
  const server = createServer((client) => {
    const upstream = connect(target)
    open.set(client, upstream)
    if (isSilent) silent.add(client)
    const pass = (from: Socket, to: Socket) =>
      from.on('data', (bytes) => {
        if (silent.has(client)) held.push(() => to.write(bytes))
        else to.write(bytes)
      })
    pass(client, upstream)
    pass(upstream, client)
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy())
    client.on('close', () => {
      open.delete(client)
      silent.delete(client)
      upstream.destroy()
    })
    upstream.on('close', () => silent.has(client) || client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    silence: (scope) => {
      isSilent = scope === 'all'
      for (const client of open.keys()) silent.add(client)
    },
    resume: () => {
      isSilent = false
      silent.clear()
      for (const write of held) write()
      held = []
    },
    silent: () => silent.size,
    close: () => {
      for (const client of open.keys()) client.destroy()
      server.close()
      return once(server, 'close')
    },
  }
}

const quick = (value: number): Statement => ({
  text: 'select $1::int',
  values: [String(value)],
  retry: true,
  quick: true,
})
const plain: Statement = { text: 'select 1', values: [] }
const unavailable = { type: 'unavailable', headers: { 'Retry-After': '1' } }

/** How long the server may take to respond, to report a canceled statement, and to accept a connection, in ms. */
const RESPONSE = 6_000
const CANCEL = 1_000
const CONNECT = 2_000
/** More than the interval between two checks. */
const CHECK = 100

describeWithSessions('if the server falls silent, but keeps its connections open,', () => {
  let admin: TestDatabase
  let proxy: Proxy
  let database: Database
  beforeEach(async () => {
    admin = await openTestDatabase()
    proxy = await startProxy(admin.url ?? '')
    const { username, pathname } = new URL(admin.url ?? '')
    const url = `postgres://${username}@127.0.0.1:${proxy.port}${pathname}`
    // Time stands still between two passes: the limits cost nothing, and a busy machine exceeds none of them.
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask'] })
    database = await openDatabase({ url, directory: '' }, { DATABASE_POOL: '9' })
    await database.query(quick(0))
    await passTime(CHECK)
  })
  afterEach(async () => {
    jest.useRealTimers()
    await proxy.close()
    await database.close()
    await admin.close()
  })

  /** Records what became of work so far. */
  const watch = (work: Promise<unknown>): (() => unknown) => {
    let outcome: unknown = 'pending'
    work.then(
      (value) => (outcome = value),
      (error: unknown) => (outcome = error),
    )
    return () => outcome
  }

  test('on a quick read, it fails after six seconds, and reads behind it are answered on other connections', async () => {
    proxy.silence('open')
    const first = watch(database.query(quick(1)))
    const behind = Promise.all([2, 3].map((value) => database.query(quick(value))))
    await passTime(2 * CHECK)
    expect((await behind).map(({ rows }) => rows)).toEqual([[['2']], [['3']]])
    expect(database.usage()).toMatchObject({ pipelinedConnections: 1, pipelinedStatements: 1 })
    await passTime(RESPONSE - 3 * CHECK)
    expect(first()).toBe('pending')
    await passTime(2 * CHECK)
    expect(first()).toMatchObject(unavailable)
  })

  test('its pipelined connection is closed, and replaced by another one', async () => {
    proxy.silence('open')
    const read = watch(database.query(quick(1)))
    await passTime(RESPONSE + CHECK)
    expect(read()).toMatchObject(unavailable)
    expect(database.usage()).toMatchObject({ pipelinedConnections: 0, pipelinedStatements: 0 })
    expect((await database.query(quick(2))).rows).toEqual([['2']])
    expect(database.usage()).toMatchObject({ pipelinedConnections: 1, pipelinedStatements: 0 })
    jest.useRealTimers()
    await waitUntil(() => proxy.silent() === 0)
  })

  test('later reads do not wait for its slow connection, which is used again once it has responded', async () => {
    proxy.silence('open')
    const slow = database.query(quick(1))
    await passTime(2 * CHECK)
    expect((await database.query(quick(2))).rows).toEqual([['2']])
    expect(database.usage()).toMatchObject({ pipelinedConnections: 2, pipelinedStatements: 1 })
    proxy.resume()
    expect((await slow).rows).toEqual([['1']])
    // More than one connection takes.
    const reads = Promise.all(Array.from({ length: 40 }, (_, value) => database.query(quick(value))))
    expect(database.usage()).toMatchObject({ pipelinedConnections: 2, pipelinedStatements: 40 })
    await reads
  })

  test('a quick read that was answered while the process was suspended does not fail, and its connection is kept', async () => {
    const direct = await openDatabase({ url: admin.url, directory: '' }, { DATABASE_POOL: '9' })
    const session = async () =>
      (await direct.query({ ...quick(0), text: 'select pg_backend_pid(), $1::int' })).rows[0]?.[0]
    const before = await session()
    const read = direct.query(quick(1))
    await turn()
    // The response arrives, but nothing reads it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    jest.advanceTimersByTime(RESPONSE + CHECK)
    expect((await read).rows).toEqual([['1']])
    await turn()
    expect(await session()).toBe(before)
    await direct.close()
  })

  test('a quick read fails without a second attempt if no connection can be opened', async () => {
    proxy.silence('all')
    const slow = watch(database.query(quick(1)))
    await passTime(2 * CHECK)
    const read = watch(database.query(quick(2)))
    await passTime(CONNECT - CHECK)
    expect([slow(), read()]).toEqual(['pending', 'pending'])
    await passTime(2 * CHECK)
    expect([slow(), read()]).toEqual(['pending', expect.objectContaining(unavailable)])
  })

  test('quick reads above a limit are rejected, but not those that follow an accepted statement', async () => {
    proxy.silence('open')
    const reads = Array.from({ length: 1_000 }, (_, value) => database.query(quick(value)))
    await expect(database.query(quick(1))).rejects.toMatchObject({
      ...unavailable,
      message: 'The database is overloaded',
    })
    expect(database.usage().rejected).toBe(1)
    const following = database.query({ ...quick(7), follows: true })
    proxy.resume()
    expect((await following).rows).toEqual([['7']])
    await Promise.all(reads)
    expect((await database.query(quick(1))).rows).toEqual([['1']])
  })

  test('a probe fails, although there were responses before it, and a lost connection is released during it', async () => {
    await Promise.all([database.query(plain), database.query(quick(1))])
    proxy.silence('all')
    const read = watch(database.query(plain))
    await passTime(RESPONSE)
    const probe = watch(database.probe())
    await passTime(CANCEL + 2 * CHECK)
    expect([read(), probe()]).toEqual([expect.objectContaining({ type: 'outcome_unknown' }), 'pending'])
    await passTime(2 * CONNECT)
    expect(probe()).toMatchObject(unavailable)
  })

  /** Keeps all connections of the pool busy until the returned function is called. */
  const occupy = async (): Promise<() => Promise<unknown>> => {
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    const { max } = database.usage()
    let begun = 0
    const holders = Array.from({ length: max }, () =>
      database.transaction(() => {
        begun += 1
        return held
      }),
    )
    while (begun < max) await turn()
    return () => {
      release()
      return Promise.all(holders)
    }
  }

  test('a probe resolves with the response to a quick read while all connections of the pool are busy', async () => {
    const free = await occupy()
    const probe = watch(database.probe())
    await passTime(CHECK)
    expect(probe()).toBe('pending')
    expect((await database.query(quick(1))).rows).toEqual([['1']])
    await passTime(CHECK)
    expect(probe()).toBeUndefined()
    await free()
  })

  test('a probe is not rejected while the queue is full', async () => {
    const free = await occupy()
    const reads: Promise<unknown>[] = []
    while (database.usage().waiting === reads.length) reads.push(database.query(plain))
    await expect(reads.pop()).rejects.toMatchObject(unavailable)
    const probe = database.probe()
    await free()
    await probe
    await Promise.all(reads)
  })
})
