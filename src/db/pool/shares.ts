import type { QueueGroup, WorkQueue } from './work-queues.js'

/** How many connections of a pool work may hold. */
export interface Shares {
  isFull(): boolean
  /** Whether the group of a queue, its statement and its record may hold another connection. */
  permits(queue: WorkQueue): boolean
  /** Whether a group may hold another connection. */
  admits(group: QueueGroup): boolean
  take(queue: WorkQueue): void
  release(queue: WorkQueue): void
}

/** Work that holds connections for less time, in ms, is quick: others hardly notice it. */
const QUICK_MS = 50
/** The connections that slow work may hold for each free one. */
const GROUP_SHARE = 2
const QUEUE_SHARE = 1

/**
 * The limits depend on the number of free connections (dynamic thresholds): work on its own may use most of the pool, and less of it the busier the
 * others are. Quick work may use all connections but a reserve. Work without a connection may take the last one.
 */
export function createShares(connections: number): Shares {
  const reserve = Math.floor(connections / 4)
  let used = 0

  const mayTake = ({ held, time }: WorkQueue | QueueGroup, share: number): boolean => {
    const free = connections - used
    return held === 0 || (free > reserve && (time < QUICK_MS || held < share * free))
  }

  const admits = (group: QueueGroup): boolean => !group.limited || mayTake(group, GROUP_SHARE)

  const hold = (queue: WorkQueue, count: 1 | -1): void => {
    used += count
    queue.held += count
    queue.group.held += count
    if (queue.parent) queue.parent.held += count
  }

  return {
    isFull: () => used >= connections,
    permits: (queue) => {
      const { group, parent } = queue
      if (parent && queue.held > 0) return false
      return admits(group) && (!group.limited || mayTake(parent ?? queue, QUEUE_SHARE))
    },
    admits,
    take: (queue) => hold(queue, 1),
    release: (queue) => hold(queue, -1),
  }
}
