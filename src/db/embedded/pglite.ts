import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { MemoryFS, PGlite } from '@electric-sql/pglite'
import { type Database, DatabaseRejected } from '../database.js'
import { loadExtensions, loadInstalled } from './extensions.js'
import { filesInMemory } from './in-memory.js'
import { lockDirectory } from './lock.js'
import { reasonOf } from './reason.js'
import { settleRestores } from './temporary.js'
import { PgliteStream } from './stream.js'
import { findTemplate, layOut } from './template.js'
import { poolDatabase } from '../pool/pooled-database.js'
import { TEMPORARY_LAST } from '../pool/search-path.js'
import { withParts } from '../wrap.js'

/** The major version of PostgreSQL in the PGlite that package.json pins. It cannot open directories of other major versions. */
export const EMBEDDED_MAJOR = '18'

const PROMISES = 'one session, survives a killed process but not a power cut, not for production'

/**
 * Opens the embedded database in a directory, which stays locked until it is closed.
 * @throws DatabaseRejected if another process uses it, if its version differs, or if it cannot be opened
 */
export async function openPglite(given: string, settings?: Settings): Promise<Database> {
  const directory = resolve(given)
  const unlock = lockDirectory(directory)
  try {
    await settleRestores(directory)
    rejectOtherVersion(directory)
    if (!existsSync(directory)) await layOutDirectory(directory)
    const pglite = await startPglite({ dataDir: directory }, settings)
    await loadInstalled(pglite)
    return pgliteDatabase(pglite, `embedded PGlite in ${given} (${PROMISES})`, async () => {
      await pglite.close()
      unlock()
    })
  } catch (error) {
    unlock()
    if (error instanceof DatabaseRejected) throw error
    throw new DatabaseRejected(
      `the embedded database in ${given} cannot be opened: ${reasonOf(error)}`,
      advice(given),
      error,
    )
  }
}

/** Opens an empty embedded database in memory. This takes seconds unless the template can be read. */
export async function openMemory(description: string): Promise<Database> {
  const files = findTemplate(makeFiles).then(filesInMemory)
  const pglite = await startPglite({ fs: await files.catch(() => filesInMemory()) }, DISCARDED)
  return pgliteDatabase(pglite, description, () => pglite.close())
}

const FIRST_STATEMENTS = [
  // An embedded database never creates others, and the templates for them are two thirds of its files.
  'update pg_database set datistemplate = false',
  'drop database template0',
  'drop database template1',
  // Leaves the schema of temporary tables. PostgreSQL plans all prepared statements again after it creates a schema.
  'create temporary table first_table ()',
  'drop table first_table',
  'checkpoint',
]

/** Puts the files of an empty database into a folder that does not exist yet. */
export function layOutDirectory(folder: string): Promise<void> {
  return layOut(folder, makeFiles)
}

async function makeFiles(folder: string): Promise<void> {
  const pglite = await startPglite({ dataDir: folder, initDbStartParams: SMALL_LOG })
  for (const statement of FIRST_STATEMENTS) await pglite.exec(statement)
  await pglite.close()
}

type Settings = Readonly<Record<string, string>>

const SETTINGS: Settings = {
  // Migrations are tested in one transaction, and each table that they create takes several locks.
  max_locks_per_transaction: '512',
  // All of it is touched at startup, and the system caches the files anyway.
  shared_buffers: '16MB',
}

/** For a database that is discarded when it is closed: nobody reads its log. */
export const DISCARDED: Settings = { ...SETTINGS, wal_level: 'minimal', max_wal_senders: '0', full_page_writes: 'off' }

/** Options of `initdb`: files of the log have 1 MB rather than 16, and used files are removed rather than kept for later. */
const SMALL_LOG = ['--wal-segsize=1', '--set=wal_recycle=off']

/** Returns settings as command-line parameters. */
export function parametersOf(settings: Settings): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/**
 * V8 options for the embedded database. Short commands gain little from optimised code: without this they took half as long again, but loading 60,000
 * records took 6.5 s instead of 8 s. A server optimises code after a hundred times the usual amount.
 */
const COMPILING = {
  lasting: ['--wasm-tiering-budget=200000000'],
  brief: ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering'],
}
let compiling = COMPILING.lasting

/** Declares that this process uses embedded databases only briefly. Call it before opening one. */
export function expectBriefWork(): void {
  compiling = COMPILING.brief
}

/** Starts PGlite in a directory, from a dump, with files in memory, or empty in memory. */
export async function startPglite(
  options: {
    readonly dataDir?: string
    readonly fs?: MemoryFS
    readonly loadDataDir?: Blob
    readonly initDbStartParams?: string[]
  },
  settings: Settings = SETTINGS,
): Promise<PGlite> {
  // Loaded here, because a service on PostgreSQL never needs it.
  const { PGlite } = await import('@electric-sql/pglite')
  for (const flag of compiling) setFlagsFromString(flag)
  return PGlite.create({ ...options, startParams: [...PGlite.defaultStartParams, ...parametersOf(settings)] })
}

/** Wraps a running PGlite as a Database. */
export function pgliteDatabase(pglite: PGlite, description: string, closed?: () => Promise<void>): Database {
  const database = poolDatabase({
    description,
    whenPending: 'apply',
    concurrent: false,
    // PGlite blocks the event loop, so a timeout could only fire after the response.
    sending: { patience: undefined, prepare: true },
    pool: {
      stream: () => new PgliteStream(pglite),
      host: 'localhost',
      user: 'postgres',
      database: 'postgres',
      ssl: false,
      max: 1,
      connectionTimeoutMillis: 5_000,
      idleTimeoutMillis: 0,
      // eslint-disable-next-line @typescript-eslint/no-misused-promises -- the pool waits for it; only its types do not say so
      onConnect: (client) => client.query(TEMPORARY_LAST),
    },
    ...(closed && { closed }),
  })
  const pack = async () => {
    // Changes after the checkpoint must be replayed when the archive is opened.
    await database.query({ text: 'checkpoint', values: [] })
    // The only connection is held by this transaction, so nothing else runs.
    const archive = await database.transaction(() => pglite.dumpDataDir('gzip'))
    return new Uint8Array(await archive.arrayBuffer())
  }
  return withParts(database, { pack, loadExtensions: (names) => loadExtensions(pglite, names) })
}

function rejectOtherVersion(directory: string): void {
  const file = join(directory, 'PG_VERSION')
  if (!existsSync(file)) return
  const version = readFileSync(file, 'utf8').trim()
  if (version === EMBEDDED_MAJOR) return
  throw new DatabaseRejected(
    `${directory} was written by PostgreSQL ${version}, and the embedded database is PostgreSQL ${EMBEDDED_MAJOR}`,
    [
      'To keep the data, install the version of snippetctl that wrote it and copy the records out',
      ...advice(directory),
    ],
  )
}

function advice(directory: string): readonly string[] {
  return [`To start again without the data, move ${directory} away: nothing is ever deleted by itself`]
}
