import { setTimeout as delay } from 'node:timers/promises'
import type { Connection, Database } from '../db/database.js'
import { MigrationError } from './error.js'
import { inTransaction, type Session, sqlState } from './session.js'

/** The key of the lock that all migrators of a database share: "snip" and "mig" as numbers. */
const LOCK = '1936615792, 7170407'
const WAIT = '60s'
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
        await takeLock(session)
        await setWithin(session, WITHIN)
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

async function takeLock(session: Connection): Promise<void> {
  await setWithin(session, { ...WITHIN, lock_timeout: WAIT })
  try {
    await session.query({ text: `select pg_advisory_xact_lock(${LOCK})`, values: [] })
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error
    throw new LockHeld(
      ['another process has been migrating this database for more than 60 seconds'],
      ['Wait for it to end; a process that was killed holds nothing'],
      error,
    )
  }
}

/** Settings until the end of the transaction; those that this server does not have are left out. */
async function setWithin(session: Connection, settings: Readonly<Record<string, string>>): Promise<void> {
  await session.query({
    text: `select set_config(s.name, w.value, true) from jsonb_each_text($1) w(name, value) join pg_settings s on s.name = w.name`,
    values: [JSON.stringify(settings)],
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
