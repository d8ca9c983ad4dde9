import pg from 'pg'
import { quantile } from '../../bench/statistics.js'
import { createClient } from '../client.js'
import { closedLoop, openLoop } from '../load.js'
import { atLeast, atMost, known, format, trial } from '../trial.js'
import { RECORDS } from '../writers.js'

interface Amount {
  readonly seconds: number
}

const EXCESS = 3
const CONNECTIONS = 32
/** A client that waits for longer has gone. */
const PATIENCE = 2_000
const MEASURE = 2
const ROWS = 20_000
/** The database scans to the end of the table for it, and the response is small: if the client were the bottleneck, nothing would queue here. */
const QUESTION = { path: `${RECORDS}?page_size=1&page=${ROWS}` }
/** Asks the database nothing. */
const CHEAP = { path: '/api/snippets/config/' }
/**
 * Node accepts one connection per turn of its event loop, so clients that connect for each request wait in the kernel, where nobody can reject them.
 * A load balancer keeps its connections, and so does this load.
 */
const KEPT = 600
const SLOWED = 'when the database becomes four times slower, requests admitted before wait for two seconds'
const SHARED = 'the service shares its processors with the database, which uses all of them, and with the clients'
const FILL = `insert into snippets (title, code, language) select 'row ' || at, 'x = 1', 'python' from generate_series(1, ${ROWS}) at`

/** Three times as many requests as can be answered, sent without waiting for responses. */
export const overload = trial<Amount>({
  id: 'T10',
  title: 'at three times the capacity, excess requests are rejected immediately, and latency recovers afterwards',
  stores: ['postgres'],
  alone: true,
  tiers: { commit: { seconds: 8 }, nightly: { seconds: 60 }, release: { seconds: 600 } },
  run: async (arena, { seconds }) => {
    const url = await arena.database()
    const served = await arena.serve({ url })
    const { port } = served
    await fill(url)
    const load = { port, question: () => QUESTION }
    await closedLoop({ ...load, seconds: 1 }, CONNECTIONS)
    const peak = await closedLoop({ ...load, seconds: MEASURE }, CONNECTIONS)
    const usual = quantile(
      [...peak.times].sort((a, b) => a - b),
      0.99,
    )
    await served.read()
    const excess = { rate: EXCESS * peak.rate, patience: PATIENCE, opened: KEPT, opening: CHEAP }
    const burst = await openLoop({ ...load, seconds }, excess)
    const { loop, rejected } = await served.read()
    const recovery = await untilUsual(port, Math.max(2 * usual, 50))
    const part = (100 * burst.rate) / peak.rate
    const seen = quantile(
      [...burst.rejections].sort((a, b) => a - b),
      0.99,
    )
    arena.say(
      `capacity ${format(peak.rate)}/s, failures ${JSON.stringify(burst.failures)}, loop ${JSON.stringify(loop)}, rejections as clients see them p99 ${format(seen)} ms`,
    )
    return [
      known(atLeast(part, 80, `goodput ${format(part)} % of ${format(peak.rate)}/s`, ' %'), SHARED),
      atLeast(rejected.count, 1, `${format(rejected.count)} rejected`),
      // Taken in the service, because the client is as busy and would measure itself.
      known(arena.inTime(rejected.p99, 50, `p99 of rejections ${format(rejected.p99)} ms in the service`), SLOWED),
      known(arena.inTime(loop.p99, 20, `event loop p99 ${format(loop.p99)} ms`), SHARED),
      arena.inTime(recovery, 2_000, `normal latency after ${format(recovery)} ms`),
      atMost(served.complaints.length, 0, `${served.complaints.length} errors in the log`),
    ]
  },
})

async function fill(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(FILL)
  await client.query('vacuum analyze snippets')
  await client.end()
}

/** Milliseconds until twenty requests in a row take no longer than that. */
async function untilUsual(port: number, bound: number): Promise<number> {
  const client = createClient(port, 1)
  const started = performance.now()
  let since = started
  for (let inRow = 0; inRow < 20 && performance.now() - started < 30_000; ) {
    const { status, time } = await client.ask(QUESTION)
    inRow = status === 200 && time <= bound ? inRow + 1 : 0
    if (inRow === 0) since = performance.now()
  }
  client.close()
  return since - started
}
