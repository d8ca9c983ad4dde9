import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, test } from '@jest/globals'
import type { Limits } from '../../../src/http/connections/limits.js'
import type { Handler, Method } from '../../../src/http/route.js'
import { type BookServer, startBooks } from '../../support/books.js'
import { dial, receive } from '../../support/wire.js'
import { waitUntil } from '../../support/wait-until.js'

type Routes = readonly (readonly [method: Method, path: string, handle: Handler])[]

let books: BookServer | undefined
let sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets = []
  await books?.drain()
  books = undefined
})

/** Times in ms in which a test that waited for one of them would fail. */
const TOO_LONG = { handlerTimeout: 600_000, idleTimeout: 600_000, keepAliveTimeout: 600_000 }

async function serve(routes: Routes, limits: Partial<Limits> = {}): Promise<BookServer> {
  books = await startBooks({ routes, limits: { ...TOO_LONG, ...limits } })
  return books
}

function connectTo({ url }: BookServer): Socket {
  const socket = dial(url)
  sockets.push(socket)
  return socket
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: books.example\r\n\r\n`
const post = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nHost: books.example\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`

/** A route whose answers wait until they are let go. */
function gate(text = '{}') {
  const waiting: (() => void)[] = []
  let most = 0
  let begun = 0
  const handle: Handler = async () => {
    begun += 1
    const place = begun
    most = Math.max(most, waiting.length + 1)
    await new Promise<void>((resolve) => waiting.push(resolve))
    return { status: 200, text: text === '{}' ? `{"place":${place}}` : text }
  }
  const open = () => waiting.splice(0).forEach((each) => each())
  return { routes: [['GET', '/api/slow/', handle]] as Routes, open, begun: () => begun, most: () => most }
}

/** Several turns of the event loop, in which whatever is going to happen at once has happened. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 60))

describe('a client that sends many requests at once', () => {
  test('has eight of them processed at once, and the rest in order', async () => {
    const { routes, open, begun, most } = gate()
    const socket = connectTo(await serve(routes))
    const answers = receive(socket, { answers: 30 })
    socket.write(get('/api/slow/').repeat(30))
    await waitUntil(() => begun() === 8)
    await settled()
    expect(begun()).toBe(8)
    const opening = setInterval(open, 5)
    const { answers: all } = await answers
    clearInterval(opening)
    expect(all.map(({ body }) => JSON.parse(body))).toEqual(Array.from({ length: 30 }, (_, at) => ({ place: at + 1 })))
    expect(most()).toBe(8)
  })

  test('is not told that it was slow while the server does not read', async () => {
    let letGo = (): void => {}
    const slow: Handler = async () => {
      await new Promise<void>((resolve) => (letGo = resolve))
      return { status: 200, text: '{}' }
    }
    const quick: Handler = () => ({ status: 200, text: '{}' })
    const routes: Routes = [
      ['POST', '/api/slow/', slow],
      ['POST', '/api/quick/', quick],
    ]
    const socket = connectTo(await serve(routes, { headersTimeout: 200, requestTimeout: 200 }))
    const answers = receive(socket, { answers: 3 })
    const last = post('/api/quick/', '{}')
    socket.write(post('/api/slow/', '{}') + post('/api/quick/', '{}') + last.slice(0, 20))
    await settled()
    socket.write(last.slice(20))
    await new Promise((resolve) => setTimeout(resolve, 500))
    letGo()
    expect((await answers).answers.map(({ status }) => status)).toEqual([200, 200, 200])
  })

  test('has those that may change something processed alone, in their order', async () => {
    const begun: string[] = []
    const waiting: (() => void)[] = []
    const slow: Handler = async ({ params }) => {
      begun.push(params['id'] ?? '')
      await new Promise<void>((resolve) => waiting.push(resolve))
      return { status: 200, text: '{}' }
    }
    const socket = connectTo(
      await serve([
        ['GET', '/api/slow/{id}/', slow],
        ['POST', '/api/slow/{id}/', slow],
        ['DELETE', '/api/slow/{id}/', slow],
      ]),
    )
    const answers = receive(socket, { answers: 6 })
    const remove = (path: string) => get(path).replace('GET', 'DELETE')
    socket.write(get('/api/slow/1/') + get('/api/slow/2/') + post('/api/slow/3/', '{}') + remove('/api/slow/4/'))
    socket.write(get('/api/slow/5/') + get('/api/slow/6/'))
    const steps: string[] = []
    for (const count of [2, 1, 1, 2]) {
      await waitUntil(() => begun.length >= count)
      await settled()
      steps.push(begun.splice(0).join(', '))
      for (const open of waiting.splice(0)) open()
    }
    expect(steps).toEqual(['1, 2', '3', '4', '5, 6'])
    expect((await answers).answers.map(({ status }) => status)).toEqual(Array<number>(6).fill(200))
  })

  test('is not read from while eight are in progress', async () => {
    const { routes, open, begun } = gate()
    const socket = connectTo(await serve(routes, { drainTimeout: 100 }))
    // More than all buffers between the client and the server hold.
    const flood = Buffer.from(get('/api/slow/').repeat(400_000))
    let taken = false
    socket.write(flood, () => {
      taken = true
    })
    await waitUntil(() => begun() === 8)
    await settled()
    expect(taken).toBe(false)
    open()
    await waitUntil(() => begun() === 16)
    expect(taken).toBe(false)
  })

  test('has bodies read that arrive after earlier requests were answered', async () => {
    const { routes, open, begun } = gate()
    const server = await serve(routes)
    const socket = connectTo(server)
    const answers = receive(socket, { answers: 10 })
    const last = post('/api/books/', '{"title":"late"}')
    socket.write(get('/api/slow/').repeat(9) + last.slice(0, -8))
    await waitUntil(() => begun() === 8)
    socket.write(last.slice(-8))
    await settled()
    open()
    await waitUntil(() => begun() === 9)
    open()
    expect((await answers).answers.map(({ status }) => status)).toEqual([...Array<number>(9).fill(200), 201])
    expect(server.written).toEqual(['title'])
  })

  test.each([
    ['after complete requests', 'nonsense\r\n\r\n', 10],
    [
      'in the body of the last request',
      `${post('/api/books/', '').replace('Content-Length: 0', 'Transfer-Encoding: chunked')}zz\r\n`,
      10,
    ],
  ])('is answered up to the first invalid bytes: %s', async (_where, garbage, whole) => {
    const { routes, open } = gate()
    const socket = connectTo(await serve(routes))
    const answers = receive(socket)
    socket.write(get('/api/slow/').repeat(whole) + garbage)
    const opening = setInterval(open, 5)
    const { answers: all, closed } = await answers
    clearInterval(opening)
    expect(all.map(({ status }) => status)).toEqual([...Array<number>(whole).fill(200), 400])
    expect(closed).toBe(true)
  })

  test.each([12, 16])('gets the responses to waiting requests when the server drains: %i requests', async (count) => {
    const { routes, open, begun } = gate()
    const server = await serve(routes)
    const socket = connectTo(server)
    const answers = receive(socket)
    socket.write(get('/api/slow/').repeat(count))
    await waitUntil(() => begun() === 8)
    const drained = server.drain()
    const opening = setInterval(open, 5)
    const { answers: all } = await answers
    clearInterval(opening)
    await drained
    expect(all).toHaveLength(count)
  })

  test('gets nothing more started once it is gone, and every request is logged', async () => {
    const { routes, open, begun } = gate()
    const server = await serve(routes)
    const socket = connectTo(server)
    socket.write(get('/api/slow/').repeat(400))
    await waitUntil(() => begun() === 8)
    socket.destroy()
    const opening = setInterval(open, 5)
    // A connection that is not read from is found to be gone when it is written to.
    const logged = () => server.logged.filter(({ event }) => event === 'request').length
    await waitUntil(() => logged() >= 8 && logged() === begun())
    await settled()
    clearInterval(opening)
    expect(begun()).toBeLessThan(200)
    expect(logged()).toBe(begun())
  })

  test('does not delay the end of the server once it is gone', async () => {
    const { routes, open, begun } = gate()
    const server = await serve(routes, { drainTimeout: 20_000 })
    const socket = connectTo(server)
    socket.write(get('/api/slow/').repeat(20))
    await waitUntil(() => begun() === 8)
    socket.destroy()
    const opening = setInterval(open, 5)
    const begunAt = performance.now()
    await server.drain()
    clearInterval(opening)
    expect(performance.now() - begunAt).toBeLessThan(10_000)
  })

  test('has nothing done for requests behind one that closes its connection', async () => {
    const { routes, open, begun } = gate()
    const server = await serve(routes)
    const socket = connectTo(server)
    const answers = receive(socket)
    const invalid = 'GET /api/books/ HTTP/1.1\r\n\r\n'
    socket.write(get('/api/slow/').repeat(8) + invalid + post('/api/books/', '{"title":"late"}'))
    await waitUntil(() => begun() === 8)
    open()
    expect((await answers).answers.map(({ status }) => status)).toEqual([...Array<number>(8).fill(200), 400])
    expect(server.written).toEqual([])
  })

  test('gets no more large responses before it has read some', async () => {
    const { routes, open, begun } = gate(`"${'x'.repeat(300_000)}"`)
    const socket = connectTo(await serve(routes, { inProgress: 2 }))
    socket.pause()
    socket.write(get('/api/slow/').repeat(100))
    const opening = setInterval(open, 5)
    await waitUntil(() => begun() >= 2)
    // The operating system takes a few megabytes for the client.
    for (let before = 0; before < begun(); await settled()) before = begun()
    expect(begun()).toBeLessThan(60)
    socket.resume()
    await waitUntil(() => begun() === 100)
    clearInterval(opening)
    open()
  })

  test('gets nothing more started while a large response waits for an earlier one', async () => {
    const { routes, open } = gate()
    let large = 0
    const respond: Handler = () => {
      large += 1
      return { status: 200, text: `"${'x'.repeat(300_000)}"` }
    }
    const socket = connectTo(await serve([...routes, ['GET', '/api/large/', respond]]))
    const answers = receive(socket, { answers: 3 })
    socket.write(get('/api/slow/') + get('/api/large/'))
    await waitUntil(() => large === 1)
    await settled()
    socket.write(get('/api/large/'))
    await settled()
    expect(large).toBe(1)
    open()
    expect((await answers).answers).toHaveLength(3)
    // All of them are read, so there is room again.
    socket.write(get('/api/slow/') + get('/api/large/'))
    await waitUntil(() => large === 3)
    open()
  })
})

test('a client whose body becomes invalid after its response has begun gets the rest of it, and is closed', async () => {
  let finish = () => {}
  const stream = async function* () {
    yield `"${'x'.repeat(20_000)}`
    await new Promise<void>((resolve) => (finish = resolve))
    yield '"'
  }
  const routes: Routes = [['POST', '/api/stream/', () => ({ status: 200, stream: stream() })]]
  const socket = connectTo(await serve(routes))
  const answered = receive(socket, { answers: 1 })
  socket.write(post('/api/stream/', '').replace('Content-Length: 0', 'Transfer-Encoding: chunked'))
  await new Promise((resolve) => socket.once('data', resolve))
  socket.write('zz\r\n')
  await settled()
  finish()
  expect((await answered).answers).toMatchObject([{ status: 200, body: expect.stringMatching(/x"$/) }])
  await waitUntil(() => socket.closed)
})

test('clients together have sixty-four requests in progress besides the first of each client', async () => {
  const { routes, open, begun, most } = gate()
  const server = await serve(routes)
  const answers = Array.from({ length: 40 }, () => {
    const socket = connectTo(server)
    socket.write(get('/api/slow/').repeat(8))
    return receive(socket, { answers: 8 })
  })
  await waitUntil(() => begun() === 40 + 64)
  await settled()
  expect(begun()).toBe(40 + 64)
  const opening = setInterval(open, 5)
  for (const { answers: all } of await Promise.all(answers))
    expect(all.map(({ status }) => status)).toEqual(Array<number>(8).fill(200))
  clearInterval(opening)
  expect(most()).toBe(40 + 64)
})

test('a request that has ended makes room for another one', async () => {
  const { routes, open, begun } = gate()
  const server = await serve(routes, { pipelined: 7 })
  for (const round of [1, 2]) {
    const socket = connectTo(server)
    socket.write(get('/api/slow/').repeat(8))
    const answered = receive(socket, { answers: 8 })
    await waitUntil(() => begun() === 8 * round)
    open()
    await answered
  }
})

test('a client with few waiting requests is not cut because of others', async () => {
  const { routes, open, begun } = gate()
  const server = await serve(routes, { drainTimeout: 100 })
  const short = 'GET /api/slow/ HTTP/1.1\r\nHost:a\r\n\r\n'
  // Eight of each are worked on, and the rest are as many as may wait in the process.
  const counts = [...Array<number>(8).fill(999), 8 + 8_192 - 8 * 991]
  const greedy = counts.map((count) => {
    const socket = connectTo(server)
    socket.resume().write(short.repeat(count))
    return socket
  })
  await waitUntil(() => begun() === 72)
  await settled()
  const socket = connectTo(server)
  const answers = receive(socket, { answers: 10 })
  socket.write(short.repeat(10))
  await waitUntil(() => greedy.some(({ destroyed, readableEnded }) => destroyed || readableEnded))
  const opening = setInterval(open, 5)
  expect((await answers).answers.map(({ status }) => status)).toEqual(Array<number>(10).fill(200))
  clearInterval(opening)
  expect(greedy.filter(({ destroyed, readableEnded }) => destroyed || readableEnded)).toHaveLength(1)
  expect(greedy[8]?.destroyed).toBe(false)
})

test('requests that have waited count no longer as waiting', async () => {
  const server = await serve([['GET', '/api/quick/', async () => ({ status: 204 })]], { requestsPerConnection: 10_000 })
  const socket = connectTo(server)
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  // More than may wait in the process, but never so many at once.
  socket.end('GET /api/quick/ HTTP/1.1\r\nHost:a\r\n\r\n'.repeat(9_000))
  await once(socket, 'close')
  expect(text.split('HTTP/1.1 204 ')).toHaveLength(1 + 9_000)
})

test('invalid bytes behind a request in progress are not taken for a request of their own', async () => {
  const { routes, open, begun } = gate()
  const socket = connectTo(await serve(routes))
  const answers = receive(socket)
  socket.write(get('/api/slow/'))
  await waitUntil(() => begun() === 1)
  // Errors below this path have another format.
  socket.write('GET /api/plain/ HTTP/1.1\r\nno colon\r\n\r\n')
  await settled()
  open()
  const types = (await answers).answers.map(({ status, headers }) => [status, headers['content-type']])
  expect(types).toEqual([
    [200, 'application/json'],
    [400, 'application/problem+json'],
  ])
})

test.each([1, 8, 12])('a client that has closed its sending side gets its responses: %i', async (count) => {
  const { routes, open, begun } = gate()
  const socket = connectTo(await serve(routes))
  const answers = receive(socket)
  socket.end(get('/api/slow/').repeat(count))
  await waitUntil(() => begun() === Math.min(count, 8))
  await settled()
  const opening = setInterval(open, 5)
  const { answers: all } = await answers
  clearInterval(opening)
  expect(all.map(({ status }) => status)).toEqual(Array<number>(count).fill(200))
})
