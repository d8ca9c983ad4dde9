import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test } from '@jest/globals'
import { type BookServer, startBooks } from '../../support/books.js'
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
