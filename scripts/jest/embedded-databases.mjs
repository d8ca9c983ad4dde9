import { readFile } from 'node:fs/promises'

/** Beyond this many test files, the leftovers of dropped tables make a database slow. */
const MAX_FILES = 12

const LONG_TIMER_MS = 5_000

/** Equal before and after work that leaves nothing but its schemas behind. */
export const STATE = `
  select (select json_agg(name order by name) from pg_available_extensions)::text
    || (select json_agg(rolname order by rolname) from pg_roles)::text
    || (select count(*) from pg_db_role_setting) as state`

/** Removes everything that belongs to a schema. */
export const EMPTY = `
  rollback;
  do $$
  declare name text;
  begin
    for name in select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' loop
      execute format('drop schema %I cascade', name);
    end loop;
  end $$;
  create schema public authorization pg_database_owner;
  grant usage on schema public to public`

/** Metadata of an embedded database: its initial state, and how many test files have used it. */
const known = new WeakMap()
const free = []

/**
 * The embedded databases of one worker. They live outside of the test files, because starting one takes a second, and because Node
 * does not free the memory of one that belongs to a finished file.
 */
export const embeddedDatabases = {
  /**
   * An empty database, started with these settings or handed on by an earlier test file.
   * @param {string} dump the file with its data directory
   * @param {readonly string[]} settings parameters of PostgreSQL
   */
  async take(dump, settings) {
    const kept = free.pop()
    if (kept !== undefined) return kept
    const { PGlite } = await import('@electric-sql/pglite')
    const loadDataDir = new Blob([await readFile(dump)])
    const startParams = [...PGlite.defaultStartParams, ...settings]
    const pglite = await withoutLongTimers(() => PGlite.create({ loadDataDir, startParams }))
    known.set(pglite, { files: 0, state: await stateOf(pglite) })
    return pglite
  },

  /** Removes everything from a database that belongs to a schema. */
  async empty(pglite) {
    await pglite.exec(EMPTY)
  },

  /** Hands on a database without schemas to the next test file, or closes it. */
  async giveBack(pglite) {
    const about = known.get(pglite)
    about.files += 1
    if (about.files < MAX_FILES) await pglite.exec('discard all')
    if (about.files < MAX_FILES && (await stateOf(pglite)) === about.state) free.push(pglite)
    else await pglite.close()
  },

  /** Closes all that nobody uses. */
  async close() {
    for (const pglite of free.splice(0)) await pglite.close()
  },
}

/** PostgreSQL leaves a timer of ten seconds behind when it starts. A worker must not wait for it at its end. */
async function withoutLongTimers(work) {
  const { setTimeout: original } = globalThis
  globalThis.setTimeout = (callback, ms, ...given) => {
    const timer = original(callback, ms, ...given)
    return ms >= LONG_TIMER_MS ? timer.unref() : timer
  }
  try {
    return await work()
  } finally {
    globalThis.setTimeout = original
  }
}

async function stateOf(pglite) {
  const { rows } = await pglite.query(STATE)
  return rows[0].state
}
