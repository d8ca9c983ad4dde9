import { takeSample } from '../sample.js'
import type { Running } from '../server.js'
import { median } from '../statistics.js'
import type { RequestSpec } from '../works.js'
import { atMost, type CheckParts, type Finding } from './check.js'

interface Side {
  readonly server: Running
  readonly spec: RequestSpec
  readonly rows: number
}

/** The medians of two kinds of requests, sampled in turn, in microseconds of CPU for each request. */
export async function compare(
  { loader, postgres, duration, rounds, connections }: CheckParts,
  sides: readonly [Side, Side],
) {
  const taken = sides.map((side) => ({ ...side, ours: [] as number[], postgres: [] as number[] }))
  for (let round = 0; round < rounds; round++) {
    // The second side benefits from the warm-up of the first.
    for (const { server, spec, rows, ...times } of round % 2 === 0 ? taken : taken.toReversed()) {
      const task = { port: server.port, spec, rows, connections }
      await loader.drive({ ...task, milliseconds: round === 0 ? duration : duration / 3 })
      const watched = { loader, server: server.pid, postgres: postgres.pid }
      const sample = await takeSample(watched, { ...task, milliseconds: duration })
      times.ours.push(sample.server + sample.children)
      times.postgres.push(sample.postgres)
    }
  }
  const [first, second] = taken.map((times) => ({ server: median(times.ours), postgres: median(times.postgres) }))
  if (first === undefined || second === undefined) throw new Error('a comparison needs two sides')
  return { first, second }
}

/** Compares the CPU of the server and PostgreSQL for the second kind of requests with that for the first. */
export async function compareCpu(
  parts: CheckParts,
  sides: readonly [Side, Side],
): Promise<(promise: string, most: number) => Finding> {
  const { first, second } = await compare(parts, sides)
  const total = (times: typeof first) => times.server + times.postgres
  const detail = `server ${first.server.toFixed(1)} and ${second.server.toFixed(1)} µs, PostgreSQL ${first.postgres.toFixed(1)} and ${second.postgres.toFixed(1)} µs`
  return (promise, most) => atMost(`${promise}, CPU (${detail})`, total(second) / total(first), most)
}
