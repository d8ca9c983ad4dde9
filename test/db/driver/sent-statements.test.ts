import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import type pg from 'pg'
import type { CellQuery } from '../../../src/db/driver/cell-query.js'
import { createSend } from '../../../src/db/driver/send.js'
import { passTime } from '../../support/pass-time.js'

/** How long the server may take to respond, and then to report a cancelled statement, and the interval between two checks, in ms. */
const PATIENCE = 6_000
const CANCEL = 1_000
const CHECK = 50

let queries: CellQuery[]
/** The outcome of each statement: the message of its error, and whether its connection must not be used again. */
let outcomes: (readonly [string | undefined, boolean])[]
let notices: { unreplicated: boolean }
/** Sends a statement; returns the driver's query, which receives the messages of the server. */
let send: () => CellQuery

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask'] })
  queries = []
  outcomes = []
  notices = { unreplicated: false }
  const query = (each: CellQuery) => queries.push(each)
  const client = { query, notices, processID: null, secretKey: null } as unknown as pg.ClientBase
  const sendOn = createSend({ patience: PATIENCE, prepare: false })
  send = () => {
    sendOn(client, { text: 'select 1', values: [] }, (error, _answer, spent) => outcomes.push([error?.message, spent]))
    return queries.at(-1) as CellQuery
  }
})
afterEach(() => {
  jest.useRealTimers()
})

test.each([
  { answer: 'that it was done', error: undefined, spent: false },
  { answer: 'that it was rejected', error: '23505', spent: false },
  { answer: 'that the session is terminated', error: '57P01', spent: true },
])('the connection of an answered statement is used again unless it is lost: $answer', async ({ error, spent }) => {
  const query = send()
  await passTime(PATIENCE - CHECK)
  if (error === undefined) query.handleReadyForQuery()
  else query.handleError(Object.assign(new Error(error), { code: error }))
  expect(outcomes).toEqual([[error, spent]])
})

test.each([
  { answer: 'that it was done', outcome: undefined },
  { answer: 'that it was cancelled', outcome: 'canceling statement due to user request' },
])(
  'the connection of a cancelled statement is not used again, although the server says $answer',
  async ({ outcome }) => {
    const query = send()
    await passTime(PATIENCE + CHECK)
    if (outcome === undefined) query.handleReadyForQuery()
    else query.handleError(Object.assign(new Error(outcome), { code: '57014' }))
    expect(outcomes).toEqual([[outcome, true]])
  },
)

test('the server has time to report the outcome of a cancelled statement, but not forever', async () => {
  const query = send()
  await passTime(PATIENCE + CANCEL - CHECK)
  expect(outcomes).toEqual([])
  await passTime(2 * CHECK)
  expect(outcomes).toEqual([['Query read timeout', true]])
  query.handleReadyForQuery()
  expect(outcomes).toHaveLength(1)
  expect(jest.getTimerCount()).toBe(0)
})

test('each statement has its own time, also after a pause in which none was in progress', async () => {
  send().handleReadyForQuery()
  await passTime(PATIENCE)
  expect(jest.getTimerCount()).toBe(0)
  send()
  await passTime(2 * CANCEL)
  const second = send()
  await passTime(PATIENCE - CANCEL + CHECK)
  second.handleReadyForQuery()
  expect(outcomes.slice(1)).toEqual([
    ['Query read timeout', true],
    [undefined, false],
  ])
})

test('a statement that was answered while the process was suspended is not cancelled', async () => {
  const query = send()
  jest.advanceTimersByTime(PATIENCE + CHECK)
  query.handleReadyForQuery()
  await turn()
  expect(outcomes).toEqual([[undefined, false]])
})

test('a commit that reached no standby is reported for its own statement, not for the next one', () => {
  const query = send()
  notices.unreplicated = true
  query.handleReadyForQuery()
  send().handleReadyForQuery()
  expect(outcomes).toEqual([
    ['the commit was not replicated before it was cancelled', false],
    [undefined, false],
  ])
})
