import { Problem } from '../../problem.js'
import type { Database, Result, Statement } from '../database.js'
import { withParts } from '../wrap.js'

const POSITION: Statement = {
  text: 'select pg_current_wal_lsn()',
  values: [],
  name: 'replica_position',
  retry: true,
  quick: true,
}
const REPLAYED = 'select pg_last_wal_replay_lsn() >= $1::text::pg_lsn'

/** How often within the bound the replica is looked at. */
const LOOKS = 4

interface ReplicaOptions {
  readonly primary: Database
  readonly replica: Database
  /** Milliseconds by which the replica may be behind. */
  readonly bound: number
}

/**
 * The primary, with a way to it for reads that may be answered by its replica: while that one is known to have all that was
 * committed `bound` milliseconds ago, and otherwise, or when it fails, by the primary.
 */
export function withReplica({ primary, replica, bound }: ReplicaOptions): Database {
  const freshness = watchFreshness({ primary, replica, bound })

  async function read(statement: Statement): Promise<Result> {
    if (!statement.retry || statement.locks || !freshness.holds()) return primary.query(statement)
    try {
      return await replica.query(statement)
    } catch (error) {
      // What took too long there would take as long again.
      if (error instanceof Problem && error.type === 'timeout') throw error
      return primary.query(statement)
    }
  }

  async function close(): Promise<void> {
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
  /** Whether the replica has all that was committed before the last `bound` milliseconds. */
  readonly holds: () => boolean
  readonly stop: () => void
}

/**
 * Asks the primary where its log ends, and the replica whether it is there too: then it has all that was committed before the
 * first question. No clock of another machine takes part, and nothing is asked before somebody reads.
 */
function watchFreshness({ primary, replica, bound }: ReplicaOptions): Freshness {
  let asOf = -Infinity
  let timer: NodeJS.Timeout | undefined
  let begunLooking = false
  let stopped = false

  async function look(): Promise<void> {
    const begun = performance.now()
    try {
      const position = (await primary.query(POSITION)).rows[0]?.[0] ?? null
      const { rows } = await replica.query({
        text: REPLAYED,
        values: [position],
        name: 'replica_replayed',
        retry: true,
      })
      if (rows[0]?.[0] === 't') asOf = begun
    } catch {
      // Whichever is away: nothing is known, so that the bound passes and the primary is read.
    }
    if (!stopped) timer = setTimeout(() => void look(), bound / LOOKS).unref()
  }

  return {
    holds: () => {
      if (!begunLooking) void look()
      begunLooking = true
      return performance.now() - asOf < bound
    },
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}
