import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { quantile } from '../../bench/statistics.js'
import { createClient } from '../client.js'
import { closedLoop, fill } from '../load.js'
import { type Arena, atLeast, atMost, type Figure, format, trial } from '../trial.js'
import { RECORDS } from '../writers.js'

interface Amount {
  readonly connections: number
  readonly seconds: number
}

/** How a slow client behaves, and the seconds after which it has to be cut. */
interface Slowness {
  readonly name: string
  readonly begin: (socket: Socket) => void
  /** What it sends from time to time. */
  readonly drip: string
  readonly limit: number
}

const HEAD = `POST ${RECORDS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n`

const KINDS: readonly Slowness[] = [
  {
    name: 'heads',
    begin: (socket) => void socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n'),
    drip: 'X-A: b\r\n',
    limit: 10,
  },
  { name: 'bodies', begin: (socket) => void socket.write(HEAD), drip: ' ', limit: 30 },
  {
    name: 'readers',
    begin: (socket) => {
      socket.pause()
      socket.write(`GET ${RECORDS}?page_size=100 HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(PIPELINED))
    },
    drip: '',
    limit: 60,
  },
]

/** Requests that a reader sends at once, without reading a response. */
const PIPELINED = 20
const MEGABYTE = 1024 * 1024
/** The memory that a process uses for unread responses according to docs/http.md, and the same again for building them. */
const UNREAD = 64 * 2
/** Far more than socket buffers hold. */
const CODE = '😀'.repeat(10_000)
/** Connections that come and go by themselves. */
const USUAL = 20

/** Clients that take forever, and others that do not notice them. */
export const slowClients = trial<Amount>({
  id: 'T9',
  title: 'slow clients are disconnected, and other clients are not affected',
  stores: ['postgres'],
  tiers: {
    commit: { connections: 200, seconds: 13 },
    nightly: { connections: 500, seconds: 90 },
    release: { connections: 500, seconds: 600 },
  },
  run: async (arena, { connections, seconds }) => {
    const served = await arena.serve()
    const client = createClient(served.port, 4)
    arena.later(() => client.close())
    await fill(client, 100, CODE)
    await closedLoop({ port: served.port, seconds: 3, question: () => ({ path: RECORDS }) }, 16)
    const { rss, descriptors: before } = await served.read()
    const slow = KINDS.map((kind) => ({
      kind,
      ...attack(arena, served.port, kind, kind.name === 'readers' ? connections / 4 : connections),
    }))
    const times: number[] = []
    let failed = 0
    const end = Date.now() + seconds * 1_000
    while (Date.now() < end) {
      const { status, time } = await client.ask({ path: `${RECORDS}1/` })
      times.push(time)
      failed += Number(status !== 200)
      await delay(20)
    }
    const growth = ((await served.read()).rss - rss) / MEGABYTE
    const p99 = quantile(
      times.sort((a, b) => a - b),
      0.99,
    )
    const { descriptors } = await served.read()
    const cuts = slow.flatMap(({ kind, open, started }): Figure[] => {
      // A little more, because slow clients are checked once a second.
      if (seconds < kind.limit + 2) return []
      // A client that does not read does not notice the end of its connection.
      const left = kind.drip === '' ? Math.max(0, descriptors - before - USUAL) : open()
      const after = Math.round((performance.now() - started) / 1_000)
      return [atMost(left, 0, `${left} slow ${kind.name} still connected after ${after} s`)]
    })
    for (const { stop } of slow) stop()
    return [
      atMost(failed, 0, `${failed} of ${format(times.length)} regular requests failed`),
      atLeast(times.length, 10, `${times.length} requests`),
      arena.inTime(p99, 100, `p99 ${format(p99)} ms`),
      atMost(growth, 50 + UNREAD, `RSS ${format(growth)} MB more`, ' MB'),
      ...cuts,
    ]
  },
})

function attack(arena: Arena, port: number, { begin, drip }: Slowness, count: number) {
  const sockets = new Set<Socket>()
  const started = performance.now()
  for (let at = 0; at < count; at++) {
    const socket = connect({ host: '127.0.0.1', port })
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.on('end', () => socket.destroy())
    if (drip !== '') socket.resume()
    void once(socket, 'connect').then(
      () => begin(socket),
      () => undefined,
    )
  }
  const dripping = setInterval(() => {
    if (drip !== '') for (const socket of sockets) socket.write(drip)
  }, 2_000)
  const stop = () => {
    clearInterval(dripping)
    for (const socket of sockets) socket.destroy()
  }
  arena.later(stop)
  return { open: () => sockets.size, stop, started }
}
