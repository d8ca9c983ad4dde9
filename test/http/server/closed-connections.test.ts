import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test } from '@jest/globals'
import { type BookServer, startBooks } from '../../support/books.js'
import { talk } from '../../support/wire.js'
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
