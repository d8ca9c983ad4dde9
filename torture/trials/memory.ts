import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { median } from '../../bench/statistics.js'
import { createClient } from '../client.js'
import { fill } from '../load.js'
import type { Served } from '../serve.js'
import { atLeast, atMost, type Figure, known, format, trial } from '../trial.js'
import { RECORDS } from '../writers.js'

interface Amount {
  readonly attempts: number
}

/** The sizes of bodies and how many are held at once, so that they stand out in the heap. */
const BODIES = [
  { size: 1_000, held: 500 },
  { size: 100_000, held: 50 },
  { size: 1_000_000, held: 20 },
] as const
/** Code that is compiled between two looks is not held by a body. */
const ROUNDS = 3
const BODY_FACTOR = 6
const LIST_FACTOR = 4
const ROWS = 100
/** 40 kB of UTF-8. */
const CODE = '😀'.repeat(10_000)

/** The memory of a request in progress; garbage is collected before each reading, but not before the peak is taken. */
export const memory = trial<Amount>({
  id: 'T15',
  title: 'a request uses at most a few times its size in memory',
  stores: ['postgres'],
  alone: true,
  tiers: { commit: { attempts: 5 }, nightly: { attempts: 20 }, release: { attempts: 20 } },
  run: async (arena, { attempts }) => {
    const served = await arena.serve()
    const figures: Figure[] = []
    for (const { size, held } of BODIES) {
      const factors: number[] = []
      for (let round = 0; round < ROUNDS; round++) factors.push(await heldBy(served, size, held))
      const factor = median(factors)
      figures.push(
        atMost(factor, BODY_FACTOR, `a body of ${format(size)} bytes uses ${format(factor)} times its size`),
        // Less than its own bytes would mean that nothing was measured.
        atLeast(factor, 0.9, `plausible: ${format(factor)} times its size`),
      )
    }
    const single = await peakOf(served, attempts, () => post(served.port, 1_000_000))
    figures.push(atMost(single / 1_000_000, BODY_FACTOR, `and at most ${format(single / 1_000_000)} times 1 MB`))
    const client = createClient(served.port, 20)
    arena.later(() => client.close())
    await fill(client, ROWS, CODE)
    let bytes = 0
    const list = await peakOf(served, attempts, async () => {
      bytes = Buffer.byteLength((await client.ask({ path: `${RECORDS}?page_size=${ROWS}` })).body)
    })
    const share = list / bytes
    const figure = atMost(share, LIST_FACTOR, `a list of ${format(bytes)} bytes uses ${format(share)} times its size`)
    figures.push(known(figure, 'the driver collects a page, which is one value, in a buffer that doubles'))
    return figures
  },
})

/** Bytes that the heap and the buffers outside of it grew by, at their highest; the least of some attempts, because garbage is chance. */
async function peakOf(served: Served, attempts: number, work: () => Promise<unknown>): Promise<number> {
  let least = Infinity
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { heap } = await served.read()
    await work()
    least = Math.min(least, Math.max(0, (await served.read()).peak - heap))
  }
  return least
}

/** How many times its size a body holds of memory that is still needed, while its last byte is missing. */
async function heldBy(served: Served, size: number, count: number): Promise<number> {
  const body = bodyOf(size)
  const sockets = await Promise.all(Array.from({ length: count }, () => begin(served.port, body.slice(0, 1), size)))
  await delay(100)
  // The buffers that one collection finds unused are given back by the next.
  await served.read()
  const before = (await served.read()).heap
  for (const socket of sockets) socket.write(body.slice(1, -1))
  const after = await settled(served)
  for (const socket of sockets) socket.destroy()
  await delay(500)
  return Math.max(0, after - before) / count / size
}

/** The heap once it stops growing: on a busy machine, a process takes a while to read its input. */
async function settled(served: Served): Promise<number> {
  let heap = 0
  for (let calm = 0; calm < 3; ) {
    await delay(200)
    const now = (await served.read()).heap
    calm = now > heap * 1.005 ? 0 : calm + 1
    heap = Math.max(heap, now)
  }
  return heap
}

async function post(port: number, size: number): Promise<void> {
  const socket = await begin(port, bodyOf(size), size)
  await once(socket, 'data')
  socket.destroy()
}

async function begin(port: number, body: string, size: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(
    `POST ${RECORDS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n${body}`,
  )
  return socket
}

/** A body whose bytes are values rather than white space: a text of many escapes, and unknown members. */
function bodyOf(size: number): string {
  const head = '{"title":"t","language":"l","code":"'
  const half = Math.floor((size - head.length) / 2)
  const text = '\\n\\u00e9x'.repeat(Math.floor(half / 9)).padEnd(half, 'x')
  const members: string[] = []
  for (let left = size - head.length - text.length - 2; left > 24; left -= members.at(-1)?.length ?? 0)
    members.push(`,"m${String(members.length).padStart(6, '0')}":[1,{}]`)
  const body = `${head}${text}"${members.join('')}`
  return `${body}${' '.repeat(size - body.length - 1)}}`
}
