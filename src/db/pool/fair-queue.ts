import { Problem } from '../../problem.js'
import { createAdmission } from './admission.js'
import { append, createLinkedList, remove } from '../../linked-list.js'
import type { QueueKey } from '../database.js'
import {
  createWorkQueues,
  type QueueGroup,
  hasWaiters,
  learn,
  type WorkQueue,
  type Turn,
  type Waiter,
} from './work-queues.js'

/** Grants the connections of a pool so that no resource, statement or record takes all of them, nor the whole queue. */
export interface FairQueue {
  /**
   * Grants a connection: at once if the limits permit it, otherwise later.
   * @returns for work that waits, a function that removes it from the queue
   * @throws Problem `unavailable` if the queue is full; never for work that `follows` granted work
   */
  enter(work: QueueKey & { readonly follows?: boolean }, turn: Turn): (() => void) | undefined
  /** Returns a granted connection, used for `time` milliseconds; without a time, nothing is learned about the work. */
  leave(granted: WorkQueue, time?: number): void
  waiting(): number
  rejected(): number
}

interface FairQueueOptions {
  readonly connections: number
  /** Milliseconds after which waiting work is rejected. */
  readonly patience: number
}

/** Work that holds connections for less time, in ms, is quick: others hardly notice it. */
const QUICK_MS = 50
/** The connections that slow work may hold for each free one. */
const GROUP_SHARE = 2
const QUEUE_SHARE = 1
const CHECK_INTERVAL_MS = 50
/** Rejections in one turn of the event loop; of hundreds that have waited equally long, the rest follow after other requests had their turn. */
const MAX_REJECTED_AT_ONCE = 16
/** How much work of a resource may always wait, even while other work fills the queue. */
const MIN_WAITING = 4

/**
 * The limits depend on the number of free connections (dynamic thresholds): work on its own may use most of the pool, and less of it the busier the
 * others are. Quick work may use all connections but a reserve. Work without a connection may take the last one.
 */
export function createFairQueue({ connections, patience }: FairQueueOptions): FairQueue {
  const reserve = Math.floor(connections / 4)
  const queues = createWorkQueues()
  const readyGroups = createLinkedList<QueueGroup>()
  const arrivals = createLinkedList<Waiter>()
  let used = 0
  let timer: NodeJS.Timeout | undefined
  const admission = createAdmission(connections, () => arrivals.length > 0 && used === connections)

  function mayTake({ held, time }: WorkQueue | QueueGroup, share: number): boolean {
    const free = connections - used
    return held === 0 || (free > reserve && (time < QUICK_MS || held < share * free))
  }

  function permits(queue: WorkQueue): boolean {
    const { group, parent } = queue
    if (parent && queue.held > 0) return false
    return admits(group) && (!group.limited || mayTake(parent ?? queue, QUEUE_SHARE))
  }

  function admits(group: QueueGroup): boolean {
    return !group.limited || mayTake(group, GROUP_SHARE)
  }

  function hold(queue: WorkQueue, count: 1 | -1): void {
    used += count
    queue.held += count
    queue.group.held += count
    if (queue.parent) queue.parent.held += count
  }

  function wait(queue: WorkQueue, turn: Turn, follows: boolean): () => void {
    const { group } = queue
    const waiters = (queue.waiters ??= createLinkedList())
    const room = 2 * admission.limit() - arrivals.length
    if (!follows && group.waiting >= MIN_WAITING && (group.waiting >= room || 4 * waiters.length >= 3 * room)) {
      queues.forgetIfIdle(queue)
      throw admission.reject()
    }
    admission.acquireUnchecked()
    group.waiting += 1
    const waiter: Waiter = { queue, turn, since: performance.now(), place: undefined, arrival: undefined }
    waiter.place = append(waiters, waiter)
    waiter.arrival = append(arrivals, waiter)
    updateReady(queue)
    timer ??= setInterval(expire, CHECK_INTERVAL_MS).unref()
    return () => {
      if (!waiter.place) return
      takeOut(waiter)
      queues.forgetIfIdle(queue)
    }
  }

  function takeOut(waiter: Waiter): void {
    const { queue } = waiter
    waiter.place = remove(waiter.place)
    waiter.arrival = remove(waiter.arrival)
    queue.group.waiting -= 1
    updateReady(queue)
    admission.release()
  }

  /** Adds a queue, its parent and its group to the ends of the ready lists if they become ready, and removes them if they no longer are. */
  function updateReady(queue: WorkQueue): void {
    const { group, parent = queue } = queue
    const isReady = hasWaiters(queue) && (parent === queue || queue.held === 0)
    queue.place = isReady ? (queue.place ?? append((parent.ready ??= createLinkedList()), queue)) : remove(queue.place)
    parent.node = parent.ready?.first ? (parent.node ?? append(group.readyQueues, parent)) : remove(parent.node)
    group.node = group.readyQueues.length > 0 ? (group.node ?? append(readyGroups, group)) : remove(group.node)
  }

  /** Moves a queue, its parent and its group to the ends of the ready lists. */
  function moveToEnd(queue: WorkQueue): void {
    const { group, parent = queue } = queue
    queue.place = remove(queue.place)
    parent.node = remove(parent.node)
    group.node = remove(group.node)
    updateReady(queue)
  }

  /**
   * Chooses the resource with the fewest connections, and its next ready queue. Only resources that hold connections are ever skipped, so the loop is
   * bounded by the number of connections, not by the length of the queue.
   */
  function choose(): WorkQueue | undefined {
    let chosen: WorkQueue | undefined
    for (let at = readyGroups.first; at && chosen?.group.held !== 0; at = at.after) {
      if (chosen && chosen.group.held <= at.value.held) continue
      chosen = nextIn(at.value) ?? chosen
    }
    return chosen
  }

  function nextIn(group: QueueGroup): WorkQueue | undefined {
    if (!admits(group)) return undefined
    for (let at = group.readyQueues.first; at; at = at.after) {
      const queue = at.value.ready?.first?.value
      if (queue && permits(queue)) return queue
    }
    return undefined
  }

  function dispatch(): void {
    while (used < connections && arrivals.length > 0) {
      const queue = choose()
      const waiter = queue?.waiters?.first?.value
      if (!waiter) return admission.skipSample()
      hold(waiter.queue, 1)
      takeOut(waiter)
      moveToEnd(waiter.queue)
      waiter.turn(null, waiter.queue)
    }
  }

  /** Rejects work that has waited for too long. All work waits in the order in which it came. */
  function expire(): void {
    const before = performance.now() - patience
    for (let count = 0; count < MAX_REJECTED_AT_ONCE; count += 1) {
      const next = arrivals.first?.value
      if (!next || next.since >= before) return stopWhenEmpty()
      takeOut(next)
      next.turn(tooLate(next.queue), next.queue)
      queues.forgetIfIdle(next.queue)
    }
    setImmediate(expire)
  }

  function stopWhenEmpty(): void {
    if (arrivals.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    enter(work, turn) {
      const queue = queues.find(work)
      if (hasWaiters(queue) || used >= connections || !permits(queue)) return wait(queue, turn, work.follows === true)
      hold(queue, 1)
      turn(null, queue)
      return undefined
    },
    leave(queue, time) {
      hold(queue, -1)
      if (time !== undefined) {
        learn(queue.parent ?? queue, time)
        learn(queue.group, time)
      }
      // The next writer of this record may now run.
      if (hasWaiters(queue)) updateReady(queue)
      if (arrivals.length > 0) dispatch()
      queues.forgetIfIdle(queue)
    },
    waiting: () => arrivals.length,
    rejected: () => admission.rejected(),
  }
}

function tooLate({ parent, held }: WorkQueue): Problem {
  const detail = parent && held > 0 ? 'The database is busy with other changes' : 'The database is overloaded'
  return new Problem('unavailable', detail, { headers: { 'Retry-After': '1' } })
}
