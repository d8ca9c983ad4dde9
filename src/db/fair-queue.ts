import { Problem } from '../problem.js'
import { createAdmission } from './admission.js'
import type { Share } from './database.js'

/** Grants the connections of a pool so that no resource, statement or record takes all of them, nor the whole queue. */
export interface FairQueue {
  /**
   * Grants a connection: at once if the share of the work permits it, otherwise later.
   * @returns for work that waits, what takes it out of the queue without its turn
   * @throws Problem `unavailable` when too many wait; never for work that `follows` granted work
   */
  enter(work: Share & { readonly follows?: boolean }, turn: Turn): (() => void) | undefined
  /** Returns a granted connection, used for `time` milliseconds; without a time, nothing is learned about the work. */
  leave(granted: Line, time?: number): void
  waiting(): number
  refused(): number
}

/** Called once: with the line to leave later, or with the reason why there is no connection. */
type Turn = (problem: Problem | null, granted: Line) => void

/** Work that is granted in the order of its arrival: that of one statement, one route or one record. */
export interface Line {
  readonly group: Group
  readonly key: string
  /** For the line of a record: that of the statement or route. A record gains nothing from a second connection. */
  readonly outer: Line | undefined
  /** Connections that are granted. */
  held: number
  /** Milliseconds for which a connection is used, a moving average. */
  time: number
  readonly waiters: Waiter[]
}

/** The lines of one resource, or of one hand-written route. */
interface Group {
  readonly lines: Map<string, Line>
  readonly records: Map<string, Line>
  /** Lines with waiters; those that were granted something last are at the end. */
  readonly queue: Set<Line>
  /** Work of the process itself is not limited. */
  readonly limited: boolean
  held: number
  waiting: number
  time: number
}

interface Waiter {
  readonly turn: Turn
  readonly since: number
}

interface FairQueueOptions {
  readonly connections: number
  /** Milliseconds after which waiting work is rejected. */
  readonly patience: number
}

/** Work that uses connections for less time is quick: others hardly notice how many it has. */
const QUICK = 50
/** Work of which nothing is known yet is not quick. */
const UNKNOWN = 200
const WEIGHT = 1 / 8
/** Work that is not quick may have so many connections for each one that is left. */
const GROUP_SHARE = 2
const LINE_SHARE = 1
/** Lines that are remembered when nothing is in them, for each resource. */
const MOST_IDLE = 100
const BETWEEN = 50

/**
 * Limits depend on how much is free (dynamic thresholds), so a lone workload may use most of the pool, and the busier the others are, the
 * smaller is each part. Quick work may use all connections but a reserve; whoever has none may have the last one.
 */
export function createFairQueue({ connections, patience }: FairQueueOptions): FairQueue {
  const reserve = Math.floor(connections / 4)
  const groups = new Map<string | undefined, Group>()
  const queued = new Set<Group>()
  let used = 0
  let waiting = 0
  let timer: NodeJS.Timeout | undefined
  const admission = createAdmission(connections, () => waiting > 0 && used === connections)

  function groupOf(name: string | undefined): Group {
    const known = groups.get(name)
    if (known) return known
    const limited = name !== undefined
    const [lines, records, queue] = [new Map<string, Line>(), new Map<string, Line>(), new Set<Line>()]
    const group = { lines, records, queue, limited, held: 0, waiting: 0, time: UNKNOWN }
    groups.set(name, group)
    return group
  }

  function lineOf({ resource, record, name = '' }: Share): Line {
    const group = groupOf(resource)
    if (record === undefined) return group.lines.get(name) ?? newLine({ group, lines: group.lines, key: name })
    const known = group.records.get(record)
    if (known) return known
    const outer = lineOf({ resource, name })
    return newLine({ group, lines: group.records, key: record, outer })
  }

  /** Records come and go; what was learned about statements is worth keeping. */
  function forgetIfIdle({ group, key, outer, held, waiters }: Line): void {
    if (held > 0 || waiters.length > 0) return
    if (outer) {
      group.records.delete(key)
      forgetIfIdle(outer)
    } else if (group.lines.size > MOST_IDLE) group.lines.delete(key)
  }

  function mayTake({ held, time }: Line | Group, share: number): boolean {
    const free = connections - used
    return held === 0 || (free > reserve && (time < QUICK || held < share * free))
  }

  function permits(line: Line): boolean {
    const { group, outer } = line
    if (outer && line.held > 0) return false
    return !group.limited || (mayTake(group, GROUP_SHARE) && mayTake(outer ?? line, LINE_SHARE))
  }

  function hold(line: Line, count: 1 | -1): void {
    used += count
    line.held += count
    line.group.held += count
    if (line.outer) line.outer.held += count
  }

  function wait(line: Line, turn: Turn, follows: boolean): () => void {
    const { group, waiters } = line
    const room = 2 * admission.places() - waiting
    if (!follows && (group.waiting >= room || 4 * waiters.length >= 3 * room)) {
      forgetIfIdle(line)
      throw admission.refuse()
    }
    admission.push()
    waiting += 1
    group.waiting += 1
    const waiter = { turn, since: performance.now() }
    waiters.push(waiter)
    group.queue.add(line)
    queued.add(group)
    timer ??= setInterval(expire, BETWEEN).unref()
    return () => {
      const place = waiters.indexOf(waiter)
      if (place < 0) return
      next(line, place)
      forgetIfIdle(line)
    }
  }

  /** Takes a waiter out of a line, the first one unless another is meant. */
  function next(line: Line, place = 0): Waiter | undefined {
    const { group, waiters } = line
    const [waiter] = waiters.splice(place, 1)
    waiting -= 1
    group.waiting -= 1
    group.queue.delete(line)
    if (waiters.length > 0) group.queue.add(line)
    else if (group.waiting === 0) queued.delete(group)
    admission.leave()
    return waiter
  }

  /** Of the resources with waiters that may go on, the one with the fewest connections; of its lines, the next in turn. */
  function choose(): Line | undefined {
    let chosen: Line | undefined
    for (const group of queued) {
      if (chosen && chosen.group.held <= group.held) continue
      for (const line of group.queue) {
        if (!permits(line)) continue
        chosen = line
        break
      }
    }
    return chosen
  }

  function dispatch(): void {
    while (used < connections && waiting > 0) {
      const line = choose()
      if (!line) return admission.rest()
      hold(line, 1)
      next(line)?.turn(null, line)
    }
  }

  function expire(): void {
    const before = performance.now() - patience
    for (const group of queued) for (const line of group.queue) expireIn(line, before)
    if (waiting > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function expireIn(line: Line, before: number): void {
    while (line.waiters[0] && line.waiters[0].since < before) next(line)?.turn(tooLate(line), line)
    forgetIfIdle(line)
  }

  return {
    enter(work, turn) {
      const line = lineOf(work)
      if (line.waiters.length > 0 || used >= connections || !permits(line))
        return wait(line, turn, work.follows === true)
      hold(line, 1)
      turn(null, line)
      return undefined
    },
    leave(line, time) {
      hold(line, -1)
      if (time !== undefined) {
        learn(line.outer ?? line, time)
        learn(line.group, time)
      }
      if (waiting > 0) dispatch()
      forgetIfIdle(line)
    },
    waiting: () => waiting,
    refused: () => admission.refused(),
  }
}

interface NewLine extends Pick<Line, 'group' | 'key'> {
  readonly lines: Map<string, Line>
  readonly outer?: Line
}

function newLine({ group, key, lines, outer }: NewLine): Line {
  const line = { group, key, outer, held: 0, time: UNKNOWN, waiters: [] }
  lines.set(key, line)
  return line
}

function learn(about: Line | Group, time: number): void {
  about.time += (time - about.time) * WEIGHT
}

function tooLate({ outer, held }: Line): Problem {
  const detail = outer && held > 0 ? 'The database is busy with other changes' : 'The database has too much to do'
  return new Problem('unavailable', detail, { headers: { 'Retry-After': '1' } })
}
