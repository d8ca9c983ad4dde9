import { ask } from '../ask.js'
import { loadRows } from '../cluster.js'
import { startServer } from '../server.js'
import { median, quantile } from '../statistics.js'
import { type Check, type Finding } from './check.js'

const ROWS = 1_000_000
const NEXT = /<([^>]*)>; rel="next"/
/** The pages of one sample: a single page is too short to measure. */
const GROUP = 50
/** A walk that gets slower with each page would never end. */
const LONGEST = 180_000

/** Follows `next` from the first page to the last. */
export const walk: Check = async ({ postgres, ours: contestant }) => {
  const server = await startServer({ contestant, url: await loadRows(postgres, ROWS) })
  try {
    for (let warm = 0; warm < 10 * GROUP; warm++)
      await ask({ port: server.port, path: '/api/snippets-viewset/?page_size=100' })
    return toFindings(await walkAll(server.port))
  } finally {
    await server.stop()
  }
}

interface Walk {
  readonly times: readonly number[]
  readonly rows: number
}

async function walkAll(port: number): Promise<Walk> {
  const times: number[] = []
  const end = performance.now() + LONGEST
  let rows = 0
  let path: string | undefined = '/api/snippets-viewset/?page_size=100'
  while (path !== undefined && performance.now() < end) {
    const started = performance.now()
    const { status, headers, body } = await ask({ port, path })
    times.push(performance.now() - started)
    if (status !== 200) throw new Error(`${path} got ${status}: ${body.slice(0, 200)}`)
    rows += (JSON.parse(body) as readonly unknown[]).length
    path = NEXT.exec(String(headers['link']))?.[1]
  }
  return { times, rows }
}

function toFindings({ times, rows }: Walk): readonly Finding[] {
  const groups = Array.from({ length: Math.floor(times.length / GROUP) }, (_, index) =>
    median(times.slice(index * GROUP, (index + 1) * GROUP)),
  )
  const [first = 0] = groups
  const worst = Math.max(...groups)
  const sorted = [...times].sort((a, b) => a - b)
  const tenths = Array.from({ length: 10 }, (_, index) => groups[Math.floor(((index + 0.5) * groups.length) / 10)] ?? 0)
  return [
    {
      promise: 'following `next` from page 1 reaches every row',
      found: `${rows} of ${ROWS} rows on ${times.length} pages of 100 in ${(times.reduce((sum, time) => sum + time, 0) / 1000).toFixed(1)} s`,
      kept: rows === ROWS,
    },
    {
      promise: `no page takes longer than 3 times the first (medians of ${GROUP} pages)`,
      found: `first ${first.toFixed(2)} ms, slowest ${worst.toFixed(2)} ms; over time ${tenths.map((time) => time.toFixed(2)).join(' ')}; single pages p99 ${quantile(sorted, 0.99).toFixed(2)}, maximum ${(sorted.at(-1) ?? 0).toFixed(2)}`,
      kept: worst <= 3 * first,
    },
  ]
}
