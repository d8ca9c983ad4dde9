import { setTimeout as delay } from 'node:timers/promises'
import { quantile } from '../../bench/statistics.js'
import { closedLoop, mixedQuestions } from '../load.js'
import type { Reading } from '../probe.js'
import { atMost, format, trial } from '../trial.js'

interface Amount {
  readonly seconds: number
  readonly warmUp: number
  readonly between: number
  /** Megabytes in each minute, least squares; a short run says little. */
  readonly slope: number
}

const CONNECTIONS = 64
const MEGABYTE = 1024 * 1024

/** The usual mix for a long time: memory, descriptors and times stay constant. */
export const soak = trial<Amount>({
  id: 'T1',
  title: 'a long mixed load causes no failed request and no leak',
  stores: ['postgres'],
  alone: true,
  tiers: {
    commit: { seconds: 15, warmUp: 6, between: 1, slope: 60 },
    nightly: { seconds: 1_800, warmUp: 120, between: 10, slope: 0.3 },
    release: { seconds: 21_600, warmUp: 120, between: 10, slope: 0.3 },
  },
  run: async (arena, { seconds, warmUp, between, slope }) => {
    const served = await arena.serve()
    const { port } = served
    const questions = mixedQuestions(arena.random)
    const early = await closedLoop({ port, seconds: warmUp, ...questions }, CONNECTIONS)
    const first = await served.read()
    const readings: { readonly at: number; readonly reading: Reading }[] = []
    let over = false
    const watch = (async () => {
      for (const started = performance.now(); !over; await delay(between * 1_000))
        readings.push({ at: (performance.now() - started) / 60_000, reading: await served.read() })
    })()
    const report = await closedLoop({ port, seconds: seconds - warmUp, ...questions }, CONNECTIONS)
    over = true
    await watch
    await delay(200)
    const last = await served.read()
    const failures = [
      ...Object.values(report.failures),
      ...Object.values(early.failures),
      report.rejections.length,
    ].reduce((sum, count) => sum + count, 0)
    arena.say(`${format(report.rate)}/s; ${JSON.stringify({ failures: report.failures, first, last })}`)
    const growth = slopeOf(readings.map(({ at, reading }) => [at, reading.rss / MEGABYTE]))
    const drift = driftOf(report.times)
    const loops = readings.slice(1).map(({ reading }) => reading.loop)
    const [worst, longest] = [Math.max(...loops.map(({ p99 }) => p99)), Math.max(...loops.map(({ max }) => max))]
    return [
      atMost(failures, 0, `${failures} of ${format(early.sent + report.sent)} failed`),
      atMost(growth, slope, `RSS ${format(growth)} MB a minute`, ' MB'),
      atMost(
        last.rss / first.rss,
        arena.tier === 'commit' ? 1.3 : 1.1,
        `last RSS ${format(last.rss / first.rss)} of the first`,
      ),
      atMost(drift, arena.tier === 'commit' ? 100 : 10, `p99 ${format(drift)} % longer at the end`, ' %'),
      atMost(
        last.descriptors - first.descriptors,
        CONNECTIONS / 2,
        `${last.descriptors - first.descriptors} descriptors more`,
      ),
      arena.inTime(worst, 20, `event loop p99 ${format(worst)} ms`),
      arena.inTime(longest, 100, `at most ${format(longest)} ms`),
    ]
  },
})

/** Least squares: how much y grows with x. */
function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length
  const [middle, height] = [mean(0), mean(1)]
  const above = points.reduce((sum, [x, y]) => sum + (x - middle) * (y - height), 0)
  const below = points.reduce((sum, [x]) => sum + (x - middle) ** 2, 0)
  return below === 0 ? 0 : above / below
}

/** How much longer the p99 of the last third is than that of the first, in parts of a hundred. */
function driftOf(times: readonly number[]): number {
  const third = Math.floor(times.length / 3)
  const p99 = (part: readonly number[]) =>
    quantile(
      [...part].sort((a, b) => a - b),
      0.99,
    )
  const [start, end] = [p99(times.slice(0, third)), p99(times.slice(-third))]
  return start === 0 ? 0 : (100 * (end - start)) / start
}
