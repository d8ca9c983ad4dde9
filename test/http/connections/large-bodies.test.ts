import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from '@jest/globals'
import type { Plugin } from '../../../src/index.js'
import type { Limits } from '../../../src/http/connections/limits.js'
import { type Api, startApi } from '../../support/api.js'
import { waitUntil } from '../../support/wait-until.js'
import { dial, receive } from '../../support/wire.js'

const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  note:
    fields:
      id: { type: bigint, primary_key: true }
      text: { type: text, max: 1000000 }
resources:
  note: { model: note, path: /notes/ }
`
const MB = 1_000_000
/** Room for two bodies of a megabyte. */
const ROOM: Partial<Limits> = { receiveBytes: 3 * MB, receiveStall: 300, handlerTimeout: 60_000 }

/** The requests that wait in the handler, and what ends them. */
const busy: Promise<Response>[] = []
const endings: (() => void)[] = []
/** How many bodies the handler of long responses has received. */
let received = 0
const plugin: Plugin = (app) => {
  app.route('POST', '/wait/', 'wait', async (context) => {
    await context.body({ mediaTypes: ['application/json'], optional: false, limit: 2 * MB })
    await new Promise<void>((resolve) => endings.push(resolve))
    return { status: 200, body: {} }
  })
  app.route('POST', '/events/', 'events', async (context) => {
    await context.body({ mediaTypes: ['application/json'], optional: false, limit: 2 * MB })
    const events = async function* () {
      yield 'data: 1\n\n'
      await new Promise<void>((resolve) => endings.push(resolve))
    }
    return { status: 200, headers: { 'content-type': 'text/event-stream' }, stream: events() }
  })
  app.route('POST', '/long/', 'long', async (context) => {
    await context.body({ mediaTypes: ['application/json'], optional: false, limit: 2 * MB })
    received += 1
    return { status: 200, body: 'x'.repeat(30 * MB) }
  })
  app.route('GET', '/file/', 'file', () => ({ status: 200, body: 'x'.repeat(30 * MB) }))
  app.route('POST', '/early/', 'early', async (context) => {
    void context.body({ mediaTypes: ['application/json'], optional: false, limit: 2 * MB })
    return { status: 200, body: {} }
  })
}

let api: Api
let sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets = []
  for (const end of endings.splice(0)) end()
  await Promise.allSettled(busy.splice(0))
  await api.close()
})

async function serve(limits: Partial<Limits> = ROOM): Promise<void> {
  api = await startApi(YAML, { plugin, limits, checkResponses: false })
}

function textOf(bytes: number): string {
  return JSON.stringify({ text: 'x'.repeat(bytes) })
}

/** Sends a note but for its end; `send` sends another byte of it, `finish` the rest. */
function begin(body: string, path = '/notes/', missing = 20_000) {
  const socket = dial(api.url)
  sockets.push(socket)
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  let sent = body.length - missing
  socket.write(head + body.slice(0, sent))
  return {
    received: receive(socket, { answers: 1 }),
    send: () => socket.write(body.slice(sent, (sent += 1))),
    finish: () => socket.write(body.slice(sent)),
  }
}

/** Resolves when the server has read the next head of a request. Until then, nothing is logged for a client that leaves. */
function nextHead(): Promise<void> {
  const channel = 'http.server.request.start'
  return new Promise((resolve) => {
    const onHead = () => {
      unsubscribe(channel, onHead)
      resolve()
    }
    subscribe(channel, onHead)
  })
}

/** Starts a request of this size, and waits until its body has arrived. */
async function occupy(bytes: number): Promise<void> {
  const before = endings.length
  const response = api.send('POST', '/wait/', { text: 'x'.repeat(bytes) })
  busy.push(response)
  const isAnswered = response.then(({ status }) => {
    throw new Error(`the request was answered with ${status}`)
  })
  const hasBegun = async () => {
    while (endings.length === before) await delay(5)
  }
  await Promise.race([hasBegun(), isAnswered])
  isAnswered.catch(() => {})
}

/** Ends these requests; each of them must have had its room. */
async function endAll(): Promise<void> {
  for (const end of endings.splice(0)) end()
  for (const response of busy.splice(0)) expect(await statusOf(response)).toBe(200)
}

const statusOf = async (sent: Promise<Response>) => (await sent).status

test.each([
  { name: 'has stopped arriving', stallRate: 1, sends: false },
  { name: 'arrives too slowly', stallRate: 1000, sends: true },
])('a body that $name gives way to others, but not one that is arriving', async ({ stallRate, sends }) => {
  await serve({ ...ROOM, stallRate })
  const first = begin(textOf(MB))
  const second = begin(textOf(MB))
  for (let count = 0; count < 20; count++) {
    await delay(50)
    if (sends) first.send()
    for (let sent = 0; sent < (sends ? 500 : 1); sent++) second.send()
  }
  expect(await statusOf(api.send('POST', '/notes/', { text: 'x'.repeat(MB) }))).toBe(201)
  const { answers, closed } = await first.received
  expect([answers[0]?.status, answers[0]?.headers['retry-after'], closed]).toEqual([503, '1', false])
  expect(answers[0]?.headers['connection']).toBe('close')
  expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({
    type: '/problems/unavailable',
    detail: 'too many large bodies are arriving or being processed',
  })
  second.finish()
  expect((await second.received).answers[0]?.status).toBe(201)
})

test('a body is rejected while others are processed that take all of the room, unless it is small', async () => {
  await serve()
  for (let count = 0; count < 2; count++) await occupy(MB)
  const rejected = await api.send('POST', '/notes/', { text: 'x'.repeat(MB) })
  expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await statusOf(api.send('POST', '/notes/', { text: 'x'.repeat(100_000) }))).toBe(201)
  await endAll()
  expect(await statusOf(api.send('POST', '/notes/', { text: 'x'.repeat(MB) }))).toBe(201)
})

test('small bodies have a quarter of the room for themselves, and no more', async () => {
  await serve({ ...ROOM, receiveBytes: MB })
  await occupy(MB)
  for (let count = 0; count < 3; count++) await occupy(80_000)
  expect(await statusOf(api.send('POST', '/notes/', { text: 'x'.repeat(80_000) }))).toBe(503)
})

test('a single body is received however large it is', async () => {
  await serve({ ...ROOM, receiveBytes: 1000 })
  expect(await statusOf(api.send('POST', '/notes/', { text: 'x'.repeat(MB) }))).toBe(201)
})

test.each([
  { name: 'accepted', body: textOf(MB), status: 201 },
  { name: 'invalid', body: textOf(MB + 1), status: 400 },
  { name: 'malformed', body: `${'['.repeat(MB)}x`, status: 400 },
])('the room of bodies that are $name is returned', async ({ body, status }) => {
  await serve()
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  for (let count = 0; count < 8; count++) expect(await statusOf(api.fetch('/notes/', init))).toBe(status)
  expect(await statusOf(api.send('POST', '/notes/', { text: 'x'.repeat(MB) }))).toBe(201)
})

test('the room of bodies that are not complete when the response is sent is returned', async () => {
  await serve({ ...ROOM, receiveStall: 600_000 })
  const body = textOf(400_000)
  for (let count = 0; count < 10; count++) {
    const { received, finish } = begin(body, '/early/', 392_000)
    expect((await received).answers[0]?.status).toBe(200)
    finish()
  }
  await waitUntil(async () => (await statusOf(api.send('POST', '/notes/', { text: 'x'.repeat(MB) }))) === 201)
})

test('the room of bodies whose clients have left is returned', async () => {
  await serve({ ...ROOM, receiveStall: 60_000 })
  for (let count = 0; count < 8; count++) {
    const logged = () => api.logged.filter(({ event }) => event === 'request').length
    const before = logged()
    const begun = nextHead()
    begin(textOf(MB))
    await begun
    await delay(100)
    for (const socket of sockets) socket.destroy()
    while (logged() === before) await delay(5)
  }
  expect(await statusOf(api.send('POST', '/notes/', { text: 'x'.repeat(MB) }))).toBe(201)
})

test('a body that is being processed keeps its room when its client leaves', async () => {
  await serve()
  for (let count = 0; count < 2; count++) begin(textOf(MB), '/wait/', 0)
  while (endings.length < 2) await delay(5)
  for (const socket of sockets) socket.resetAndDestroy()
  while (api.logged.filter(({ event }) => event === 'request').length < 2) await delay(5)
  expect(await statusOf(api.send('POST', '/notes/', { text: 'x'.repeat(MB) }))).toBe(503)
  for (const end of endings.splice(0)) end()
  expect(await statusOf(api.send('POST', '/notes/', { text: 'x'.repeat(MB) }))).toBe(201)
})

test.each([
  { name: 'whose client has left', handlerTimeout: 200, leaves: true, status: undefined },
  { name: 'that timed out', handlerTimeout: 200, leaves: false, status: 504 },
])('the log names a handler $name and goes on, so that its body keeps its room', async (given) => {
  const { handlerTimeout, leaves, status } = given
  await serve({ ...ROOM, handlerTimeout })
  const { received } = begin(textOf(MB), '/wait/', 0)
  while (endings.length < 1) await delay(5)
  if (leaves) sockets[0]?.resetAndDestroy()
  else expect((await received).answers[0]?.status).toBe(status)
  const held = () => api.logged.filter(({ event }) => event === 'body_room_held')
  while (held().length === 0) await delay(20)
  expect(held()).toMatchObject([
    {
      route: 'wait',
      bytes: MB + 11,
      msg: `the handler of wait has not ended, and its body keeps ${MB + 11} bytes of the room for bodies until then`,
    },
  ])
})

test('the log does not name a handler that ends soon after its client has left', async () => {
  await serve({ ...ROOM, handlerTimeout: 200 })
  begin(textOf(MB), '/wait/', 0)
  while (endings.length < 1) await delay(5)
  sockets[0]?.resetAndDestroy()
  while (!api.logged.some(({ event }) => event === 'request')) await delay(5)
  for (const end of endings.splice(0)) end()
  await delay(400)
  expect(api.logged.filter(({ event }) => event === 'body_room_held')).toEqual([])
})

test('a body has no room any more once a stream has begun', async () => {
  await serve()
  for (let count = 0; count < 3; count++) {
    const { status, body } = await api.send('POST', '/events/', { text: 'x'.repeat(MB) })
    expect(status).toBe(200)
    await body?.getReader().read()
  }
  expect(await statusOf(api.send('POST', '/notes/', { text: 'x'.repeat(MB) }))).toBe(201)
})

test('clients that do not read their responses are closed when a body needs the room of theirs', async () => {
  await serve({ ...ROOM, stallTimeout: 300 })
  received = 0
  for (let count = 0; count < 2; count++) {
    const socket = dial(api.url)
    sockets.push(socket)
    socket.pause().on('error', () => {})
    const body = textOf(MB)
    socket.write(
      `POST /long/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
  }
  await waitUntil(() => received === 2)
  const isRejected = () => api.send('POST', '/notes/', { text: 'x'.repeat(MB) }).then(({ status }) => status === 503)
  expect(await isRejected()).toBe(true)
  await waitUntil(async () => !(await isRejected()))
  expect(api.logged.some((entry) => entry.event === 'request' && 'route' in entry && entry.route === 'long')).toBe(true)
})

test('a client that reads slowly is not closed for a body if it holds no room', async () => {
  await serve({ ...ROOM, stallTimeout: 300 })
  const reader = dial(api.url)
  sockets.push(reader)
  reader.pause().write('GET /file/ HTTP/1.1\r\nHost: localhost\r\n\r\n')
  for (let count = 0; count < 2; count++) await occupy(MB)
  const until = performance.now() + 2_000
  while (performance.now() < until) {
    expect(await statusOf(api.send('POST', '/notes/', { text: 'x'.repeat(MB) }))).toBe(503)
    await delay(50)
  }
  expect(api.logged.some((entry) => entry.event === 'request' && 'route' in entry && entry.route === 'file')).toBe(
    false,
  )
  await endAll()
})
