import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { createDeadlines, type Deadlines } from '../../../src/http/connections/deadlines.js'
import type { Exchange } from '../../../src/http/server/exchange.js'

const TIMEOUT = 400

let expired: unknown[]
let deadlines: Deadlines

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] })
  expired = []
  deadlines = createDeadlines(TIMEOUT, (exchange) => expired.push(exchange))
})
afterEach(() => {
  jest.useRealTimers()
})

const answered = { headersSent: true, destroyed: false }

function start(changes: object = {}) {
  const exchange = {
    response: { headersSent: false, destroyed: false },
    failBody: undefined,
    bodyEnded: 0,
    watched: undefined,
    transactions: 0,
    writes: 0,
    expired: false,
    overdue: false,
    ...changes,
  }
  deadlines.start(exchange as unknown as Exchange)
  return exchange
}

test('a request ends at its deadline, unless it is answered in the same turn, after a pause of the process', async () => {
  const [late, inTime] = [start(), start()]
  jest.advanceTimersByTime(TIMEOUT)
  inTime.response = answered
  await turn()
  expect(expired).toEqual([late])
})

test('a transaction ends at the deadline of its request although the request is answered, and its body still arrives', async () => {
  const exchange = start({ response: answered, transactions: 1, failBody: () => {} })
  jest.advanceTimersByTime(TIMEOUT)
  await turn()
  expect(expired).toEqual([exchange])
})

test('a request whose transaction goes on ends once', async () => {
  const exchange = start({ transactions: 1 })
  for (let count = 0; count < 3; count += 1) {
    jest.advanceTimersByTime(TIMEOUT)
    await turn()
    expect(expired).toEqual([exchange])
  }
})

test('the time begins again with its handler, and not with its transaction', async () => {
  const exchange = start()
  jest.advanceTimersByTime(TIMEOUT - 100)
  deadlines.start(exchange as unknown as Exchange)
  jest.advanceTimersByTime(TIMEOUT - 100)
  await turn()
  expect(expired).toEqual([])
  deadlines.watch(exchange as unknown as Exchange)
  jest.advanceTimersByTime(100)
  await turn()
  expect(expired).toEqual([exchange])
})

test('requests whose transactions have ended are watched no longer', async () => {
  const exchange = start({ response: answered, transactions: 1 })
  deadlines.stop(exchange as unknown as Exchange)
  jest.advanceTimersByTime(TIMEOUT / 2)
  expect(jest.getTimerCount()).toBe(1)
  exchange.transactions = 0
  jest.advanceTimersByTime(TIMEOUT / 2)
  await turn()
  expect([expired, jest.getTimerCount()]).toEqual([[], 0])
})
