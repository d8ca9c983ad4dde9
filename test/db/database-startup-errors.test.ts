import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterAll, describe, expect, test } from '@jest/globals'
import { openDatabase } from '../../src/db/open.js'
import { openTestDatabase, testDatabaseKind } from '../support/database.js'

const open = (url: string, environment = {}) => openDatabase({ url, directory: '' }, environment)
const testWithServer = testDatabaseKind() === 'postgres' ? test : test.skip

const closers: (() => unknown)[] = []
afterAll(() => Promise.all(closers.map((close) => close())))

/** A server that handles each connection as the test specifies. */
async function listen(answer: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => answer(socket.on('error', () => undefined))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => server.close())
  return `postgres://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}/books`
}

describe('a malformed URL is rejected without showing its password', () => {
  test.each([
    ['', 'it is empty'],
    ['localhost:5432', 'it does not start with postgres://'],
    ['mysql://user:secret@host/books', 'it does not start with postgres://'],
    ['postgres://user:secret@host:port/books', 'it cannot be parsed as a URL'],
    ['postgres://user:sec@secret@ho st/books', 'it contains a space'],
    ['postgres://user:secret@host:99999/books', 'it cannot be parsed as a URL'],
    ['postgres://user:1/secret@host/books', 'it contains an @ after the host'],
    ['postgres://user:1?secret@host/books', 'it contains an @ after the host'],
    ['postgres://user:1#secret@host/books', 'it contains a #'],
    ['postgres://host/books?sslrootcert=/secret', 'a file that it names cannot be read (ENOENT)'],
    ['user:secret@host/books', 'it does not start with postgres://'],
    ['mysql://host/books?password=secret', 'it does not start with postgres://'],
  ])('%j: %s', async (url, reason) => {
    const error = await open(url).catch((error: unknown) => error)
    expect(error).toMatchObject({
      name: 'DatabaseRejected',
      message: `DATABASE_URL is malformed: ${reason}; its value is not shown, because it may contain a password`,
      cause: undefined,
    })
    expect(String((error as Error).stack)).not.toContain('secret')
  })

  test.each(['0', '-1', '1.5', 'ten', '', '1001'])('rejects DATABASE_POOL=%s', async (pool) => {
    const error = await open('postgres://host/books', { DATABASE_POOL: pool }).catch((error: unknown) => error)
    expect(error).toMatchObject({ name: 'DatabaseRejected', message: expect.stringContaining(JSON.stringify(pool)) })
  })
})

test.each([
  ['postgres://user:secret@db.example:5433/books', 'PostgreSQL at db.example:5433, database books'],
  ['postgres://user:secret@/books?host=/run/sockets', 'PostgreSQL at /run/sockets, database books'],
])('opening does not connect, and describes the server without the password: %s', async (url, description) => {
  const database = await open(url)
  expect(database.description).toBe(description)
  expect(database.whenPending).toBe('reject')
  await database.close()
})

describe('a probe', () => {
  const probe = async (url: string) => {
    const database = await open(url)
    const error = await database.probe().catch((error: unknown) => error)
    await database.close()
    return error
  }
  const tooBusy = { type: 'unavailable', headers: { 'Retry-After': '1' } }

  testWithServer.each([
    [
      'an unknown database',
      (url: URL) => Object.assign(url, { pathname: '/missing' }),
      'database "missing" does not exist',
    ],
    ['an unknown user', (url: URL) => Object.assign(url, { username: 'nobody' }), 'nobody'],
  ])('is rejected for %s', async (_what, change, message) => {
    const known = await openTestDatabase()
    const url = change(new URL(known.url ?? ''))
    expect(await probe(url.href)).toMatchObject({ name: 'DatabaseRejected', message: expect.stringContaining(message) })
    await known.close()
  })

  test("is rejected for a wrong password, with the server's message", async () => {
    const url = await listen((socket) =>
      socket.once('data', () => socket.end(errorResponse('28P01', 'wrong password'))),
    )
    const error = await probe(url)
    expect(error).toMatchObject({ name: 'DatabaseRejected', message: expect.stringContaining('wrong password') })
    expect(String((error as Error).stack)).not.toContain('secret')
  })

  test('is rejected for a server that is too old', async () => {
    const url = await listen((socket) => {
      socket.once('data', () => {
        socket.write(Buffer.concat([message('R', int(0)), READY]))
        socket.once('data', () => socket.write(Buffer.concat([version('PostgreSQL 13.22 on x86_64'), READY])))
      })
    })
    expect(await probe(url)).toMatchObject({ name: 'DatabaseRejected', help: ['Use PostgreSQL 14 or newer'] })
  })

  test('may succeed later if the server is not there', async () => {
    const url = await listen(() => undefined)
    await closers.pop()?.()
    expect(await probe(url)).toMatchObject(tooBusy)
  })

  test('may succeed later if the server is starting', async () => {
    const url = await listen((socket) => socket.once('data', () => socket.end(errorResponse('57P03', 'starting up'))))
    expect(await probe(url)).toMatchObject(tooBusy)
  })

  test('ends if the server never responds', async () => {
    const sockets: Socket[] = []
    const url = await listen((socket) => sockets.push(socket))
    expect(await probe(url)).toMatchObject(tooBusy)
    for (const socket of sockets) socket.destroy()
  })
})

// Just enough of PostgreSQL's protocol to be rejected by.
const int = (value: number) => Buffer.from([value >> 24, value >> 16, value >> 8, value])
const message = (type: string, body: Buffer) => Buffer.concat([Buffer.from(type), int(body.length + 4), body])
const READY = message('Z', Buffer.from('I'))

function errorResponse(code: string, text: string): Buffer {
  return message('E', Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${text}\0\0`))
}

function version(text: string): Buffer {
  const field = Buffer.concat([
    Buffer.from('version\0'),
    int(0),
    Buffer.alloc(2),
    int(25),
    Buffer.alloc(2),
    int(-1),
    Buffer.alloc(2),
  ])
  return Buffer.concat([
    message('T', Buffer.concat([Buffer.from([0, 1]), field])),
    message('D', Buffer.concat([Buffer.from([0, 1]), int(text.length), Buffer.from(text)])),
    message('C', Buffer.from('SELECT 1\0')),
  ])
}
