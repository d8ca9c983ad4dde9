import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { types } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import type { PGlite } from '@electric-sql/pglite'
import { type Database, DatabaseRefused } from '../database.js'
import { loadExtensions, loadInstalled } from './extensions.js'
import { lockDirectory } from './lock.js'
import { PgliteStream } from './stream.js'
import { layOut } from './template.js'
import { poolDatabase } from '../pool/pooled-database.js'
import { withParts } from '../wrap.js'

/** The PostgreSQL inside the PGlite that package.json pins. It opens no directory of another major version. */
export const EMBEDDED_MAJOR = '18'

const PROMISES = 'one session, survives a killed process but not a power cut, not for production'

/**
 * The embedded database, kept in a directory that is locked until it is closed.
 * @throws DatabaseRefused when another process has it, when it is of another version, or when it cannot be opened.
 */
export async function openPglite(given: string): Promise<Database> {
  const directory = resolve(given)
  const unlock = lockDirectory(directory)
  try {
    refuseOtherVersion(directory)
    if (!existsSync(directory)) await layOutDirectory(directory)
    const pglite = await startPglite({ dataDir: directory })
    await loadInstalled(pglite)
    return pgliteDatabase(pglite, `embedded PGlite in ${given} (${PROMISES})`, async () => {
      await pglite.close()
      unlock()
    })
  } catch (error) {
    unlock()
    if (error instanceof DatabaseRefused) throw error
    const reason = types.isNativeError(error) ? error.message : String(error)
    throw new DatabaseRefused(`the embedded database in ${given} cannot be opened: ${reason}`, advice(given), error)
  }
}

/** An empty embedded database in memory, gone when it is closed. It takes seconds to make, and needs no disk. */
export async function openMemory(): Promise<Database> {
  const pglite = await startPglite({})
  return pgliteDatabase(pglite, `embedded PGlite in memory (${PROMISES})`, () => pglite.close())
}

/** Makes the files of an empty database in a folder that is not there yet. */
export async function layOutDirectory(folder: string): Promise<void> {
  await layOut(folder, async (fresh) => {
    const pglite = await startPglite({ dataDir: fresh })
    await pglite.close()
  })
}

const SETTINGS: Readonly<Record<string, string>> = {
  // A migration that makes a thousand tables is proved in one transaction, in which each of them takes several locks.
  max_locks_per_transaction: '512',
  // All of it is touched at the start; the system keeps the files in memory besides.
  shared_buffers: '16MB',
}

/** The settings as parameters of a start. */
export function pgliteSettings(): readonly string[] {
  return Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/**
 * How V8 compiles the embedded database. What it would compile a second time, and better, a command hardly uses then: a short one took
 * half as long again, and a file of 60,000 records is loaded in 8 s instead of 6.5 without. A server has compiled again what has run a
 * hundred times as many bytes as is usual.
 */
const COMPILING = {
  lasting: ['--wasm-tiering-budget=200000000'],
  brief: ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering'],
}
let compiling = COMPILING.lasting

/** Says that this process does little with embedded databases and ends soon. To be called before it opens one. */
export function expectBriefWork(): void {
  compiling = COMPILING.brief
}

/** Starts PGlite in a directory, from a dump, or empty in memory. */
export async function startPglite(options: {
  readonly dataDir?: string
  readonly loadDataDir?: Blob
}): Promise<PGlite> {
  // Loaded here, because a service on PostgreSQL never needs it.
  const { PGlite } = await import('@electric-sql/pglite')
  for (const flag of compiling) setFlagsFromString(flag)
  return PGlite.create({ ...options, startParams: [...PGlite.defaultStartParams, ...pgliteSettings()] })
}

/** The database that a running PGlite holds. */
export function pgliteDatabase(pglite: PGlite, description: string, closed?: () => Promise<void>): Database {
  const database = poolDatabase({
    description,
    whenPending: 'apply',
    concurrent: false,
    // PGlite blocks the event loop, so a limit could only strike after the answer is there.
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
    },
    ...(closed && { closed }),
  })
  const pack = async () => {
    // What is written since then has to be done again by whoever opens the archive.
    await database.query({ text: 'checkpoint', values: [] })
    // Within a transaction of its own nobody else has one: there is but one connection.
    const archive = await database.transaction(() => pglite.dumpDataDir('gzip'))
    return new Uint8Array(await archive.arrayBuffer())
  }
  return withParts(database, { pack, loadExtensions: (names) => loadExtensions(pglite, names) })
}

function refuseOtherVersion(directory: string): void {
  const file = join(directory, 'PG_VERSION')
  if (!existsSync(file)) return
  const version = readFileSync(file, 'utf8').trim()
  if (version === EMBEDDED_MAJOR) return
  throw new DatabaseRefused(
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
