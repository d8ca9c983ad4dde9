import { cpuCapacity, cpuOf, cpuOfMachine, cpuOfPostgres, memoryOf } from './cpu.js'
import type { Drive } from './drive.js'
import type { Loader } from './loader.js'

/** One measurement: so many requests of one kind, to one contestant. */
export interface Sample {
  readonly requests: number
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Microseconds of CPU for each request: of the server's process, of its children, of PostgreSQL. */
  readonly server: number
  readonly children: number
  readonly postgres: number
  /** The part of the machine that everyone else took. */
  readonly others: number
  /** Megabytes that the server's process holds afterwards. */
  readonly memory: number
}

/** The processes whose time is taken. */
export interface Watched {
  readonly loader: Loader
  readonly server: number
  readonly postgres: number
}

/** @throws Error when an answer was not the one that was asked for */
export async function takeSample(watched: Watched, task: Drive): Promise<Sample> {
  const before = readCounters(watched)
  const started = performance.now()
  const driven = await watched.loader.drive(task)
  const passed = performance.now() - started
  const after = readCounters(watched)
  const { requests, failures, elapsed, p50, p99 } = driven
  if (requests === 0 || Object.keys(failures).length > 0) {
    throw new Error(
      `${task.spec.method} ${task.spec.path}: ${requests} answers, among them ${JSON.stringify(failures)}`,
    )
  }
  const used = (name: keyof Counters) => after[name] - before[name]
  const accounted = used('server') + used('children') + used('postgres') + used('loader') + used('bench')
  return {
    requests,
    perSecond: (1000 * requests) / elapsed,
    p50,
    p99,
    server: used('server') / requests,
    children: used('children') / requests,
    postgres: used('postgres') / requests,
    others: Math.max(0, used('machine') - accounted) / cpuCapacity(passed),
    memory: memoryOf(watched.server).now,
  }
}

type Counters = ReturnType<typeof readCounters>

function readCounters({ loader, server, postgres }: Watched) {
  const { own, children } = cpuOf(server)
  return {
    server: own,
    children,
    postgres: cpuOfPostgres(postgres),
    loader: cpuOf(loader.pid).own,
    bench: cpuOf(process.pid).own,
    machine: cpuOfMachine(),
  }
}
