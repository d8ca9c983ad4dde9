import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import type pg from 'pg'
import { abortOn, cancelStatement } from '../../../src/db/driver/cancel.js'
import type { Send } from '../../../src/db/driver/send.js'
import { type End, runTransaction } from '../../../src/db/driver/transaction.js'

/** How long a cancel request may take, in ms. */
const TIMEOUT = 1_000

let server: Server
let port: number
beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask'] })
  server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterEach(() => {
  jest.useRealTimers()
  server.close()
})

const clientOf = (changes: object = {}) =>
  ({
    processID: 7,
    secretKey: 9,
    host: '127.0.0.1',
    port,
    connectionParameters: { ssl: false },
    ...changes,
  }) as unknown as pg.ClientBase

async function connection(): Promise<Socket> {
  const [socket] = (await once(server, 'connection')) as [Socket]
  return socket
}

test('a statement that is aborted after it was sent is cancelled, and its connection is not used again', async () => {
  const ending = new AbortController()
  const reject = jest.fn()
  const abortable = abortOn(ending.signal, reject)
  abortable.sent(clientOf())
  // Called last if a connection was granted at once.
  abortable.waits(undefined)
  expect(abortable.over()).toBe(false)
  const again = abortOn(ending.signal, reject)
  again.sent(clientOf())
  again.waits(() => {})
  const connected = connection()
  const reason = new Error('enough')
  ending.abort(reason)
  expect(reject.mock.calls).toEqual([[reason]])
  expect(again.over()).toBe(true)
  const socket = await connected
  const [request] = (await once(socket, 'data')) as [Buffer]
  expect([4, 8, 12].map((at) => request.readInt32BE(at))).toEqual([80_877_102, 7, 9])
  socket.end()
  await once(socket, 'close')
  while (jest.getTimerCount() > 0) await turn()
})

test('a statement that is aborted while it waits leaves the queue', () => {
  const ending = new AbortController()
  const giveUp = jest.fn()
  const abortable = abortOn(ending.signal, () => {})
  abortable.waits(giveUp)
  ending.abort()
  expect(giveUp).toHaveBeenCalledTimes(1)
  expect(abortable.over()).toBe(false)
})

test('a cancel request that the server does not answer is given up', async () => {
  const connected = connection()
  cancelStatement(clientOf())
  const socket = (await connected).resume()
  const closed = once(socket, 'close')
  jest.advanceTimersByTime(TIMEOUT)
  await closed
})

test('a cancel request that the server does not accept does no harm', async () => {
  server.close()
  await once(server, 'close')
  expect(cancelStatement(clientOf())).toBe(true)
  await once(connect(port, '127.0.0.1'), 'close')
    .catch(() => {})
    .then(() => turn())
  while (jest.getTimerCount() > 0) await turn()
})

test.each([
  { when: 'still runs', isAnswered: false, requests: 1 },
  { when: 'was answered', isAnswered: true, requests: 0 },
])(
  'the statement of an aborted transaction is cancelled if it still runs: it $when',
  async ({ isAnswered, requests }) => {
    let accepted = 0
    server.on('connection', (socket) => {
      accepted += 1
      socket.resume().end()
    })
    const destroy = jest.fn()
    const client = clientOf({ release: () => {}, connection: { stream: { destroy } } }) as pg.PoolClient
    const send: Send = (_client, _statement, settle) => {
      if (isAnswered) settle(null, { rows: [], columns: [], count: 0, size: 0, command: '' }, false)
    }
    const ending = new AbortController()
    const work = () => new Promise<never>(() => {})
    const parts = { send, opening: ['begin'], ends: new Set<End>(), signal: ending.signal, enforce: undefined }
    const done = runTransaction(client, work, parts)
    await turn()
    const reason = new Error('enough')
    ending.abort(reason)
    await expect(done).rejects.toBe(reason)
    expect(destroy).toHaveBeenCalledTimes(1)
    // Connections are accepted in order.
    await once(connect(port, '127.0.0.1').resume(), 'close')
    expect(accepted).toBe(requests + 1)
  },
)

test('nothing is cancelled in a database without sessions', () => {
  expect(cancelStatement(clientOf({ processID: null }))).toBe(false)
})
