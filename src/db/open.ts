import { cp, rename } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Database, DatabaseRejected } from './database.js'
import { freeName } from './embedded/backup.js'
import { DISCARDED, layOutDirectory, openMemory, openPglite } from './embedded/pglite.js'
import { lockDirectory } from './embedded/lock.js'
import { makeTemporary, settleRestores } from './embedded/temporary.js'
import { openPostgres } from './pool/postgres.js'
import { withReplica } from './pool/replica.js'
import { withParts } from './wrap.js'

/** Selects the database: `url` is DATABASE_URL; without it, the embedded database in `directory` is used. */
export interface DatabaseChoice {
  readonly url: string | undefined
  readonly directory: string
}

type Environment = Readonly<Record<string, string | undefined>>

interface Opener {
  readonly fits: (choice: DatabaseChoice) => boolean
  readonly open: (choice: DatabaseChoice, environment: Environment) => Database | Promise<Database>
}

const OPENERS: readonly Opener[] = [
  {
    fits: ({ url }) => url !== undefined,
    open: ({ url = '' }, env) => openServer(url, env),
  },
  { fits: () => true, open: ({ directory }, env) => openEmbedded(directory, env) },
]

/**
 * Opens the selected database. A server is contacted only by the first statement or `probe`.
 * @throws DatabaseRejected if it can never be opened as configured
 */
export async function openDatabase(choice: DatabaseChoice, environment: Environment = process.env): Promise<Database> {
  const opener = OPENERS.find(({ fits }) => fits(choice))
  if (!opener) throw new Error('no opener fits')
  return opener.open(choice, environment)
}

/** A server database for comparing schemas, and the variable that its URL comes from. */
interface ScratchServer {
  readonly url: string
  readonly variable: string
}

interface ScratchChoice {
  readonly server?: ScratchServer
  readonly tables?: number | undefined
}

/** A scratch database with more tables is not in memory, because its files take about 150 kB for each. */
const MAX_TABLES_IN_MEMORY = 200

/**
 * Opens an empty database for comparing schemas; its contents are discarded when it is closed. Without a server, it is an embedded database in
 * memory, except for large files, or in a temporary folder if it will have many tables and the folder is writable.
 * @param tables the approximate number of its tables
 * @throws DatabaseRejected if the server's database is not empty
 */
export function openScratch({ server, tables = 0 }: ScratchChoice = {}): Promise<Database> {
  if (server) return openEmpty(server)
  const inMemory = () => openMemory(EMPTY)
  return tables > MAX_TABLES_IN_MEMORY ? openTemporary(EMPTY, layOutDirectory).catch(inMemory) : inMemory()
}

const EMPTY = 'an empty embedded database'

/** Finds the first object that makes a database non-empty: a table, a function, an extension other than PL/pgSQL, or a schema other than `public`. */
const FOUND = `
  select what from (
    select 'table ' || c.oid::regclass from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
    union all select 'function ' || p.oid::regproc from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
    union all select 'schema ' || nspname from pg_namespace
      where nspname !~ '^pg_' and nspname not in ('information_schema', 'public')
    union all select 'extension ' || extname from pg_extension where extname <> 'plpgsql'
  ) f(what) order by what like 'function %', what limit 1`

async function openEmpty({ url, variable }: ScratchServer): Promise<Database> {
  const database = openPostgres(url, { variable, connections: 2, prepare: true })
  try {
    await database.probe()
    const { rows } = await database.query({ text: FOUND, values: [] })
    const [[found] = []] = rows
    if (found == null) return database
    throw new DatabaseRejected(`the database that ${variable} names is not empty: it has the ${found}`, [
      'Migrations are tested there, so it must be empty: create database scratch template template0',
    ])
  } catch (error) {
    await database.close()
    throw error
  }
}

/**
 * Opens a temporary copy of an embedded database, for changes that must not affect the original.
 * @throws DatabaseRejected if another process uses the original
 */
export function openCopy(directory: string): Promise<Database> {
  return openTemporary('a copy of the embedded database', async (folder) => {
    const unlock = lockDirectory(resolve(directory))
    try {
      await cp(directory, folder, { recursive: true })
    } finally {
      unlock()
    }
  })
}

/** @param fill creates the files of the database in a folder that does not exist yet */
async function openTemporary(description: string, fill: (folder: string) => Promise<void>): Promise<Database> {
  const { path, remove } = await makeTemporary('copy')
  try {
    const folder = join(path, 'pg')
    await fill(folder)
    const database = await openPglite(folder, DISCARDED)
    const close = () => database.close().finally(remove)
    return withParts(database, { description, close })
  } catch (error) {
    remove()
    throw error
  }
}

/**
 * Moves an embedded database aside, so that the next one starts empty. Nothing is deleted.
 * @returns the new path
 * @throws DatabaseRejected if another process uses the database
 */
export async function moveAside(directory: string): Promise<string> {
  const unlock = lockDirectory(resolve(directory))
  try {
    // Otherwise the next command would put the backup of a killed restore in its place.
    await settleRestores(directory)
    const aside = freeName(directory, 'before-reset')
    await rename(directory, aside)
    return aside
  } finally {
    unlock()
  }
}

function openServer(url: string, env: Environment): Database {
  const options = { connections: connections(env.DATABASE_POOL), prepare: prepares(env.DATABASE_PREPARE) }
  const primary = openPostgres(url, { variable: 'DATABASE_URL', ...options })
  const bound = lag(env.DATABASE_REPLICA_LAG)
  if (env.DATABASE_REPLICA_URL === undefined) return primary
  const replica = openPostgres(env.DATABASE_REPLICA_URL, { variable: 'DATABASE_REPLICA_URL', ...options })
  return withReplica({ primary, replica, bound })
}

function openEmbedded(directory: string, env: Environment): Promise<Database> {
  if (env.DATABASE_REPLICA_URL !== undefined) {
    throw new DatabaseRejected('DATABASE_REPLICA_URL is set, but the embedded database cannot have a replica', [
      'DATABASE_URL=postgres://user:password@host:5432/database selects the PostgreSQL server that it is a replica of',
    ])
  }
  if (env.NODE_ENV !== 'production') return openPglite(directory)
  throw new DatabaseRejected('DATABASE_URL is not set, and the embedded database is not meant for production', [
    'DATABASE_URL=postgres://user:password@host:5432/database selects a PostgreSQL server',
    'NODE_ENV=production is set; without it the embedded database is used',
  ])
}

function connections(text = '10'): number {
  const count = Number(text)
  if (/^[1-9]\d{0,3}$/.test(text) && count <= 1000) return count
  throw new DatabaseRejected(`DATABASE_POOL is ${JSON.stringify(text)}, which is not a number of connections`, [
    'Set it to a whole number from 1 to 1000; the default is 10',
  ])
}

/** Parses a lag in milliseconds. The minimum is the shortest interval that can be polled reliably. */
function lag(text = '500'): number {
  const bound = Number(text)
  if (/^[1-9]\d{1,4}$/.test(text) && bound >= 50 && bound <= 60_000) return bound
  throw new DatabaseRejected(`DATABASE_REPLICA_LAG is ${JSON.stringify(text)}, which is not a valid lag`, [
    'Set it to milliseconds from 50 to 60000; the default is 500',
  ])
}

function prepares(text = 'on'): boolean {
  if (text === 'on' || text === 'off') return text === 'on'
  throw new DatabaseRejected(`DATABASE_PREPARE is ${JSON.stringify(text)}`, [
    'Set it to off if your connection pooler does not support prepared statements, otherwise to on, the default',
  ])
}
