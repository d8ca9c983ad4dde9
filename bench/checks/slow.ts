import { loadRows } from '../cluster.js'
import { startLoader } from '../loader.js'
import { startServer } from '../server.js'
import { workNamed } from '../works.js'
import { atMost, type Check } from './check.js'

const ROWS = 1_000_000
/** PostgreSQL's statement timeout. */
const DEADLINE = 5_000
/** Fewer than there are connections. */
const SLOW_CLIENTS = 4

/** Retrieves single records while others request pages that are slow in PostgreSQL. */
export const slow: Check = async ({ postgres, loader, ours: contestant, duration }) => {
  const server = await startServer({ contestant, url: await loadRows(postgres, ROWS) })
  const others = startLoader()
  try {
    const task = { port: server.port, rows: ROWS, milliseconds: 3 * duration }
    const far = { method: 'GET', path: `/api/snippets-viewset/?ordering=-title&page=${ROWS / 10 - 1}` } as const
    const spec = workNamed('retrieve').request(ROWS)
    const [pages, records] = await Promise.all([
      others.drive({ ...task, spec: far, connections: SLOW_CLIENTS }),
      loader.drive({ ...task, spec, connections: 8, pause: 2 }),
    ])
    const slowness = `${pages.requests} slow pages of ${pages.p50.toFixed(0)} ms, ${JSON.stringify(pages.failures)} failed`
    return [
      atMost(
        `retrieve during ${slowness}: p50 ${records.p50.toFixed(2)}, p99 ${records.p99.toFixed(1)} ms, maximum`,
        records.max,
        DEADLINE,
        ' ms',
      ),
    ]
  } finally {
    others.stop()
    await server.stop()
  }
}
