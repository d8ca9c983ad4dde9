import { loadRows } from '../cluster.js'
import { startServer } from '../server.js'
import { workNamed } from '../works.js'
import { atMost, type Check } from './check.js'
import { compare } from './compare.js'

const SMALL = 1_000
const LARGE = 1_000_000

/** Whether the first page of a large table costs the same as of a small one. */
export const growth: Check = async (parts) => {
  const { postgres, ours: contestant } = parts
  const spec = workNamed('list10').request(SMALL)
  const small = await startServer({ contestant, url: await loadRows(postgres, SMALL) })
  const large = await startServer({ contestant, url: await loadRows(postgres, LARGE) })
  try {
    const { first, second } = await compare(parts, [
      { server: small, spec, rows: SMALL },
      { server: large, spec, rows: LARGE },
    ])
    const detail = ` (server ${first.server.toFixed(1)} and ${second.server.toFixed(1)} µs, PostgreSQL ${first.postgres.toFixed(1)} and ${second.postgres.toFixed(1)} µs)`
    return [
      atMost(`first page at 1m rows compared with 1k, server CPU${detail}`, second.server / first.server, 1.2),
      atMost(
        'first page at 1m rows, additional PostgreSQL CPU compared with 1k',
        (second.postgres - first.postgres) / 1000,
        0.6,
        ' ms',
      ),
    ]
  } finally {
    await small.stop()
    await large.stop()
  }
}
