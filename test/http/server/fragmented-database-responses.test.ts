import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type Api, startApi } from '../../support/api.js'
import pg from 'pg'
import type { Database } from '../../../src/db/database.js'
import { openDatabase } from '../../../src/db/open.js'
import { openTestDatabase, type TestDatabase, testDatabaseKind } from '../../support/database.js'
import { waitUntil } from '../../support/wait-until.js'

const describeOverNetwork = testDatabaseKind() === 'postgres' ? describe : describe.skip

const YAML = `
version: 1
api: { prefix: "" }
models:
  book:
    table: book
    fields:
      id: { type: bigint, primary_key: true }
      title: { type: string, max: 100, unique: true }
      text: { type: text, max: 20000, nullable: true }
resources:
  book:
    model: book
    path: /books/
    pagination: { style: page_number, page_size: 5, max_page_size: 100 }
`

/** A proxy in front of a database server that forwards its responses in fragments of `size` bytes. */
async function fragmentResponses({ host, port }: pg.Client, size: number): Promise<Server> {
  const target = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port }
  const server = createServer((client) => {
    client.setNoDelay(true)
    const upstream = connect(target)
    client.pipe(upstream)
    upstream.on('data', (bytes) => {
      upstream.pause()
      void handOn(client, bytes, size).then(() => upstream.resume())
    })
    upstream.on('close', () => client.destroy())
    client.on('close', () => upstream.destroy())
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

async function handOn(client: Socket, bytes: Buffer, size: number): Promise<void> {
  for (let at = 0; at < bytes.length && !client.destroyed; at += size) {
    client.write(bytes.subarray(at, at + size))
    await turn()
  }
}

/** `books` with long texts are one page; the last page is too large for malloc (`MAPPED`). */
const FRAGMENTS = [
  { size: 3, books: 1 },
  { size: 7, books: 2 },
  { size: 4_099, books: 12 },
]

describeOverNetwork.each(FRAGMENTS)('if responses arrive in fragments of $size bytes', ({ size, books }) => {
  let admin: TestDatabase
  let proxy: Server
  let database: Database
  let api: Api
  beforeEach(async () => {
    admin = await openTestDatabase(
      'create table book (id bigint generated always as identity primary key, title text unique, "text" text)',
    )
    const target = new pg.Client({ connectionString: admin.url })
    proxy = await fragmentResponses(target, size)
    const { port } = proxy.address() as AddressInfo
    const url = `postgres://${target.user}:${encodeURIComponent(target.password ?? '')}@127.0.0.1:${port}/${target.database}`
    database = await openDatabase({ url, directory: '' }, { DATABASE_POOL: '9' })
    api = await startApi(YAML, { database })
  })
  afterEach(async () => {
    await api.close()
    await database.close()
    proxy.close()
    await admin.close()
  })

  test('lists, records and errors are complete', async () => {
    const texts = [null, '', 'ä😀 "\\'.repeat(300), 'x'.repeat(9_000), '\u2028']
    const books = texts.map((text, index) => ({ id: index + 1, title: `book ${index}`, text }))
    const create = async (title: string, text: string | null) =>
      (await api.send('POST', '/books/', { title, text })).status
    for (const { title, text } of books) expect(await create(title, text)).toBe(201)
    expect(await create('book 0', null)).toBe(409)
    // On a slow machine, some of the requests may wait too long for a connection.
    const read = async (path: string): Promise<unknown> =>
      (
        await waitUntil(
          () => api.fetch(path),
          ({ status }) => status !== 503,
        )
      ).json()
    const pages = await Promise.all(Array.from({ length: 6 }, () => read('/books/')))
    for (const page of pages) expect(page).toEqual(books)
    expect(await read('/books/3/')).toEqual(books[2])
    expect(await read('/books/?page=2')).toEqual([])
    expect(await read('/books/?page_size=2&page=2')).toEqual(books.slice(2, 4))
  })

  test('a page of long texts is complete', async () => {
    const text = 'ä😀 '.repeat(5_000)
    await admin.query({
      text: "insert into book (title, text) select 'book ' || n, $1 from generate_series(1, $2::integer) as n",
      values: [text, String(books)],
    })
    const page: unknown = await (await api.fetch('/books/?page_size=100')).json()
    expect(page).toEqual(Array.from({ length: books }, (_, at) => ({ id: at + 1, title: `book ${at + 1}`, text })))
  })
})
