import { loadRows, putRight, type BenchServer } from './cluster.js'
import type { Contestant } from './contestants.js'
import type { Loader } from './loader.js'
import { memoryOf } from './cpu.js'
import type { Options } from './options.js'
import { takeSample, type Sample } from './sample.js'
import { type Running, startServer } from './server.js'
import { verify } from './verify.js'
import { workNamed } from './works.js'

/** The samples of one work and contestant, in order. */
export interface Measured {
  readonly rows: number
  readonly work: string
  readonly contestant: string
  readonly samples: readonly Sample[]
}

/** A contestant's process over a whole run. */
export interface Footprint {
  readonly rows: number
  readonly contestant: string
  /** The time of each start, in ms. */
  readonly coldStarts: readonly number[]
  /** In megabytes, at the end and at the peak. */
  readonly memory: ReturnType<typeof memoryOf>
}

export interface Results {
  readonly measured: readonly Measured[]
  readonly footprints: readonly Footprint[]
}

interface Bench {
  readonly options: Options
  readonly postgres: BenchServer
  readonly loader: Loader
  readonly contestants: ReadonlyMap<string, Contestant>
  readonly say: (line: string) => void
}

/** Measures all works on a table of one size, with the contestants in turn, round by round. */
export async function measure(bench: Bench, rows: number): Promise<Results> {
  const { options, postgres, contestants, say } = bench
  say(`loading ${rows} rows`)
  const url = await loadRows(postgres, rows)
  const coldStarts = await startCold(bench, url)
  const servers = new Map<string, Running>()
  try {
    for (const [name, contestant] of contestants) servers.set(name, await startServer({ contestant, url }))
    const measured: Measured[] = []
    for (const work of options.work) {
      if (rows > (workNamed(work).mostRows ?? Infinity)) continue
      measured.push(...(await measureWork(bench, { rows, work, url, servers })))
    }
    const footprints = [...servers].map(([contestant, { pid }]) => {
      return { rows, contestant, coldStarts: coldStarts.get(contestant) ?? [], memory: memoryOf(pid) }
    })
    return { measured, footprints }
  } finally {
    for (const server of servers.values()) await server.stop()
  }
}

interface Situation {
  readonly rows: number
  readonly work: string
  readonly url: string
  readonly servers: ReadonlyMap<string, Running>
}

async function measureWork(bench: Bench, { rows, work, url, servers }: Situation): Promise<readonly Measured[]> {
  const { options, postgres, loader, contestants, say } = bench
  const { setA, writes, request } = workNamed(work)
  const taking = [...servers].filter(([name]) => !setA || contestants.get(name)?.setA)
  const samples = new Map<string, Sample[]>(taking.map(([name]) => [name, []]))
  for (const [name, { port }] of taking) await verify({ contestant: name, work, port, url, rows })
  for (let round = 0; round < options.rounds; round++) {
    for (const [name, { pid, port }] of inTurn(taking, round)) {
      const task = { port, spec: request(rows), rows, connections: options.connections }
      // In the first round, code is still being compiled.
      await loader.drive({ ...task, milliseconds: round === 0 ? options.duration : options.duration / 3 })
      const watched = { loader, server: pid, postgres: postgres.pid }
      samples.get(name)?.push(await takeSample(watched, { ...task, milliseconds: options.duration }))
      if (writes) await putRight(url, rows)
    }
  }
  say(`${work} on ${rows} rows: measured`)
  return [...samples].map(([contestant, taken]) => ({ rows, work, contestant, samples: taken }))
}

/** Each round starts with another contestant, so that no contestant always follows the same one. */
function inTurn<T>(list: readonly T[], round: number): readonly T[] {
  const first = round % list.length
  return [...list.slice(first), ...list.slice(0, first)]
}

async function startCold(
  { options, contestants }: Bench,
  url: string,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const times = new Map<string, number[]>([...contestants.keys()].map((name) => [name, []]))
  for (let round = 0; round < options.rounds; round++) {
    for (const [name, contestant] of contestants) {
      const { coldStart, stop } = await startServer({ contestant, url })
      times.get(name)?.push(coldStart)
      await stop()
    }
  }
  return times
}
