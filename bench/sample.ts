import { cpuCapacity, cpuOf, cpuOfMachine, cpuOfPostgres, memoryOf } from './cpu.js'
import type { Drive } from './drive.js'
import type { Loader } from './loader.js'

/** One measurement: requests of one kind to one contestant. */
export interface Sample {
  readonly requests: number
  readonly perSecond: number
  /** In ms. */
  readonly p50: number
  readonly p99: number
  /** Microseconds of CPU for each request: the server's process, its children, PostgreSQL. */
  readonly server: number
  readonly children: number
  readonly postgres: number
  /** The part of the machine that other processes used. */
  readonly others: number
  /** The memory of the server's process afterwards, in megabytes. */
  readonly memory: number
}

/** The processes to measure. */
export interface Watched {
  readonly loader: Loader
  readonly server: number
  readonly postgres: number
}

/** @throws Error if a response was not the expected one */
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
