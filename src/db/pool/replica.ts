import { Problem } from '../../foundation/problem.js'
import type { Database, ReplicaChange, ReplicaUse, Result, Statement } from '../database.js'
import { withParts } from '../wrap.js'

/** The end of the primary's log, and whether a position is beyond it. */
const POSITION: Omit<Statement, 'values'> = {
  text: 'select pg_current_wal_lsn(), pg_current_wal_lsn() < $1::text::pg_lsn',
  name: 'replica_position',
  retry: true,
  quick: true,
  // A replica is most needed while the primary is overloaded.
  follows: true,
}
/** Whether a replica has replayed a position, and what it has replayed. A promoted one keeps the last position that it has replayed. */
const REPLAYED = `select replayed >= $1::text::pg_lsn, replayed
  from (select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() end as replayed) as replica`

/** How often the replica's lag is checked within the bound. */
const CHECKS_PER_BOUND = 4

const NOT_A_REPLICA = 'the server is not a replica'
const AHEAD = 'the replica has changes that the primary lacks'

type Cell = string | null | undefined

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
    replica: { isUsed: freshness.isUsed, onChange: freshness.onChange },
    close,
  })
}

interface Freshness {
  /** Whether the replica has everything that was committed at least `bound` milliseconds ago. The first call begins to watch it. */
  readonly holds: () => boolean
  readonly isUsed: ReplicaUse['isUsed']
  readonly onChange: ReplicaUse['onChange']
  readonly stop: () => void
}

/**
 * Queries the end of the primary's log, then whether the replica has replayed it: if so, it has everything that was committed before the first query.
 * Unless it has replayed more than the primary has written since: after a failover to an older copy, the primary's log is another one.
 * This compares no clocks of different machines, and starts with the first read.
 */
function watchFreshness({ primary, replica, bound }: ReplicaOptions): Freshness {
  let asOf = -Infinity
  /** The position that the replica had replayed at the last measurement. */
  let replayed: Cell
  let timer: NodeJS.Timeout | undefined
  /** When the first read came. */
  let since: number | undefined
  let stopped = false
  let reported = true
  let report: (change: ReplicaChange) => void = () => {}
  const isHeld = () => performance.now() - asOf < bound
  /** While the primary is written to, the first comparisons may not find a moment at which both are equal. */
  const isKnown = () => since !== undefined && (isHeld() || performance.now() - since >= bound)

  const note = (change: NonNullable<ReplicaChange>): void => {
    if (stopped || reported === isHeld() || !(isKnown() || change.cause)) return
    reported = !reported
    report(reported ? undefined : change)
  }

  const askPrimary = async () => {
    const [position, isBehind] = (await primary.query({ ...POSITION, values: [replayed ?? null] })).rows[0] ?? []
    return { position: position ?? null, isBehind: isBehind === 't' }
  }

  const askReplica = async (position: Cell) => {
    const statement = { text: REPLAYED, name: 'replica_replayed', retry: true, follows: true }
    const [isCurrent, at] = (await replica.query({ ...statement, values: [position ?? null] })).rows[0] ?? []
    replayed = at
    return isCurrent ?? null
  }

  const compare = async (): Promise<void> => {
    const begun = performance.now()
    const isFirst = replayed === undefined
    const { position, isBehind } = await askPrimary()
    let isCurrent: Cell
    try {
      isCurrent = await askReplica(position)
    } catch (cause) {
      replayed = undefined
      return note({ reason: 'the replica is unavailable', cause })
    }
    const isAhead = isFirst && isCurrent === 't' ? (await askPrimary()).isBehind : isBehind
    if (isCurrent === 't' && !isAhead) asOf = begun
    note({
      reason: isAhead ? AHEAD : isCurrent === null ? NOT_A_REPLICA : `the replica is more than ${bound} ms behind`,
    })
  }

  const check = async (): Promise<void> => {
    // Without the primary, too, the bound expires; no read succeeds then.
    await compare().catch(() => {})
    if (!stopped) timer = setTimeout(() => void check(), bound / CHECKS_PER_BOUND).unref()
  }

  return {
    holds: () => {
      if (since === undefined) {
        since = performance.now()
        void check()
      }
      return isHeld()
    },
    isUsed: () => (isKnown() ? isHeld() : undefined),
    onChange: (callback) => {
      report = callback
    },
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}
