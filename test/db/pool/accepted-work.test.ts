import { EventEmitter, getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import type pg from 'pg'
import type { Statement } from '../../../src/db/database.js'
import type { Send } from '../../../src/db/driver/send.js'
import type { FairQueue } from '../../../src/db/pool/fair-queue.js'
import type { Connect, Connector } from '../../../src/db/pool/connect.js'
import { createHandover, type Handover } from '../../../src/db/pool/handover.js'
import { type PipelinedConnections, PipelineUnavailable } from '../../../src/db/pool/pipelined-connections.js'
import { createQueries } from '../../../src/db/pool/pooled-queries.js'
import { createTransactions } from '../../../src/db/pool/pooled-transactions.js'
import { createProbe } from '../../../src/db/pool/probe.js'
import { createSendOnce } from '../../../src/db/pool/send-once.js'
import type { WorkQueue } from '../../../src/db/pool/work-queues.js'
import { Problem } from '../../../src/foundation/problem.js'

const ANSWER = { rows: [], columns: [], count: 0, command: '', size: 0, time: 1 }
const STATEMENT: Statement = { text: 'select 1', values: [] }
const failure = (code: string) => Object.assign(new Error('of the driver'), { code })
const lost = () => failure('57P01')
const overloaded = () => new Problem('unavailable', 'The database is overloaded')

/** Whether the work that entered the queue followed accepted work. */
let entered: boolean[]
/** Lets work enter the queue, or rejects it. */
let admit: FairQueue['enter']
let queue: FairQueue
let pool: pg.Pool
/** Opens a connection, or fails. */
let connect: () => Promise<pg.PoolClient>
const take: Connect = (callback) =>
  void connect().then(
    (client) => callback(undefined, client),
    (error: unknown) => callback(error as Error, undefined),
  )
const connector: Connector = { connect: take, give: () => false }
/** The error of each statement, in order; those after them are answered. */
let errors: Error[]
const send: Send = (_client, _statement, settle) => settle(errors.shift() ?? null, ANSWER, false)

beforeEach(() => {
  jest.useFakeTimers()
  entered = []
  errors = []
  admit = (_work, turn) => void turn(null, {} as WorkQueue)
  const enter: FairQueue['enter'] = (work, turn) => {
    entered.push(work.follows === true)
    return admit(work, turn)
  }
  queue = { enter, leave: () => {}, waiting: () => 0, rejected: () => 0 }
  connect = async () => ({ release: () => {} }) as unknown as pg.PoolClient
  const members = { waitingCount: 0, ending: false }
  pool = Object.assign(new EventEmitter(), members) as unknown as pg.Pool
})
afterEach(() => {
  jest.useRealTimers()
})

describe('a transaction', () => {
  const run = (signal?: AbortSignal) =>
    createTransactions({ connect: take, queue, send, sendUnlimited: send, ends: new Set() })(async () => 'done', {
      signal,
    })

  test('that was accepted is not rejected after a deadlock', async () => {
    errors = [failure('40P01')]
    const done = run()
    await jest.advanceTimersByTimeAsync(1_000)
    expect([await done, entered]).toEqual(['done', [false, true]])
  })

  test('that is aborted before it begins does not wait', async () => {
    admit = () => () => {}
    const reason = new Error('gone')
    await expect(run(AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(entered).toEqual([])
  })

  test('says that the database is unavailable if it gets no connection', async () => {
    connect = () => Promise.reject(failure('ECONNREFUSED'))
    await expect(run()).rejects.toMatchObject({ type: 'unavailable' })
  })

  test('leaves nothing at its signal', async () => {
    const { signal } = new AbortController()
    admit = (_work, turn) => {
      setTimeout(() => turn(null, {} as WorkQueue), 10)
      return () => {}
    }
    const done = run(signal)
    await jest.advanceTimersByTimeAsync(10)
    expect([await done, getEventListeners(signal, 'abort')]).toEqual(['done', []])
  })
})

describe('a statement', () => {
  const statement: Statement = { ...STATEMENT, retry: true, quick: true, name: 'quick' }

  test.each([
    { of: 'a statement that waited on a connection', error: new PipelineUnavailable('', true), follows: true },
    { of: 'a statement without a connection', error: new PipelineUnavailable('', false), follows: false },
    {
      of: 'a statement without a connection that follows another',
      error: new PipelineUnavailable('', false),
      given: true,
      follows: true,
    },
    { of: 'a statement that was lost', error: lost(), follows: true },
    { of: 'an outdated statement', error: failure('26000'), follows: true },
  ])('a second try is not rejected if the first was accepted: $of', async ({ error, given = false, follows }) => {
    const once = jest.fn<(tried: Statement) => Promise<typeof ANSWER>>().mockResolvedValue(ANSWER)
    const pipelined = { query: () => Promise.reject(error), hasRoom: () => true } as unknown as PipelinedConnections
    await createQueries(once, pipelined)({ ...statement, follows: given })
    expect(once.mock.calls.map(([tried]) => tried.follows)).toEqual([follows])
  })

  test('that is rejected does not count as slow', async () => {
    const query = jest.fn<() => Promise<typeof ANSWER>>().mockResolvedValue(ANSWER)
    const pipelined = { query, hasRoom: () => true } as unknown as PipelinedConnections
    const ask = createQueries(async () => ANSWER, pipelined)
    for (let count = 0; count < 9; count += 1) await ask({ ...statement, quick: 'perhaps' })
    expect(query).toHaveBeenCalledTimes(1)
    query.mockRejectedValueOnce(overloaded())
    await expect(ask({ ...statement, quick: 'perhaps' })).rejects.toThrow('overloaded')
    await ask({ ...statement, quick: 'perhaps' })
    expect(query).toHaveBeenCalledTimes(3)
  })

  test('that is aborted while it waits leaves the queue', async () => {
    const giveUp = jest.fn()
    admit = () => giveUp
    const gone = new AbortController()
    const asked = createSendOnce({ queue, handover: createHandover(pool, connector), send })({
      ...STATEMENT,
      signal: gone.signal,
    })
    gone.abort(new Error('gone'))
    await expect(asked).rejects.toThrow('gone')
    expect(giveUp).toHaveBeenCalledTimes(1)
  })

  test('that gets no connection leaves its place to others', async () => {
    const leave = jest.fn<FairQueue['leave']>()
    const handover: Handover = { take: (callback) => callback(failure('ECONNREFUSED'), undefined), offer: () => {} }
    const asked = createSendOnce({ queue: { ...queue, leave }, handover, send })(STATEMENT)
    await expect(asked).rejects.toMatchObject({ type: 'unavailable' })
    expect(leave).toHaveBeenCalledTimes(1)
  })

  test('that is aborted before it is sent does not wait, and leaves nothing at its signal once it is rejected', async () => {
    const once = createSendOnce({ queue, handover: createHandover(pool, connector), send })
    const reason = new Error('gone')
    await expect(once({ ...STATEMENT, signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(entered).toEqual([])
    admit = (_work, turn) => void turn(overloaded(), {} as WorkQueue)
    const { signal } = new AbortController()
    await expect(once({ ...STATEMENT, signal })).rejects.toThrow('overloaded')
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

describe('a probe', () => {
  test.each([
    { when: 'it is answered', outcomes: [undefined], asked: 1, error: undefined },
    { when: 'an idle connection was lost', outcomes: [lost(), undefined], asked: 2, error: undefined },
    { when: 'two connections were lost', outcomes: [lost(), lost()], asked: 2, error: 'unavailable' },
    { when: 'it is rejected', outcomes: [failure('57014')], asked: 1, error: 'timeout' },
  ])('leaves no timer and no listener: $when', async ({ outcomes, asked, error }) => {
    let count = 0
    const once = async () => {
      const outcome = outcomes[count]
      count += 1
      if (outcome) throw outcome
      return ANSWER
    }
    const outcome = await createProbe({ pool, pipelined: undefined, once })().catch(({ type }: Problem) => type)
    expect([outcome, count]).toEqual([error, asked])
    expect([jest.getTimerCount(), pool.listenerCount('release')]).toEqual([0, 0])
  })
})
