import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Linux counts the time of processes in hundredths of a second for everyone who asks, whatever its own clock is. */
const TICK = 10_000

/** Microseconds of CPU that a process and its threads have used, and those of its children: the ended and the living. */
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

/** The CPU time of PostgreSQL in microseconds: its postmaster and every backend, also those that have ended. */
export function cpuOfPostgres(postmaster: number): number {
  const { own, ended } = statOf(postmaster)
  return childrenOf(postmaster).reduce((sum, backend) => sum + preciseCpuOf(backend), own + ended)
}

/** Microseconds that all cores of the machine together were busy. */
export function cpuOfMachine(): number {
  const [, user, nice, system, , , irq, softirq, steal] =
    readFileSync('/proc/stat', 'utf8').split('\n')[0]?.split(/\s+/).map(Number) ?? []
  return TICK * [user, nice, system, irq, softirq, steal].reduce<number>((sum, part) => sum + (part ?? 0), 0)
}

/** Microseconds of CPU that the machine had to give in a time. */
export function cpuCapacity(milliseconds: number): number {
  return milliseconds * 1000 * availableParallelism()
}

/** The memory of a process in megabytes: now, and at its highest. */
export function memoryOf(pid: number): { readonly now: number; readonly most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024
  return { now: read('VmRSS'), most: read('VmHWM') }
}

/** The living children of a process. One that ends meanwhile is left out. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const children = readOrNothing(`/proc/${pid}/task/${thread}/children`)
    return children.split(' ').filter(Boolean).map(Number)
  })
}

/** A backend has one thread, and the scheduler's own count of it has no steps of 10 ms. */
function preciseCpuOf(pid: number): number {
  const [nanoseconds] = readOrNothing(`/proc/${pid}/schedstat`).split(' ')
  return nanoseconds ? Number(nanoseconds) / 1000 : statOf(pid).own
}

function statOf(pid: number): { readonly own: number; readonly ended: number } {
  const stat = readOrNothing(`/proc/${pid}/stat`)
  // The name of a process stands in parentheses and may hold anything; the numbers follow it, from the third on.
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
