import { Problem } from '../../foundation/problem.js'
import type { Database, Result, Statement } from '../database.js'
import { withParts } from '../wrap.js'

const POSITION: Statement = {
  text: 'select pg_current_wal_lsn()',
  values: [],
  name: 'replica_position',
  retry: true,
  quick: true,
  // A replica is most needed while the primary is overloaded.
  follows: true,
}
const REPLAYED = 'select pg_last_wal_replay_lsn() >= $1::text::pg_lsn'

/** How often the replica's lag is checked within the bound. */
const CHECKS_PER_BOUND = 4

interface ReplicaOptions {
  readonly primary: Database
  readonly replica: Database
  /** The maximum lag of the replica, in ms. */
  readonly bound: number
}

/**
 * Returns the primary with `reads`, which go to the replica while its lag is known to be within the bound, and otherwise, or if the replica fails, to
 * the primary.
 */
export function withReplica({ primary, replica, bound }: ReplicaOptions): Database {
  const freshness = watchFreshness({ primary, replica, bound })

  const read = async (statement: Statement): Promise<Result> => {
    if (!statement.retry || statement.locks || !freshness.holds()) return primary.query(statement)
    try {
      return await replica.query(statement)
    } catch (error) {
      // A statement that was too slow on the replica would be as slow on the primary.
      if (error instanceof Problem && error.type === 'timeout') throw error
      return primary.query(statement)
    }
  }

  const close = async (): Promise<void> => {
    freshness.stop()
    await Promise.all([primary.close(), replica.close()])
  }
  return withParts(primary, {
    description: `${primary.description}; reads from ${replica.description}`,
    reads: { query: read },
    close,
  })
}

interface Freshness {
  /** Whether the replica has everything that was committed at least `bound` milliseconds ago. */
  readonly holds: () => boolean
  readonly stop: () => void
}

/**
 * Queries the end of the primary's log, then whether the replica has replayed it: if so, it has everything that was committed before the first query.
 * This compares no clocks of different machines, and starts with the first read.
 */
function watchFreshness({ primary, replica, bound }: ReplicaOptions): Freshness {
  let asOf = -Infinity
  let timer: NodeJS.Timeout | undefined
  let isWatching = false
  let stopped = false

  const check = async (): Promise<void> => {
    const begun = performance.now()
    try {
      const position = (await primary.query(POSITION)).rows[0]?.[0] ?? null
      const { rows } = await replica.query({
        text: REPLAYED,
        values: [position],
        name: 'replica_replayed',
        retry: true,
        follows: true,
      })
      if (rows[0]?.[0] === 't') asOf = begun
    } catch {
      // One of them is unavailable. The bound expires, and reads go to the primary.
    }
    if (!stopped) timer = setTimeout(() => void check(), bound / CHECKS_PER_BOUND).unref()
  }

  return {
    holds: () => {
      if (!isWatching) void check()
      isWatching = true
      return performance.now() - asOf < bound
    },
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}
