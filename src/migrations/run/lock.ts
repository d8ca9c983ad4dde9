import { setTimeout as delay } from 'node:timers/promises'
import type { Connection, Database } from '../../db/database.js'
import { MigrationError } from '../files/error.js'
import { type Blocker, describeBlocker, UNWATCHED, type Watch } from './watch.js'
import { attempt, inTransaction, onOwnConnection, type Session, sqlState, useOwnSearchPath } from './session.js'

/** The key of the advisory lock that all migrators of a database share: "snip" and "mig" as numbers. */
const LOCK = '1936615792, 7170407'
const LOCK_TIMEOUT_MS = 60_000
const RETRY_INTERVAL_MS = 50
/** Work is tried again for a lock until this much time has passed, and three times at least. */
const TRY_AGAIN_FOR_MS = 30_000
const MIN_TRIES = 3
const MAX_PAUSE_MS = 2_000

const WITHIN = {
  statement_timeout: '0',
  transaction_timeout: '0',
  idle_in_transaction_session_timeout: '0',
}

/**
 * Limits how long a statement waits for a lock, because a pending lock blocks every later statement on the table: to less than the two seconds that
 * requests wait. PostgreSQL cancels an autovacuum only for sessions that have waited for `deadlock_timeout`, a second by default, so the limit is longer.
 */
const LIMIT_WAITS = `
  select set_config('lock_timeout', least(greatest(1000, setting::bigint + 500), 1900)::text, $1) from pg_settings where name = 'deadlock_timeout'`

/** Lets the server end the transaction of a killed migrator even while a statement runs. Servers on some platforms reject it. */
const CHECKED = { client_connection_check_interval: '500ms' }

/** `create index concurrently` waits for other transactions but blocks none, so it needs no lock timeout. */
const OUTSIDE = { ...WITHIN, lock_timeout: '0' }

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK = '40P01'

/** The transaction of the migrator that holds the lock. */
export interface MigratingSession extends Session {
  /**
   * Resets the role and settings that SQL has changed, for this transaction and the session: dumps of other tools set a search path and timeouts, but
   * the connection is reused for requests.
   */
  restoreSettings(): Promise<void>
}

/**
 * Runs `work` in a transaction as the only migrator of the database. The lock belongs to the transaction, so it is released even if the process
 * is killed. Work that waits too long for a table lock is rolled back, and tried again after a pause in which others get their turn.
 * @throws MigrationError if the database is read-only or another migrator works for more than 60 s, and the errors of `work`
 */
export function asOnlyMigrator<T>(
  database: Database,
  work: (session: MigratingSession) => Promise<T>,
  watch: Watch = UNWATCHED,
): Promise<T> {
  return tryAgain(watch, () =>
    inTransaction(database, async (session) => {
      const before = await readSettings(session)
      await rejectReadOnly(session)
      await takeLock(session, 'pg_try_advisory_xact_lock')
      await applySettings(session, WITHIN)
      await useOwnSearchPath(session)
      await session.query({ text: LIMIT_WAITS, values: ['true'] })
      await attempt(session, () => applySettings(session, CHECKED))
      await watch.follow(session)
      const restoreSettings = async () => {
        await restore(session, before)
        await useOwnSearchPath(session)
      }
      return work({ ...session, restoreSettings })
    }),
  )
}

async function tryAgain<T>(watch: Watch, work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      const state = sqlState(error)
      const isLate = performance.now() - began > TRY_AGAIN_FOR_MS && tries >= MIN_TRIES
      if ((state !== LOCK_NOT_AVAILABLE && state !== DEADLOCK) || error instanceof LockHeld) throw error
      const blockers = watch.blocked()
      if (isLate) throw state === DEADLOCK ? error : withBlockers(error, blockers)
      await delay(Math.min(200 * tries, MAX_PAUSE_MS))
    }
  }
}

function withBlockers(error: unknown, blockers: readonly Blocker[]): unknown {
  if (!(error instanceof MigrationError) || blockers.length === 0) return error
  const held = blockers.map((blocker) => `the lock is held by ${describeBlocker(blocker)}`)
  return new MigrationError(
    [...error.errors, ...held],
    ['End that session, or apply the migration when it has ended'],
    error.cause,
  )
}

/** Runs a statement outside a transaction, which blocks others for less than two seconds while it waits for its lock. */
export async function withLockTimeout(connection: Connection, watch: Watch, work: () => Promise<void>): Promise<void> {
  await connection.query({ text: LIMIT_WAITS, values: ['false'] })
  await tryAgain(watch, work)
  await applySettings(connection, { lock_timeout: OUTSIDE.lock_timeout }, 'session')
}

class LockHeld extends MigrationError {}

/**
 * Runs `work` outside a transaction as the only migrator of the database. The lock belongs to the connection, so it is released even if the
 * process is killed.
 * @throws MigrationError if another migrator works for more than 60 s, and the errors of `work`
 */
export function asOnlyMigratorOutside<T>(
  database: Database,
  work: (connection: Connection) => Promise<T>,
  watch: Watch,
): Promise<T> {
  return onOwnConnection(database, async (connection) => {
    await takeLock(connection, 'pg_try_advisory_lock')
    const before = await readSettings(connection)
    try {
      await applySettings(connection, OUTSIDE, 'session')
      await useOwnSearchPath(connection, 'session')
      await applySettings(connection, CHECKED, 'session').catch(unlessRejected)
      await watch.follow(connection)
      return await work(connection)
    } finally {
      // A broken connection has neither settings nor locks left.
      await restore(connection, before).catch(() => undefined)
      await connection.query({ text: `select pg_advisory_unlock(${LOCK})`, values: [] }).catch(() => undefined)
    }
  })
}

async function rejectReadOnly(session: Connection): Promise<void> {
  const { rows } = await session.query({ text: `select current_setting('transaction_read_only')`, values: [] })
  if (rows[0]?.[0] === 'off') return
  throw new MigrationError(
    ['the database is read-only, so it cannot be migrated'],
    ['Set DATABASE_URL to the primary if this is a standby; otherwise see whether default_transaction_read_only is on'],
  )
}

/** Polls for the lock: a waiting statement would count as a reader, and `create index concurrently` of the other migrator would wait for it. */
async function takeLock(
  session: Connection,
  call: 'pg_try_advisory_lock' | 'pg_try_advisory_xact_lock',
): Promise<void> {
  const until = performance.now() + LOCK_TIMEOUT_MS
  for (;;) {
    const { rows } = await session.query({ text: `select ${call}(${LOCK})::text`, values: [] })
    if (rows[0]?.[0] === 'true') return
    if (performance.now() > until)
      throw new LockHeld(
        ['another process has been migrating this database for more than 60 seconds'],
        ['Wait for it to end; a killed process holds no lock'],
      )
    await delay(RETRY_INTERVAL_MS)
  }
}

function unlessRejected(error: unknown): void {
  if (sqlState(error) === undefined) throw error
}

/** Settings until the end of the transaction or the session, without those that this server does not know. */
async function applySettings(
  session: Connection,
  settings: Readonly<Record<string, string>>,
  scope: 'transaction' | 'session' = 'transaction',
): Promise<void> {
  await session.query({
    text: `select set_config(s.name, w.value, $2) from jsonb_each_text($1) w(name, value) join pg_settings s on s.name = w.name`,
    values: [JSON.stringify(settings), String(scope === 'transaction')],
  })
}

/** These settings belong to the transaction and cannot be changed during it. */
const FIXED = `'transaction_isolation', 'transaction_read_only', 'transaction_deferrable'`

/** The user and the settings of the session, as JSON. */
async function readSettings(session: Connection): Promise<string> {
  const { rows } = await session.query({
    text: `select (jsonb_build_object('session_authorization', session_user) || coalesce(jsonb_object_agg(name, setting), '{}'))::text
      from pg_settings where source = 'session' and name not in (${FIXED})`,
    values: [],
  })
  return String(rows[0]?.[0])
}

async function restore(session: Connection, before: string): Promise<void> {
  // `pg_settings` has neither the user nor the role. Resetting the user has no effect in the embedded database.
  const user = `select set_config('session_authorization', $1::jsonb ->> 'session_authorization', false)`
  await session.query({ text: user, values: [before] })
  await session.query({ text: 'reset role', values: [] })
  await session.query({
    text: `select set_config(name, coalesce($1::jsonb ->> name, reset_val), false) from pg_settings
      where (source = 'session' or $1::jsonb ? name) and name not in (${FIXED})`,
    values: [before],
  })
}
