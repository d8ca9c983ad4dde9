import { expect } from '@jest/globals'
import type { QueueKey } from '../../src/db/database.js'
import { createFairQueue } from '../../src/db/pool/fair-queue.js'
import type { WorkQueue } from '../../src/db/pool/work-queues.js'

type Work = QueueKey & { readonly follows?: boolean }

/** A queue for connections, and the work that entered it, by its names. */
export function startFairQueue(connections: number, patience: number) {
  const queue = createFairQueue({ connections, patience })
  /** The names of the work that has got a connection, or the reason for having none, in order. */
  const turns: string[] = []
  const granted = new Map<string, WorkQueue>()

  const enter = (work: string, key: Work): (() => void) | undefined =>
    queue.enter(key, (problem, of) => {
      turns.push(problem ? `${work}: ${problem.message}` : work)
      if (!problem) granted.set(work, of)
    })
  const leave = (work: string, time?: number): void => {
    const of = granted.get(work)
    if (!of) throw new Error(`${work} has no connection`)
    granted.delete(work)
    queue.leave(of, time)
  }
  /** Ends the work that has had its connection for the longest time. */
  const leaveFirst = (): void => leave([...granted.keys()][0] ?? '')
  /** Enters the same work several times; returns how often it got a connection at once. */
  const enterMany = (count: number, key: Work): number => {
    const before = turns.length
    for (let at = 1; at <= count; at += 1) enter(`${key.resource ?? ''}${key.name ?? ''}${key.record ?? ''}${at}`, key)
    return turns.length - before
  }
  /** Enters work until it is rejected; returns how much of it waits. */
  const waitingOf = (key: QueueKey): number => {
    const before = queue.waiting()
    expect(() => {
      for (let count = 0; count < 3_000; count += 1) enter('more', key)
    }).toThrow('The database is overloaded')
    return queue.waiting() - before
  }
  return { queue, turns, granted, enter, leave, leaveFirst, enterMany, waitingOf }
}
