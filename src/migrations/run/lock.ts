import { setTimeout as delay } from 'node:timers/promises'
import type { Connection, Database } from '../../db/database.js'
import { MigrationError } from '../files/error.js'
import { inTransaction, onOwnConnection, type Session, sqlState } from './session.js'

/** The key of the advisory lock that all migrators of a database share: "snip" and "mig" as numbers. */
const LOCK = '1936615792, 7170407'
const LOCK_TIMEOUT_MS = 60_000
const RETRY_INTERVAL_MS = 50
const MAX_TRIES = 3

const WITHIN = {
  statement_timeout: '0',
  transaction_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  // A pending lock blocks every later statement on the table.
  lock_timeout: '5s',
  // Lets the server end the transaction of a killed migrator even while a statement runs.
  client_connection_check_interval: '500ms',
}

/** `create index concurrently` waits for other transactions but blocks none, so it needs no lock timeout. */
const OUTSIDE = { ...WITHIN, lock_timeout: '0' }

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK = '40P01'

/** The transaction of the migrator that holds the lock. */
export interface MigratingSession extends Session {
  /**
   * Resets the settings that SQL has changed, for this transaction and the session: dumps of other tools set a search path and timeouts, but
   * the connection is reused for requests.
   */
  restoreSettings(): Promise<void>
}

/**
 * Runs `work` in a transaction as the only migrator of the database. The lock belongs to the transaction, so it is released even if the process
 * is killed. Work that waits 5 s for a table lock is retried, up to three tries.
 * @throws MigrationError if another migrator works for more than 60 s, and the errors of `work`
 */
export async function asOnlyMigrator<T>(
  database: Database,
  work: (session: MigratingSession) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await inTransaction(database, async (session) => {
        const before = await readSettings(session)
        await takeLock(session, 'pg_try_advisory_xact_lock')
        await applySettings(session, WITHIN)
        return work({ ...session, restoreSettings: () => restore(session, before) })
      })
    } catch (error) {
      const state = sqlState(error)
      if (tries === MAX_TRIES || (state !== LOCK_NOT_AVAILABLE && state !== DEADLOCK) || error instanceof LockHeld)
        throw error
      await delay(200 * tries)
    }
  }
}

class LockHeld extends MigrationError {}

/**
 * Runs `work` outside a transaction as the only migrator of the database. The lock belongs to the connection, so it is released even if the
 * process is killed.
 * @throws MigrationError if another migrator works for more than 60 s, and the errors of `work`
 */
export function asOnlyMigratorOutside<T>(database: Database, work: (connection: Connection) => Promise<T>): Promise<T> {
  return onOwnConnection(database, async (connection) => {
    await takeLock(connection, 'pg_try_advisory_lock')
    const before = await readSettings(connection)
    try {
      await applySettings(connection, OUTSIDE, 'session')
      return await work(connection)
    } finally {
      // A broken connection has neither settings nor locks left.
      await restore(connection, before).catch(() => undefined)
      await connection.query({ text: `select pg_advisory_unlock(${LOCK})`, values: [] }).catch(() => undefined)
    }
  })
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

// The first three settings belong to the transaction and cannot be changed during it.
const OWN = `pg_settings where source = 'session' and name not in
  ('transaction_isolation', 'transaction_read_only', 'transaction_deferrable')`

/** The settings of the session, as JSON. */
async function readSettings(session: Connection): Promise<string | null> {
  const { rows } = await session.query({ text: `select jsonb_object_agg(name, setting)::text from ${OWN}`, values: [] })
  return rows[0]?.[0] ?? null
}

async function restore(session: Connection, before: string | null): Promise<void> {
  await session.query({
    text: `select set_config(name, coalesce($1::jsonb ->> name, reset_val), false) from ${OWN}`,
    values: [before],
  })
}
