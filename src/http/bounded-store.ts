import type { Store } from '../db/records/store.js'
import type { ListPlan, Row } from '../resource/plan.js'
import type { LargeReads } from './connections/large-reads.js'
import type { SendBudget } from './connections/send-budget.js'

/** How much of an estimate remains after a shorter list: one long record must not make every later list look long. */
const DECAY = 0.95

/**
 * Wraps stores of the same records so that their lists wait for room in the send budget, and for other large lists, before they query the
 * database. `measure` returns the bytes of a page.
 */
export function boundStores<Items>(
  budget: SendBudget,
  largeReads: LargeReads,
  measure: (items: Items) => number,
): <Item>(store: Store<Item, Items>) => Store<Item, Items> {
  // The longest recent records and pages; the next ones may be as long. Undefined before the first list.
  let row: number | undefined
  let page: number | undefined
  const estimate = (limit: number | undefined): number => {
    const bytes = limit === undefined || row === undefined ? page : limit * row
    // Plugins may pass an invalid limit; the database rejects it.
    return bytes !== undefined && bytes >= 0 ? Math.min(budget.largestShare, bytes) : budget.largestShare
  }
  const learn = (items: Items, length: number): void => {
    const bytes = measure(items)
    // An empty page says nothing about records, but it does say that lists of an empty table are short.
    if (length > 0) row = Math.max((row ?? 0) * DECAY, bytes / length)
    page = Math.max((page ?? 0) * DECAY, bytes)
  }

  return (store) => {
    const list = async (plan: ListPlan) => {
      const room = estimate(plan.limit)
      const waiting = budget.reserve(room)
      if (waiting) await waiting
      try {
        const found = await largeReads.run(room, () => store.list(plan))
        learn(found.items, found.length)
        return found
      } finally {
        // From here on the response itself is counted.
        budget.release(room)
      }
    }

    async function* batches(size: number): AsyncGenerator<Items, void> {
      const inner = store.batches(size)[Symbol.asyncIterator]()
      for (;;) {
        const room = estimate(size)
        const waiting = budget.reserve(room)
        if (waiting) await waiting
        // A batch is held until its reader requests the next one or stops.
        try {
          const { done, value } = await largeReads.run(room, () => inner.next())
          if (done) return
          learn(value, size)
          yield value
        } finally {
          budget.release(room)
        }
      }
    }

    // Written out without a spread, because it runs for every request of a caller whom grants limit.
    return {
      list,
      batches,
      retrieve: store.retrieve,
      lock: store.lock,
      mayRun: store.mayRun,
      covering: store.covering,
      create: store.create,
      createMany: store.createMany,
      retrieveMany: store.retrieveMany,
      lockMany: store.lockMany,
      destroyMany: store.destroyMany,
      update: store.update,
      destroy: store.destroy,
      take: store.take,
    }
  }
}

/** Measures pages of documents. */
export function lengthOfText(items: Uint8Array): number {
  return items.length
}

/** Measures pages of rows. */
export function lengthOfRows(rows: readonly Row[]): number {
  const lengthOf = (value: unknown): number => (typeof value === 'string' ? value.length : VALUE)
  return rows.reduce((sum, row) => sum + Object.values(row).reduce((part: number, each) => part + lengthOf(each), 0), 0)
}

/** The approximate size of a value other than text, in bytes. */
const VALUE = 32
