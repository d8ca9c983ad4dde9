import { type LinkedList, createLinkedList, type ListNode } from '../../foundation/linked-list.js'
import type { QueueKey } from '../database.js'
import type { Problem } from '../../foundation/problem.js'

/** A first-in, first-out queue for the work of one statement, one route or one record. */
export interface WorkQueue {
  readonly group: QueueGroup
  readonly key: string
  /** For the queue of a record: the queue of its statement or route. A record never gets a second connection. */
  readonly parent: WorkQueue | undefined
  /** For the queue of a statement or route: how many queues of records have it as their parent. */
  children: number
  /** Connections in use. */
  held: number
  /** Moving average of the milliseconds that work uses a connection. */
  time: number
  /** Created for the first waiter, because most queues of records never have one. */
  waiters: LinkedList<Waiter> | undefined
  /** For the queue of a statement or route: itself and the queues of its records that are ready. Created when one of them is. */
  ready: LinkedList<WorkQueue> | undefined
  /** Its position in the parent's ready list. */
  place: ListNode<WorkQueue> | undefined
  /** Its position in the group's ready list; only queues of statements and routes have one. */
  node: ListNode<WorkQueue> | undefined
}

/** The queues of one resource, or of one hand-written route. */
export interface QueueGroup {
  readonly queues: Map<string, WorkQueue>
  readonly records: Map<string, WorkQueue>
  /** Queues of statements and routes that have ready queues. Every ready list has the least recently served first. */
  readonly readyQueues: LinkedList<WorkQueue>
  /** Work of the process itself is not limited. */
  readonly limited: boolean
  held: number
  waiting: number
  time: number
  /** Its position among the groups with ready queues. */
  node: ListNode<QueueGroup> | undefined
}

export interface Waiter {
  readonly queue: WorkQueue
  readonly turn: Turn
  readonly since: number
  /** Its positions in its queue and among all waiters; undefined when it no longer waits. */
  place: ListNode<Waiter> | undefined
  arrival: ListNode<Waiter> | undefined
}

/** Called once: with the queue to release later, or with the reason for having no connection. */
export type Turn = (problem: Problem | null, granted: WorkQueue) => void

/** Unknown work does not count as quick. */
const UNKNOWN = 200
const WEIGHT = 1 / 8
/** The number of empty queues that each resource keeps for their statistics. */
const MAX_IDLE = 100

/** The queues of all work that waits or runs, with the statistics of earlier work. */
export function createWorkQueues() {
  const groups = new Map<string | undefined, QueueGroup>()

  const groupFor = (name: string | undefined): QueueGroup => {
    const known = groups.get(name)
    if (known) return known
    const limited = name !== undefined
    const [queues, records, readyQueues] = [
      new Map<string, WorkQueue>(),
      new Map<string, WorkQueue>(),
      createLinkedList<WorkQueue>(),
    ]
    const group = { queues, records, readyQueues, limited, held: 0, waiting: 0, time: UNKNOWN, node: undefined }
    groups.set(name, group)
    return group
  }

  const find = ({ resource, record, name = '' }: QueueKey): WorkQueue => {
    const group = groupFor(resource)
    if (record === undefined) return group.queues.get(name) ?? newQueue({ group, queues: group.queues, key: name })
    const known = group.records.get(record)
    if (known) return known
    const parent = find({ resource, name })
    parent.children += 1
    return newQueue({ group, queues: group.records, key: record, parent })
  }

  /** Queues of records are dropped at once; queues of statements are kept for their statistics. */
  const forgetIfIdle = (queue: WorkQueue): void => {
    const { group, key, parent, held, children } = queue
    const queues = parent ? group.records : group.queues
    if (held > 0 || hasWaiters(queue) || children > 0 || queues.get(key) !== queue) return
    if (!parent && queues.size <= MAX_IDLE) return
    queues.delete(key)
    if (!parent) return
    parent.children -= 1
    forgetIfIdle(parent)
  }

  return { find, forgetIfIdle }
}

interface NewQueue extends Pick<WorkQueue, 'group' | 'key'> {
  readonly queues: Map<string, WorkQueue>
  readonly parent?: WorkQueue
}

function newQueue({ group, key, queues, parent }: NewQueue): WorkQueue {
  const queue: WorkQueue = {
    group,
    key,
    parent,
    children: 0,
    held: 0,
    time: UNKNOWN,
    waiters: undefined,
    ready: undefined,
    place: undefined,
    node: undefined,
  }
  queues.set(key, queue)
  return queue
}

export function hasWaiters({ waiters }: WorkQueue): boolean {
  return waiters !== undefined && waiters.length > 0
}

/** Updates the moving average with the milliseconds that a connection was used. */
export function learn(about: WorkQueue | QueueGroup, time: number): void {
  about.time += (time - about.time) * WEIGHT
}
