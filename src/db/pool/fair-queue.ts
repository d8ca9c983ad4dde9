import { Problem } from '../../problem.js'
import { createAdmission } from './admission.js'
import { append, createChain, remove } from './linked-list.js'
import type { Share } from '../database.js'
import { createLines, type Group, hasWaiters, learn, type Line, type Turn, type Waiter } from './work-queues.js'

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

interface FairQueueOptions {
  readonly connections: number
  /** Milliseconds after which waiting work is rejected. */
  readonly patience: number
}

/** Work that uses connections for less time is quick: others hardly notice how many it has. */
const QUICK = 50
/** Work that is not quick may have so many connections for each one that is left. */
const GROUP_SHARE = 2
const LINE_SHARE = 1
const BETWEEN = 50

/** Work of a resource that may always wait, also when others fill a queue that has just become shorter. */
const MIN_WAITING = 4

/**
 * Limits depend on how much is free (dynamic thresholds), so a lone workload may use most of the pool, and the busier the others are, the
 * smaller is each part. Quick work may use all connections but a reserve; whoever has none may have the last one.
 */
export function createFairQueue({ connections, patience }: FairQueueOptions): FairQueue {
  const reserve = Math.floor(connections / 4)
  const lines = createLines()
  const queued = createChain<Group>()
  const arrivals = createChain<Waiter>()
  let used = 0
  let timer: NodeJS.Timeout | undefined
  const admission = createAdmission(connections, () => arrivals.length > 0 && used === connections)

  function mayTake({ held, time }: Line | Group, share: number): boolean {
    const free = connections - used
    return held === 0 || (free > reserve && (time < QUICK || held < share * free))
  }

  function permits(line: Line): boolean {
    const { group, outer } = line
    if (outer && line.held > 0) return false
    return admits(group) && (!group.limited || mayTake(outer ?? line, LINE_SHARE))
  }

  function admits(group: Group): boolean {
    return !group.limited || mayTake(group, GROUP_SHARE)
  }

  function hold(line: Line, count: 1 | -1): void {
    used += count
    line.held += count
    line.group.held += count
    if (line.outer) line.outer.held += count
  }

  function wait(line: Line, turn: Turn, follows: boolean): () => void {
    const { group } = line
    const waiters = (line.waiters ??= createChain())
    const room = 2 * admission.places() - arrivals.length
    if (!follows && group.waiting >= MIN_WAITING && (group.waiting >= room || 4 * waiters.length >= 3 * room)) {
      lines.forgetIfIdle(line)
      throw admission.refuse()
    }
    admission.push()
    group.waiting += 1
    const waiter: Waiter = { line, turn, since: performance.now(), place: undefined, arrival: undefined }
    waiter.place = append(waiters, waiter)
    waiter.arrival = append(arrivals, waiter)
    settle(line)
    timer ??= setInterval(expire, BETWEEN).unref()
    return () => {
      if (!waiter.place) return
      takeOut(waiter)
      lines.forgetIfIdle(line)
    }
  }

  function takeOut(waiter: Waiter): void {
    const { line } = waiter
    waiter.place = remove(waiter.place)
    waiter.arrival = remove(waiter.arrival)
    line.group.waiting -= 1
    settle(line)
    admission.leave()
  }

  /** Puts a line, its outer line and its group at the end of their queues when they become ready, and takes them out when they no longer are. */
  function settle(line: Line): void {
    const { group, outer = line } = line
    const isReady = hasWaiters(line) && (outer === line || line.held === 0)
    line.place = isReady ? (line.place ?? append((outer.ready ??= createChain()), line)) : remove(line.place)
    outer.queued = outer.ready?.first ? (outer.queued ?? append(group.queue, outer)) : remove(outer.queued)
    group.queued = group.queue.length > 0 ? (group.queued ?? append(queued, group)) : remove(group.queued)
  }

  /** Moves a line, and those that it belongs to, behind all others that are ready. */
  function moveToEnd(line: Line): void {
    const { group, outer = line } = line
    line.place = remove(line.place)
    outer.queued = remove(outer.queued)
    group.queued = remove(group.queued)
    settle(line)
  }

  /**
   * Of the resources with ready lines that may go on, the one with the fewest connections; of its lines, the next in turn. Only what has
   * connections may be passed over, so it takes a look at each connection at most, however much waits.
   */
  function choose(): Line | undefined {
    let chosen: Line | undefined
    for (let at = queued.first; at && chosen?.group.held !== 0; at = at.after) {
      if (chosen && chosen.group.held <= at.value.held) continue
      chosen = nextIn(at.value) ?? chosen
    }
    return chosen
  }

  function nextIn(group: Group): Line | undefined {
    if (!admits(group)) return undefined
    for (let at = group.queue.first; at; at = at.after) {
      const line = at.value.ready?.first?.value
      if (line && permits(line)) return line
    }
    return undefined
  }

  function dispatch(): void {
    while (used < connections && arrivals.length > 0) {
      const line = choose()
      const waiter = line?.waiters?.first?.value
      if (!waiter) return admission.rest()
      hold(waiter.line, 1)
      takeOut(waiter)
      moveToEnd(waiter.line)
      waiter.turn(null, waiter.line)
    }
  }

  function expire(): void {
    const before = performance.now() - patience
    for (let next = arrivals.first?.value; next && next.since < before; next = arrivals.first?.value) {
      const { line, turn } = next
      takeOut(next)
      turn(tooLate(line), line)
      lines.forgetIfIdle(line)
    }
    if (arrivals.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    enter(work, turn) {
      const line = lines.find(work)
      if (hasWaiters(line) || used >= connections || !permits(line)) return wait(line, turn, work.follows === true)
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
      // The next change of a record may go on.
      if (hasWaiters(line)) settle(line)
      if (arrivals.length > 0) dispatch()
      lines.forgetIfIdle(line)
    },
    waiting: () => arrivals.length,
    refused: () => admission.refused(),
  }
}

function tooLate({ outer, held }: Line): Problem {
  const detail = outer && held > 0 ? 'The database is busy with other changes' : 'The database has too much to do'
  return new Problem('unavailable', detail, { headers: { 'Retry-After': '1' } })
}
