import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from '@jest/globals'
import type { Records } from '../../../src/http/records.js'
import { RouteTable } from '../../../src/http/route-table.js'
import { type BookServer, startBooks } from '../../support/books.js'
import { dial, receive } from '../../support/wire.js'

const WORK = 'GET /api/slow/ HTTP/1.1\r\nHost: a\r\n\r\n'
/** An application that has no routes. */
const EMPTY = { routes: new RouteTable(), records: {} as Records }

let server: BookServer
/** The ends of the handlers and of the drain, in order. */
let events: string[]
/** Ends the handlers in progress. */
let finish: () => void
/** Resolves when a handler runs. */
let started: Promise<void>
afterEach(() => server.drain())

async function serve(drainTimeout: number): Promise<void> {
  events = []
  const finished = new Promise<void>((resolve) => (finish = resolve))
  let start = () => {}
  started = new Promise((resolve) => (start = resolve))
  const work = async () => {
    start()
    await finished
    events.push('handled')
    return { status: 204 }
  }
  server = await startBooks({ routes: [['GET', '/api/slow/', work]], limits: { drainTimeout } })
}

/** Sends a request whose client goes away while it is handled. */
async function abandonWork(): Promise<void> {
  const socket = dial(server.url)
  socket.write(WORK)
  await started
  socket.resetAndDestroy()
}

/** Drains, and ends the handlers some time after the last connection is closed. */
async function drainBeforeEnd(): Promise<void> {
  const drained = server.drain().then(() => events.push('drained'))
  await once(server.server, 'close')
  await delay(50)
  finish()
  await drained
}

test('a server waits for a handler whose client has gone before it has drained', async () => {
  await serve(3_600_000)
  await abandonWork()
  await drainBeforeEnd()
  expect(events).toEqual(['handled', 'drained'])
})

test('a server waits for the handlers of an application that was replaced before it has drained', async () => {
  await serve(3_600_000)
  await abandonWork()
  const replaced = server.replace(EMPTY).then(() => events.push('replaced'))
  await drainBeforeEnd()
  await replaced
  expect(events).toEqual(['handled', 'replaced', 'drained'])
})

test('a server waits a second for handlers although their responses took all of the time to drain', async () => {
  await serve(1)
  const socket = dial(server.url)
  socket.write(WORK)
  await started
  const cut = receive(socket)
  await drainBeforeEnd()
  expect(events).toEqual(['handled', 'drained'])
  expect(await cut).toMatchObject({ answers: [], closed: true })
})

test('a request on an open connection is answered once, by the application that has replaced the first', async () => {
  await serve(3_600_000)
  const socket = dial(server.url)
  const get = async (path: string) => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    return (await receive(socket, { answers: 1 })).answers.map(({ status }) => status)
  }
  expect(await get('/api/books/')).toEqual([200])
  await server.replace(EMPTY)
  expect([await get('/api/books/'), await get('/api/books/')]).toEqual([[404], [404]])
  socket.destroy()
})

test('a request that arrived while the process was busy is answered before its connection is closed', async () => {
  await serve(3_600_000)
  const socket = dial(server.url)
  const request = 'GET /api/books/7/ HTTP/1.1\r\nHost: a\r\n\r\n'
  socket.write(request)
  await receive(socket, { answers: 1 })
  const drained = server.drain()
  socket.write(request)
  // Longer than the interval at which connections without a request are closed.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150)
  expect(await receive(socket)).toMatchObject({ answers: [{ status: 200 }], closed: true })
  await drained
})

test('a server that has drained leaves no timer that keeps the process running', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  await serve(3_600_000)
  await abandonWork()
  await drainBeforeEnd()
  expect(timers()).toBe(before)
})

test('a client that still reads a response receives all of it', async () => {
  // Larger than the buffers of the operating system.
  const text = 'x'.repeat(20_000_000)
  const routes = [['GET', '/api/large/', () => ({ status: 200, text })]] as const
  server = await startBooks({ routes, limits: { drainTimeout: 3_600_000 } })
  const socket = dial(server.url)
  socket.write('GET /api/large/ HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(socket, 'readable')
  const drained = server.drain()
  // Longer than the interval at which connections without a request are closed.
  await delay(250)
  socket.resume()
  await drained
  expect(socket.bytesRead).toBeGreaterThan(text.length)
})
