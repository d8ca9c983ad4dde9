import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test } from '@jest/globals'
import { type BookServer, makeBookServer, startBooks } from '../../support/books.js'
import { dial, talk } from '../../support/wire.js'
import { waitUntil } from '../../support/wait-until.js'

let server: BookServer
afterEach(() => server.drain())

test('a server does not keep closed connections in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  server = await startBooks()
  const sockets: WeakRef<Socket>[] = []
  server.server.on('connection', (socket) => sockets.push(new WeakRef(socket)))
  for (let count = 0; count < 5; count += 1)
    await talk(server.url, 'GET /api/books/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  // The last one may still be held by the parser that reads it.
  await waitUntil(async () => {
    await new Promise(setImmediate)
    collectGarbage()
    return sockets.filter((each) => each.deref() !== undefined).length < 2
  })
  expect(sockets).toHaveLength(5)
})

test.each([
  { name: 'that its client leaves', leave: (client: Socket) => void client.destroy() },
  { name: 'that its client resets', leave: (client: Socket) => void client.resetAndDestroy() },
  { name: 'that the end of the drain cuts off', leave: () => void server.drain() },
])('a response $name is logged as cut off, and one that was sent is not', async ({ leave }) => {
  const routes = [['GET', '/api/large/', () => ({ status: 200, text: 'x'.repeat(20_000_000) })]] as const
  server = await startBooks({ routes, limits: { drainTimeout: 50 } })
  const client = dial(server.url)
  client.write('GET /api/books/ HTTP/1.1\r\nHost: a\r\n\r\nGET /api/large/ HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(client, 'readable')
  leave(client)
  const requests = () => server.logged.filter(({ event }) => event === 'request')
  await waitUntil(() => requests().length === 2)
  expect(requests()).toMatchObject([
    { status: 200, aborted: undefined },
    { status: 200, aborted: true },
  ])
  client.destroy()
})

test('a service in another server ends the pipelined requests of a client that leaves', async () => {
  const slow = ['GET', '/api/slow/', () => new Promise<never>(() => {})] as const
  const books = makeBookServer({ routes: [slow], limits: { receiveBytes: 10_000, receiveStall: 60_000 } })
  const outer = createServer(books.handler).listen(0)
  const url = `http://127.0.0.1:${(outer.address() as AddressInfo).port}`
  const body = JSON.stringify({ text: 'x'.repeat(8_000) })
  const post = `POST /api/books/ HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  try {
    const client = dial(url)
    client.write(`GET /api/slow/ HTTP/1.1\r\nHost: a\r\n\r\n${post}`)
    await waitUntil(() => books.written.length === 1)
    client.resetAndDestroy()
    const requests = () => books.logged.filter(({ event }) => event === 'request')
    await waitUntil(() => requests().length === 2)
    expect(requests()).toMatchObject([
      { path: '/api/slow/', status: undefined, aborted: true },
      { path: '/api/books/', status: 201, aborted: true },
    ])
    // The body had all of the room.
    expect((await talk(url, post, { answers: 1 })).answers[0]?.status).toBe(201)
    expect(requests()).toMatchObject([{}, {}, { aborted: undefined }])
  } finally {
    outer.closeAllConnections()
    outer.close()
  }
})
