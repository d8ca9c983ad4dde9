import type { Connection, Database } from '../../db/database.js'

/** A session that holds a lock for which the migration waits. */
export interface Blocker {
  readonly pid: string
  readonly application: string
  /** `active`, or `idle in transaction`; undefined if the migrator may not see it. */
  readonly state: string | undefined
  /** How long ago its last statement began, in seconds; undefined if the migrator may not see it. */
  readonly seconds: number | undefined
}

/** The progress of a migration. */
export interface MigrationProgress {
  readonly statement: number
  readonly of: number
  /** The progress of an index build: its phase, and the fraction that is done, from 0 to 1. */
  readonly index?: { readonly phase: string; readonly part: number } | undefined
}

/** Reports of a running migration. */
export interface WatchReports {
  /** Called before a statement is tried again because its lock was not available. */
  readonly onBlocked?: ((blockers: readonly Blocker[]) => void) | undefined
  readonly onProgress?: ((progress: MigrationProgress) => void) | undefined
}

/** Observes the session of a migrator from another connection. */
export interface Watch {
  /** Begins to observe the session. */
  follow(session: Connection): Promise<void>
  /** Sets and reports the statement that runs now. */
  at(progress: MigrationProgress): void
  /** Returns the sessions that the migrator last waited for, and reports them. */
  blocked(): readonly Blocker[]
  stop(): void
}

const INTERVAL_MS = 200

const OBSERVED = `
  select a.pid::text, coalesce(nullif(a.application_name, ''), nullif(a.backend_type, 'client backend')), a.state, extract(epoch from now() - a.query_start)::int::text, null, null, null
  from pg_stat_activity a where a.pid = any(pg_blocking_pids($1::int))
  union all
  select null, null, null, null, command, phase,
    (case when blocks_total > 0 then blocks_done::float8 / blocks_total when tuples_total > 0 then tuples_done::float8 / tuples_total else 0 end)::text
  from pg_stat_progress_create_index where pid = $1::int`

/** The long phases of an index, in order; the last three only with `concurrently`. */
const PHASES = [
  'building index: scanning table',
  'building index: sorting live tuples',
  'building index: loading tuples in tree',
  'index validation: scanning index',
  'index validation: sorting tuples',
  'index validation: scanning table',
]
const BUILDING = PHASES.slice(0, 3)

/** The fraction of an index build that is done; `ofPhase` is that of the current phase. Other index methods have building phases of their own; any other phase is brief or waits for sessions. */
export function partOfIndex(command: string, phase: string, ofPhase: number): number {
  const { length } = command.endsWith(' CONCURRENTLY') ? PHASES : BUILDING
  const place = PHASES.indexOf(phase)
  if (place >= 0) return (place + Math.min(1, ofPhase)) / length
  return phase.startsWith('building index') ? (BUILDING.length * Math.min(1, ofPhase)) / length : 0
}

/** Observes migrations on a database with several connections; on others, only the statements are reported. */
export function startWatch(database: Database, { onBlocked, onProgress }: WatchReports): Watch {
  const canObserve = database.concurrent && database.usage().max > 1
  let pid: string | undefined
  let current: MigrationProgress = { statement: 1, of: 1 }
  let part = 0
  let blockers: readonly Blocker[] = []
  let isAsking = false
  const ask = async () => {
    if (pid === undefined || isAsking) return
    isAsking = true
    try {
      const observed = current
      const { rows } = await database.query({ text: OBSERVED, values: [pid] })
      const found = rows.flatMap(([id, application, state, seconds]) =>
        id
          ? [
              {
                pid: id,
                application: application ?? '',
                state: state ?? undefined,
                seconds: seconds ? Number(seconds) : undefined,
              },
            ]
          : [],
      )
      if (found.length > 0) blockers = found
      const [command, phase, ofPhase] = rows.find(([, , , , each]) => each)?.slice(4) ?? []
      // The answer is about an earlier statement.
      if (current !== observed) return
      // While the build waits for sessions, the part stays.
      if (command && phase) part = Math.max(part, partOfIndex(command, phase, Number(ofPhase)))
      onProgress?.({ ...current, index: phase ? { phase, part } : undefined })
    } catch {
      // The migration itself reports a lost or busy database.
    } finally {
      isAsking = false
    }
  }
  const timer = canObserve ? setInterval(() => void ask(), INTERVAL_MS) : undefined
  timer?.unref()
  return {
    async follow(session) {
      if (!canObserve) return
      const { rows } = await session.query({ text: 'select pg_backend_pid()::text', values: [] })
      pid = rows[0]?.[0] ?? undefined
    },
    at(progress) {
      current = progress
      part = 0
      onProgress?.(progress)
    },
    blocked() {
      onBlocked?.(blockers)
      return blockers
    },
    stop() {
      clearInterval(timer)
    },
  }
}

/** For work that nobody observes. */
export const UNWATCHED: Watch = { follow: async () => {}, at: () => {}, blocked: () => [], stop: () => {} }

/** `session 4711 (psql), idle in transaction, its last statement began 12 s ago`. */
export function describeBlocker({ pid, application, state, seconds }: Blocker): string {
  const parts = [
    `session ${pid}${application === '' ? '' : ` (${application})`}`,
    ...(state === undefined ? [] : [state]),
    ...(seconds === undefined ? [] : [`its last statement began ${seconds} s ago`]),
  ]
  return parts.join(', ')
}
