import { Problem } from '../../foundation/problem.js'
import { createAdmission } from './admission.js'
import { append, createLinkedList, remove } from '../../foundation/linked-list.js'
import type { QueueKey } from '../database.js'
import { createReadyQueues } from './ready-queues.js'
import { createShares } from './shares.js'
import { createWorkQueues, hasWaiters, learn, type Turn, type Waiter, type WorkQueue } from './work-queues.js'

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

const CHECK_INTERVAL_MS = 50
/** Rejections in one turn of the event loop; of hundreds that have waited equally long, the rest follow after other requests had their turn. */
const MAX_REJECTED_AT_ONCE = 16
/** How much work of a resource may always wait, even while other work fills the queue. */
const MIN_WAITING = 4

/** `createShares` limits how many connections work may hold, and `createReadyQueues` decides what runs next. */
export function createFairQueue({ connections, patience }: FairQueueOptions): FairQueue {
  const queues = createWorkQueues()
  const shares = createShares(connections)
  const ready = createReadyQueues(shares)
  const arrivals = createLinkedList<Waiter>()
  const admission = createAdmission(connections, () => arrivals.length > 0 && shares.isFull())
  let timer: NodeJS.Timeout | undefined

  const takeOut = (waiter: Waiter): void => {
    const { queue } = waiter
    waiter.place = remove(waiter.place)
    waiter.arrival = remove(waiter.arrival)
    queue.group.waiting -= 1
    ready.update(queue)
    admission.release()
  }

  /** Rejects work that has waited for too long. All work waits in the order in which it came. */
  const expire = (): void => {
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

  const stopWhenEmpty = (): void => {
    if (arrivals.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  const wait = (queue: WorkQueue, turn: Turn, follows: boolean): (() => void) => {
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
    ready.update(queue)
    timer ??= setInterval(expire, CHECK_INTERVAL_MS).unref()
    return () => {
      if (!waiter.place) return
      takeOut(waiter)
      queues.forgetIfIdle(queue)
    }
  }

  const dispatch = (): void => {
    while (!shares.isFull() && arrivals.length > 0) {
      const waiter = ready.choose()?.waiters?.first?.value
      if (!waiter) return admission.skipSample()
      shares.take(waiter.queue)
      takeOut(waiter)
      ready.moveToEnd(waiter.queue)
      waiter.turn(null, waiter.queue)
    }
  }

  return {
    enter(work, turn) {
      const queue = queues.find(work)
      if (hasWaiters(queue) || shares.isFull() || !shares.permits(queue))
        return wait(queue, turn, work.follows === true)
      shares.take(queue)
      turn(null, queue)
      return undefined
    },
    leave(queue, time) {
      shares.release(queue)
      if (time !== undefined) {
        learn(queue.parent ?? queue, time)
        learn(queue.group, time)
      }
      // The next writer of this record may now run.
      if (hasWaiters(queue)) ready.update(queue)
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
