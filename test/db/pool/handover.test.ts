import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import type pg from 'pg'
import { createConnector } from '../../../src/db/pool/connect.js'
import { createHandover } from '../../../src/db/pool/handover.js'

let pool: pg.Pool & { waitingCount: number; ending: boolean }
/** Connections that the pool has opened. */
let opened: number
/** The names of the connections that have returned to the pool. */
let returned: string[]
let handover: ReturnType<typeof createHandover>

function open(name: string): pg.PoolClient {
  return { name, release: () => void returned.push(name) } as unknown as pg.PoolClient
}

let maximum: number
beforeEach(() => {
  jest.useFakeTimers()
  maximum = Infinity
  opened = 0
  returned = []
  pool = Object.assign(new EventEmitter(), {
    waitingCount: 0,
    ending: false,
    totalCount: 1,
    connect: (callback?: (error: Error | undefined, client?: pg.PoolClient) => void) => {
      if (opened === maximum) {
        const error = Object.assign(new Error('too many connections'), { code: '53300' })
        return callback ? callback(error) : Promise.reject(error)
      }
      opened += 1
      callback?.(undefined, open(`connection ${opened}`))
    },
  }) as unknown as typeof pool
  handover = createHandover(pool, createConnector(pool, undefined))
})
afterEach(() => {
  jest.useRealTimers()
})

/** Takes a connection. */
function take(): pg.PoolClient {
  let taken: pg.PoolClient | undefined
  handover.take((_error, client) => (taken = client))
  if (!taken) throw new Error('expected a connection')
  return taken
}

test('a connection is passed on to the first that takes one, and only to that one', () => {
  const client = take()
  const taken: pg.PoolClient[] = []
  const heard = jest.fn()
  pool.on('release', heard)
  handover.offer(client, () => taken.push(take(), take()))
  expect(taken.map((each) => each === client)).toEqual([true, false])
  expect([opened, returned]).toEqual([2, []])
  // A probe of the database waits for this.
  expect(heard).toHaveBeenCalledWith(undefined, client)
})

test('a connection that nobody takes returns to the pool, where later work takes its connection', () => {
  const client = take()
  handover.offer(client, () => {})
  expect(returned).toEqual(['connection 1'])
  expect(take()).not.toBe(client)
})

test.each([
  { when: 'others wait in it', change: () => (pool.waitingCount = 1) },
  { when: 'it ends', change: () => (pool.ending = true) },
  { when: 'the connection was passed on for a second', change: () => jest.advanceTimersByTime(1_000) },
])('a connection returns to the pool first if $when', ({ change }) => {
  const client = take()
  change()
  let before: readonly string[] = []
  handover.offer(client, () => {
    before = [...returned]
    expect(take()).not.toBe(client)
  })
  expect([before, returned]).toEqual([['connection 1'], ['connection 1']])
})

test('a connection is passed on for almost a second', () => {
  const client = take()
  jest.advanceTimersByTime(999)
  handover.offer(client, () => expect(take()).toBe(client))
  expect(returned).toEqual([])
})

test('a connection is passed on first to those that found no other on the server, in their order', async () => {
  maximum = 1
  const client = take()
  const got: string[] = []
  for (const name of ['first', 'second'])
    handover.take((_error, given) => {
      got.push(name)
      expect(given).toBe(client)
    })
  await jest.advanceTimersByTimeAsync(5)
  const later = () => handover.take(() => got.push('later'))
  for (let count = 0; count < 2; count++) {
    handover.offer(client, later)
    await jest.advanceTimersByTimeAsync(0)
  }
  expect(got).toEqual(['first', 'second'])
  handover.offer(client, () => {})
  await jest.advanceTimersByTimeAsync(0)
  expect(got).toEqual(['first', 'second', 'later'])
})

test('a statement that finds no connection on the server is rejected before a readiness probe ends', async () => {
  maximum = 1
  take()
  const errors: unknown[] = []
  handover.take((error) => errors.push(error))
  await jest.advanceTimersByTimeAsync(500)
  expect(errors).toEqual([])
  await jest.advanceTimersByTimeAsync(200)
  expect(errors).toMatchObject([{ code: '53300' }])
})
