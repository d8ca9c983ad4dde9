import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Linux reports process times in hundredths of a second, whatever its internal clock is. */
const TICK = 10_000

/** Microseconds of CPU used by a process with its threads, and by its ended and running children. */
export interface CpuTime {
  readonly own: number
  readonly children: number
}

/** The CPU time of a server, in microseconds. */
export function cpuOf(pid: number): CpuTime {
  const { own, ended } = statOf(pid)
  const living = childrenOf(pid).map((child) => cpuOf(child))
  return { own, children: living.reduce((sum, child) => sum + child.own + child.children, ended) }
}

/** The CPU time of PostgreSQL in microseconds: the postmaster and every backend, including ended ones. */
export function cpuOfPostgres(postmaster: number): number {
  const { own, ended } = statOf(postmaster)
  return childrenOf(postmaster).reduce((sum, backend) => sum + preciseCpuOf(backend), own + ended)
}

/** Microseconds that all cores of the machine were busy, in total. */
export function cpuOfMachine(): number {
  const [, user, nice, system, , , irq, softirq, steal] =
    readFileSync('/proc/stat', 'utf8').split('\n')[0]?.split(/\s+/).map(Number) ?? []
  return TICK * [user, nice, system, irq, softirq, steal].reduce<number>((sum, part) => sum + (part ?? 0), 0)
}

/** Microseconds of CPU that the machine can provide in a time. */
export function cpuCapacity(milliseconds: number): number {
  return milliseconds * 1000 * availableParallelism()
}

/** The memory of a process in megabytes: now, and the peak. */
export function memoryOf(pid: number): { readonly now: number; readonly most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024
  return { now: read('VmRSS'), most: read('VmHWM') }
}

/** The running children of a process. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const children = readOrNothing(`/proc/${pid}/task/${thread}/children`)
    return children.split(' ').filter(Boolean).map(Number)
  })
}

/** A backend has one thread, and the scheduler's count for it is finer than 10 ms. */
function preciseCpuOf(pid: number): number {
  const [nanoseconds] = readOrNothing(`/proc/${pid}/schedstat`).split(' ')
  return nanoseconds ? Number(nanoseconds) / 1000 : statOf(pid).own
}

function statOf(pid: number): { readonly own: number; readonly ended: number } {
  const stat = readOrNothing(`/proc/${pid}/stat`)
  // The process name is in parentheses and may contain anything; numbers follow from the third field on.
  const numbers = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = numbers.slice(11, 15)
  return { own: TICK * (user + system), ended: TICK * (endedUser + endedSystem) }
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
