import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import type pg from 'pg'
import { type Connector, createConnector } from '../../../src/db/pool/connect.js'
import type { PipelinedConnections } from '../../../src/db/pool/pipelined-connections.js'

describe('statements that find no connection on the server', () => {
  let pool: pg.Pool & { totalCount: number; idleCount: number }
  /** How many connections the server has for this process. */
  let places: number
  /** How many milliseconds the server takes to accept or reject one. */
  let delayed: number
  /** The error of a server that is not full. */
  let failure: Error | undefined
  /** When a new connection was asked for. */
  let attempts: number[]
  /** How many connections returned to the pool. */
  let returned: number
  let connector: Connector
  /** The names of those that have a connection or an error, in order. */
  let ended: string[]
  let start: number

  beforeEach(() => {
    jest.useFakeTimers()
    start = performance.now()
    places = 1
    delayed = 1
    failure = undefined
    attempts = []
    ended = []
    returned = 0
    const client = { release: () => void (returned += 1) } as unknown as pg.PoolClient
    pool = Object.assign(new EventEmitter(), {
      totalCount: 0,
      idleCount: 0,
      connect(callback: (error: Error | undefined, client?: pg.PoolClient) => void) {
        if (pool.idleCount > 0) {
          process.nextTick(() => {
            pool.idleCount -= 1
            callback(undefined, client)
          })
          return
        }
        attempts.push(performance.now() - start)
        pool.totalCount += 1
        setTimeout(() => {
          if (failure === undefined && pool.totalCount <= places) return callback(undefined, client)
          pool.totalCount -= 1
          callback(failure ?? Object.assign(new Error('too many connections'), { code: '53300' }))
        }, delayed)
      },
    }) as unknown as typeof pool
    connector = createConnector(pool, undefined)
  })
  afterEach(() => {
    jest.useRealTimers()
  })

  const pass = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds)

  const ask = (...names: readonly string[]) => {
    for (const name of names) connector.connect((error) => ended.push(error ? `${name} rejected` : name))
  }

  /** Returns a connection to the pool. */
  const release = () => {
    pool.idleCount += 1
    pool.emit('release', undefined, {})
  }

  test('get idle connections in the order of their arrival', async () => {
    ask('holder')
    await pass(5)
    ask('first', 'second')
    await pass(50)
    ask('third')
    for (const expected of [['first'], ['first', 'second'], ['first', 'second', 'third']]) {
      release()
      await pass(1)
      ask('later')
      expect(ended).toEqual(['holder', ...expected])
    }
  })

  test('get the connections that another process gives up in the order of their arrival, however long each has waited', async () => {
    ask('holder')
    await pass(5)
    ask('first')
    await pass(400)
    for (const name of ['second', 'third', 'fourth']) {
      ask(name)
      await pass(40)
    }
    places = 2
    await pass(110)
    expect(ended).toEqual(['holder', 'first'])
    places = 4
    await pass(30)
    expect(ended).toEqual(['holder', 'first', 'second', 'third'])
  })

  test('are rejected after 600 ms each, not earlier', async () => {
    ask('holder')
    await pass(5)
    ask('first')
    await pass(300)
    ask('second')
    await pass(299)
    expect(ended).toEqual(['holder'])
    await pass(3)
    expect(ended).toEqual(['holder', 'first rejected'])
    await pass(297)
    expect(ended).toEqual(['holder', 'first rejected'])
    await pass(3)
    expect(ended).toEqual(['holder', 'first rejected', 'second rejected'])
  })

  test('ask for one connection at a time, at most ten times a second', async () => {
    ask('holder')
    await pass(5)
    for (let count = 0; count < 20; count++) {
      ask('another')
      await pass(100)
    }
    // One before there is a line, and five more in the first 200 ms.
    expect(attempts.length).toBeLessThanOrEqual(2 + 5 + 20)
    expect(attempts.length).toBeGreaterThan(15)
    delayed = 500
    attempts.length = 0
    ask('one more')
    await pass(400)
    ask('last')
    await pass(90)
    expect(attempts).toHaveLength(1)
  })

  test('a connection that is opened too late returns to the pool', async () => {
    ask('holder')
    await pass(5)
    ask('first')
    await pass(400)
    places = 2
    delayed = 300
    await pass(220)
    expect([ended, returned]).toEqual([['holder', 'first rejected'], 0])
    await pass(200)
    expect([ended, returned]).toEqual([['holder', 'first rejected'], 1])
  })

  test('wait for a connection that another process gives up, even if their own process has none', async () => {
    places = 0
    ask('first', 'second')
    await pass(200)
    expect(ended).toEqual([])
    places = 1
    await pass(101)
    expect(ended).toEqual(['first'])
  })

  test('are rejected if the server fails in another way, except those that arrived after the attempt to connect', async () => {
    ask('holder')
    await pass(5)
    ask('first')
    await pass(2)
    failure = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    delayed = 50
    await pass(40)
    ask('second')
    await pass(30)
    expect(ended).toEqual(['holder', 'first rejected'])
  })

  test('wait for a pipelined connection that is given up, and get others meanwhile', async () => {
    let resolve: (isYielded: boolean) => void = () => {}
    const yieldOne = jest.fn(() => new Promise<boolean>((settle) => (resolve = settle)))
    connector = createConnector(pool, { yieldOne } as unknown as PipelinedConnections)
    ask('holder')
    await pass(5)
    ask('first', 'second', 'third')
    await pass(100)
    expect(yieldOne).toHaveBeenCalledTimes(1)
    release()
    await pass(1)
    expect(ended).toEqual(['holder', 'first'])
    await pass(300)
    places = 2
    resolve(true)
    await pass(12)
    expect(ended).toEqual(['holder', 'first', 'second'])
  })

  test('get the place of a pipelined connection soon, however often others join the line', async () => {
    const yieldOne = () => Promise.resolve(true)
    connector = createConnector(pool, { yieldOne } as unknown as PipelinedConnections)
    ask('holder')
    await pass(5)
    ask('first', 'second')
    await pass(5)
    places = 2
    for (let count = 0; count < 10; count++) {
      await pass(3)
      ask('another')
    }
    expect(ended).toEqual(['holder', 'first'])
  })
})
