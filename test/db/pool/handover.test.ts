import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import type pg from 'pg'
import { createConnect } from '../../../src/db/pool/connect.js'
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

beforeEach(() => {
  jest.useFakeTimers()
  opened = 0
  returned = []
  pool = Object.assign(new EventEmitter(), {
    waitingCount: 0,
    ending: false,
    connect: (callback: (error: undefined, client: pg.PoolClient) => void) => {
      opened += 1
      callback(undefined, open(`connection ${opened}`))
    },
  }) as unknown as typeof pool
  handover = createHandover(pool, createConnect(pool, undefined))
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
