import { setTimeout as delay } from 'node:timers/promises'
import { ask, open } from '../ask.js'
import { loadRows } from '../cluster.js'
import { memoryOf } from '../cpu.js'
import { type Running, startServer } from '../server.js'
import { workNamed } from '../works.js'
import { atMost, type Check, type CheckParts } from './check.js'

const ROWS = 1_000_000
const LOOK = 50
/** A list that takes longer is not read to its end. */
const LONGEST = 60_000

/** Reads the list of Set A while others retrieve single records. */
export const stream: Check = async (parts) => {
  const server = await startServer({ contestant: parts.ours, url: await loadRows(parts.postgres, ROWS) })
  try {
    // Starts the highlighting thread and compiles code before memory counts as idle.
    await ask({ port: server.port, path: '/api/snippets/1/' })
    await retrieve(parts, server, 2_000)
    await delay(500)
    const idle = memoryOf(server.pid).now
    const reading = readList(server)
    const { p50, p99, max } = await retrieve(parts, server, LONGEST, reading)
    const { most, bytes, seconds, whole } = await reading
    const read = `${(bytes / 1e6).toFixed(0)} MB in ${seconds.toFixed(1)} s${whole ? ', whole' : ', then stopped'}`
    return [
      atMost(
        `Set A list of 1m rows (${read}), memory above the ${idle.toFixed(0)} MB when idle`,
        most - idle,
        80,
        ' MB',
      ),
      atMost(`retrieve during the list (p50 ${p50.toFixed(2)}, maximum ${max.toFixed(0)} ms), p99`, p99, 50, ' ms'),
    ]
  } finally {
    await server.stop()
  }
}

/** Four clients with a short pause, until the time is over or the other work has ended. */
async function retrieve({ loader }: CheckParts, { port }: Running, longest: number, until?: Promise<unknown>) {
  const task = { port, spec: workNamed('retrieve').request(ROWS), rows: ROWS, connections: 4, pause: 5 }
  let over = false
  void until?.then(() => (over = true))
  const found = { p50: 0, p99: 0, max: 0 }
  for (const end = performance.now() + longest; performance.now() < end && !over; ) {
    const one = await loader.drive({ ...task, milliseconds: 2_000 })
    for (const name of ['p50', 'p99', 'max'] as const) found[name] = Math.max(found[name], one[name])
  }
  return found
}

async function readList({ pid, port }: Running) {
  const started = performance.now()
  let most = 0
  let bytes = 0
  const timer = setInterval(() => {
    most = Math.max(most, memoryOf(pid).now)
  }, LOOK)
  const answer = await open({ port, path: '/api/snippets/', keep: false })
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (performance.now() - started > LONGEST) break
  }
  clearInterval(timer)
  return { most, bytes, seconds: (performance.now() - started) / 1000, whole: answer.complete }
}
