import { loadRows } from '../cluster.js'
import { memoryOf } from '../cpu.js'
import { startServer } from '../server.js'
import { median } from '../statistics.js'
import { workNamed } from '../works.js'
import { atMost, type Check } from './check.js'

const ROWS = 1_000

/** The time of a start, and the memory under reads and writes of Set B. */
export const start: Check = async ({ postgres, loader, ours: contestant, duration, rounds, connections }) => {
  const url = await loadRows(postgres, ROWS)
  const starts: number[] = []
  for (let round = 0; round < rounds; round++) {
    const { coldStart, stop } = await startServer({ contestant, url })
    starts.push(coldStart)
    await stop()
  }
  const server = await startServer({ contestant, url })
  try {
    for (const work of ['retrieve', 'list100', 'filtered', 'update']) {
      const task = { port: server.port, spec: workNamed(work).request(ROWS), rows: ROWS, connections }
      await loader.drive({ ...task, milliseconds: duration })
    }
    const { now, most } = memoryOf(server.pid)
    return [
      atMost('cold start to the first response', median(starts), 400, ' ms'),
      atMost(`memory under load (${now.toFixed(0)} MB at the end)`, most, 120, ' MB'),
    ]
  } finally {
    await server.stop()
  }
}
