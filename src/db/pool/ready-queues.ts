import { append, createLinkedList, remove } from '../../foundation/linked-list.js'
import type { Shares } from './shares.js'
import { hasWaiters, type QueueGroup, type WorkQueue } from './work-queues.js'

/** The queues with work that could run, the least recently served first. */
export interface ReadyQueues {
  /** Adds a queue, its parent and its group to the ends of their lists if they become ready, and removes them if they no longer are. */
  update(queue: WorkQueue): void
  /** Moves a queue, its parent and its group to the ends of their lists. */
  moveToEnd(queue: WorkQueue): void
  /** Chooses the resource with the fewest connections, and its next queue that may take one. */
  choose(): WorkQueue | undefined
}

export function createReadyQueues({ admits, permits }: Pick<Shares, 'admits' | 'permits'>): ReadyQueues {
  const readyGroups = createLinkedList<QueueGroup>()

  const update = (queue: WorkQueue): void => {
    const { group, parent = queue } = queue
    const isReady = hasWaiters(queue) && (parent === queue || queue.held === 0)
    queue.place = isReady ? (queue.place ?? append((parent.ready ??= createLinkedList()), queue)) : remove(queue.place)
    parent.node = parent.ready?.first ? (parent.node ?? append(group.readyQueues, parent)) : remove(parent.node)
    group.node = group.readyQueues.length > 0 ? (group.node ?? append(readyGroups, group)) : remove(group.node)
  }

  const nextIn = (group: QueueGroup): WorkQueue | undefined => {
    if (!admits(group)) return undefined
    for (let at = group.readyQueues.first; at; at = at.after) {
      const queue = at.value.ready?.first?.value
      if (queue && permits(queue)) return queue
    }
    return undefined
  }

  return {
    update,
    moveToEnd: (queue) => {
      const { group, parent = queue } = queue
      queue.place = remove(queue.place)
      parent.node = remove(parent.node)
      group.node = remove(group.node)
      update(queue)
    },
    // Only resources that hold connections are ever skipped, so the loop is bounded by the number of connections, not by the length of the queue.
    choose: () => {
      let chosen: WorkQueue | undefined
      for (let at = readyGroups.first; at && chosen?.group.held !== 0; at = at.after) {
        if (chosen && chosen.group.held <= at.value.held) continue
        chosen = nextIn(at.value) ?? chosen
      }
      return chosen
    },
  }
}
