import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Limits } from '../../../src/http/connections/limits.js'
import type { Database } from '../../../src/internal.js'
import type { Plugin } from '../../../src/index.js'
import { type Api, startApi } from '../../support/api.js'
import { ddlOf, specOf } from '../../support/config.js'
import { openTestDatabase, watchDatabase } from '../../support/database.js'
import { dial, receive } from '../../support/wire.js'

const YAML = `version: 1
api: { prefix: "" }
plugins: [./plugin.mjs]
models:
  book:
    fields:
      id: { type: bigint, primary_key: true }
      code: { type: text }
  note:
    fields:
      id: { type: bigint, primary_key: true }
      text: { type: text }
resources:
  note: { model: note, path: /notes/, pagination: { style: page_number, page_size: 20 } }
  book: { model: book, path: /books/, pagination: { style: page_number, page_size: 20 } }
`
/** A page has 20 records of 200 kB; no connection takes as much for a client that does not read. */
const RECORDS = 20
const PAGE = RECORDS * 200_000
/** Four pages. */
const ROOM = 4 * PAGE
/** Longer than a test may take: in its time, a slow machine reads all pages. */
const TOO_LONG = 600_000
const PATIENT: Partial<Limits> = {
  sendBytes: ROOM,
  sendTimeout: TOO_LONG,
  stallTimeout: TOO_LONG,
  handlerTimeout: TOO_LONG,
}
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
const LIST = get('/books/')

/** Ends the request of `/books/wait/`. */
let endWait: () => void
const plugin: Plugin = (app) =>
  app.action('book', 'wait', {
    method: 'GET',
    on: 'collection',
    summary: 'Wait',
    handle: () =>
      new Promise<void>((resolve) => {
        endWait = resolve
      }),
  })

let database: Database
/** Lists that the database was asked for in this test. */
let lists: () => number
let before = 0
let api: Api | undefined
let sockets: Socket[] = []
beforeAll(async () => {
  const opened = await openTestDatabase(ddlOf(specOf(YAML)))
  const book = `insert into book (code) select repeat(chr(96 + n), 200000) from generate_series(1, ${RECORDS}) n`
  await opened.query({ text: book, values: [] })
  const note = `insert into note (text) select repeat('n', size) from unnest(array[1000000, 40000]) size`
  await opened.query({ text: note, values: [] })
  const { watched, sent } = watchDatabase(opened)
  database = watched
  lists = () => sent.filter(({ text }) => text.includes('limit')).length - before
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets = []
  before += lists()
  await api?.close()
  api = undefined
})
afterAll(() => database.close())

async function serve(limits: Partial<Limits>): Promise<Api> {
  api = await startApi(YAML, { database, plugin, limits, checkResponses: false })
  return api
}

/** Clients that ask for eight pages each, and read nothing. */
function floodWith(count: number, { url }: Api): void {
  for (let each = 0; each < count; each += 1) {
    const socket = dial(url).pause()
    socket.on('error', () => {})
    socket.write(LIST.repeat(8))
    sockets.push(socket)
  }
}

/** Makes clients read small parts of their responses repeatedly. */
function trickle(): void {
  for (const socket of sockets) {
    socket.on('data', () => {
      socket.pause()
      setTimeout(() => socket.resume(), 100).unref()
    })
    socket.resume()
  }
}

/** Reads until at least `wanted` bytes have arrived. */
async function bytesFrom(socket: Socket, wanted: number): Promise<void> {
  let size = 0
  await new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size >= wanted) resolve()
    })
    socket.resume()
  })
}

/** Resolves when no list is read, nor begun in a fifth of a second. */
async function untilQuiet(): Promise<void> {
  const isReading = () => {
    const { open, idle, waiting, pipelinedStatements } = database.usage()
    return open - idle + waiting + pipelinedStatements > 0
  }
  for (let earlier = -1; earlier < lists() || isReading(); await delay(200)) earlier = lists()
}

describe('while clients do not read their lists', () => {
  test('further lists wait before they query the database', async () => {
    const server = await serve(PATIENT)
    floodWith(4, server)
    await untilQuiet()
    // Sixteen before anything is known of their length, and then as many as the room holds.
    expect(lists()).toBeLessThan(24)
    expect((await server.fetch('/books/1/')).status).toBe(200)
    const all = sockets.map((socket) => bytesFrom(socket, 8 * PAGE))
    await Promise.all(all)
    expect(lists()).toBe(32)
  })

  test('a list that waits too long is rejected, without a query', async () => {
    const server = await serve({ ...PATIENT, sendTimeout: 300 })
    floodWith(4, server)
    await untilQuiet()
    const earlier = lists()
    const answer = await server.fetch('/books/')
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await answer.json()).toMatchObject({ detail: 'too many responses are waiting for clients to read them' })
    expect(lists()).toBe(earlier)
  })

  test('a list of one record is answered at once, even after a much longer record', async () => {
    const server = await serve({ ...PATIENT, sendTimeout: 300 })
    const noteAt = (page: number) => server.fetch(`/notes/?page=${page}&page_size=1`)
    await noteAt(1)
    for (let count = 0; count < 60; count += 1) await noteAt(2)
    floodWith(4, server)
    await untilQuiet()
    expect((await server.fetch('/books/')).status).toBe(503)
    expect((await noteAt(2)).status).toBe(200)
  })

  test('clients that read nothing of large responses are cut, so that others get theirs', async () => {
    const server = await serve({ ...PATIENT, stallTimeout: 300 })
    floodWith(4, server)
    await untilQuiet()
    const answer = await server.fetch('/books/')
    expect(answer.status).toBe(200)
    expect((await answer.text()).length).toBeGreaterThan(PAGE)
  })

  test('a client is not cut while its large response waits for an earlier one', async () => {
    const server = await serve({ ...PATIENT, stallTimeout: 300 })
    const socket = dial(server.url)
    const answers = receive(socket, { answers: 2 })
    socket.write(get('/books/wait/') + LIST)
    await untilQuiet()
    floodWith(4, server)
    await untilQuiet()
    expect((await server.fetch('/books/')).status).toBe(200)
    endWait()
    expect((await answers).answers.map(({ status }) => status)).toEqual([204, 200])
    socket.destroy()
  })

  test('clients that read too slowly are cut, too', async () => {
    const server = await serve({ ...PATIENT, sendTimeout: 8_000, stallTimeout: 500, stallRate: 8 * 1024 * 1024 })
    floodWith(4, server)
    await untilQuiet()
    trickle()
    const answer = await server.fetch('/books/')
    expect(answer.status).toBe(200)
    expect((await answer.text()).length).toBeGreaterThan(PAGE)
  })

  test('clients that read fast enough get everything', async () => {
    const server = await serve({ ...PATIENT, stallTimeout: 500, stallRate: 1 })
    floodWith(4, server)
    await untilQuiet()
    trickle()
    const answer = await server.fetch('/books/')
    expect(answer.status).toBe(200)
    expect(sockets.filter((socket) => socket.closed)).toEqual([])
  })
})
