import { setTimeout as delay } from 'node:timers/promises'
import type { Connection, Database } from '../../db/database.js'
import { MigrationError } from '../files/error.js'
import { inTransaction, onOwnConnection, type Session, sqlState } from './session.js'

/** The key of the lock that all migrators of a database share: "snip" and "mig" as numbers. */
const LOCK = '1936615792, 7170407'
const WAIT_MS = 60_000
const PAUSE_MS = 50
const TRIES = 3

const WITHIN = {
  statement_timeout: '0',
  transaction_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  // Behind a lock that is waited for, every other statement on the table waits too.
  lock_timeout: '5s',
  // The server ends the transaction of a killed migrator, although a statement of it is running.
  client_connection_check_interval: '500ms',
}

/** Building an index beside others waits for their transactions, and nobody waits for it. */
const OUTSIDE = { ...WITHIN, lock_timeout: '0' }

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK = '40P01'

/** The transaction of the only migrator. */
export interface MigratingSession extends Session {
  /**
   * Puts back what SQL has set, for the rest of the transaction and after it: the dump of another tool sets a search path
   * and timeouts, and the connection is used again for requests.
   */
  restoreSettings(): Promise<void>
}

/**
 * Runs `work` in a transaction as the only migrator of the database. The lock is the transaction's own, so that it is
 * gone with it, also when the process is killed. Work that waits 5 s for a lock on a table is tried three times.
 * @throws MigrationError when another migrator is at work for longer than 60 s; whatever `work` throws.
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
      if (tries === TRIES || (state !== LOCK_NOT_AVAILABLE && state !== DEADLOCK) || error instanceof LockHeld)
        throw error
      await delay(200 * tries)
    }
  }
}

class LockHeld extends MigrationError {}

/**
 * Runs `work` as the only migrator of the database, on a connection that is in no transaction. The lock is the connection's, so
 * that it is gone with it, also when the process is killed.
 * @throws MigrationError when another migrator is at work for longer than 60 s; whatever `work` throws.
 */
export function asOnlyMigratorOutside<T>(database: Database, work: (connection: Connection) => Promise<T>): Promise<T> {
  return onOwnConnection(database, async (connection) => {
    await takeLock(connection, 'pg_try_advisory_lock')
    const before = await readSettings(connection)
    try {
      await applySettings(connection, OUTSIDE, 'session')
      return await work(connection)
    } finally {
      // A connection that broke has neither settings nor locks any more.
      await restore(connection, before).catch(() => undefined)
      await connection.query({ text: `select pg_advisory_unlock(${LOCK})`, values: [] }).catch(() => undefined)
    }
  })
}

/** Asks again and again: a statement that waits is a reader for whom an index that another migrator builds would wait in turn. */
async function takeLock(
  session: Connection,
  call: 'pg_try_advisory_lock' | 'pg_try_advisory_xact_lock',
): Promise<void> {
  const until = performance.now() + WAIT_MS
  for (;;) {
    const { rows } = await session.query({ text: `select ${call}(${LOCK})::text`, values: [] })
    if (rows[0]?.[0] === 'true') return
    if (performance.now() > until)
      throw new LockHeld(
        ['another process has been migrating this database for more than 60 seconds'],
        ['Wait for it to end; a process that was killed holds nothing'],
      )
    await delay(PAUSE_MS)
  }
}

/** Settings until the end of the transaction or the session; those that this server does not have are left out. */
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

// The first three belong to the transaction, and cannot be set once it has begun.
const OWN = `pg_settings where source = 'session' and name not in
  ('transaction_isolation', 'transaction_read_only', 'transaction_deferrable')`

/** What the session has set for itself, as JSON. */
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
