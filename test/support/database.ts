import { randomBytes } from 'node:crypto'
import type { PGlite } from '@electric-sql/pglite'
import { afterAll } from '@jest/globals'
import pg from 'pg'
import type { Connection, Database, Statement } from '../../src/db/database.js'
import { openDatabase } from '../../src/db/open.js'
import { observed } from '../../src/db/wrap.js'
import { DISCARDED, parametersOf, pgliteDatabase } from '../../src/db/embedded/pglite.js'

/** A new, empty database that is dropped when it is closed. */
export interface TestDatabase extends Database {
  /** For processes that a test starts; undefined for an embedded database in this process. */
  readonly url: string | undefined
}

/** The environment that makes a command use the database; empty for an embedded one. */
export function envOf(database: TestDatabase | undefined): Readonly<Record<string, string>> {
  return database?.url === undefined ? {} : { DATABASE_URL: database.url }
}

/** A new database for processes that a test starts; undefined if each has its own embedded one. */
export async function openOnlyOnServer(): Promise<TestDatabase | undefined> {
  return testDatabaseKind() === 'postgres' ? openTestDatabase() : undefined
}

/** The database that tests use; for tests that need two sessions and are otherwise skipped. */
export function testDatabaseKind(): 'postgres' | 'embedded' {
  return serverUrl() === '' ? 'embedded' : 'postgres'
}

/**
 * Opens a new, empty database and runs `ddl` in it.
 * @param encoding of a database on the server; an embedded one is always in UTF-8
 */
export async function openTestDatabase(ddl?: string, encoding = 'UTF8'): Promise<TestDatabase> {
  const database = testDatabaseKind() === 'postgres' ? await openOnServer(encoding) : await openEmbedded()
  if (ddl !== undefined) await database.query({ text: ddl, values: [] })
  return database
}

/** Records the statements sent to a database, including those in transactions, in order. */
export function watchDatabase(database: Database): { readonly watched: Database; readonly sent: Statement[] } {
  const sent: Statement[] = []
  const watch = (connection: Connection): Connection => observed(connection, (statement) => void sent.push(statement))
  const transaction: Database['transaction'] = (work, options) =>
    database.transaction((connection) => work(watch(connection)), options)
  const watched = Object.create(database, {
    query: { value: watch(database).query },
    transaction: { value: transaction },
  }) as Database
  return { watched, sent }
}

function serverUrl(): string {
  return process.env.SNIPPETCTL_TEST_URL ?? ''
}

async function openOnServer(encoding: string): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`
  onServer += 1
  const { client, strategy } = await administrator()
  const locale = encoding === 'UTF8' ? '' : `encoding ${encoding} locale 'C'`
  await client.query(`create database ${name} template template0 ${locale} ${strategy}`)
  const url = new URL(serverUrl())
  url.pathname = `/${name}`
  // Behind a pooler, nothing is prepared.
  const { SNIPPETCTL_TEST_PREPARE: DATABASE_PREPARE } = process.env
  const database = await openDatabase({ url: url.href, directory: '' }, { DATABASE_PREPARE })
  return derive(database, url.href, async () => {
    await database.close()
    await client.query(`drop database ${name} with (force)`)
    onServer -= 1
    await endAdministration()
  })
}

interface Administrator {
  readonly client: pg.Client
  /** The fastest way to create a database: copying the files needs a checkpoint, which is slow if it is synced to a disk. */
  readonly strategy: '' | 'strategy file_copy'
}

/** The session that creates and drops the databases of a test file. */
let administration: Promise<Administrator> | undefined
let onServer = 0

function administrator(): Promise<Administrator> {
  return (administration ??= connectAdministrator())
}

async function connectAdministrator(): Promise<Administrator> {
  const client = new pg.Client({ connectionString: serverUrl() })
  await client.connect()
  const { rows } = await client.query<{ fast: boolean }>(
    `select current_setting('fsync') = 'off' and current_setting('server_version_num')::int >= 150000 as fast`,
  )
  return { client, strategy: rows[0]?.fast ? 'strategy file_copy' : '' }
}

/** Ends the session once the file has run and its databases are dropped. */
async function endAdministration(): Promise<void> {
  if (!fileDone || onServer > 0) return
  const { client } = (await administration) ?? {}
  administration = undefined
  await client?.end()
}

declare global {
  /** The embedded databases of this worker, which are reused by later test files. */
  var embeddedDatabases: {
    take(dump: string, settings: readonly string[]): Promise<PGlite>
    empty(database: PGlite): Promise<void>
    giveBack(database: PGlite): Promise<void>
  }
}

// Starting one takes a second, so the tests of a file reuse free ones.
const free: PGlite[] = []
let fileDone = false

async function openEmbedded(): Promise<TestDatabase> {
  const { SNIPPETCTL_TEST_DUMP: dump = '' } = process.env
  if (dump === '') throw new Error('this run of tests has no database: SNIPPETCTL_TEST_DB is none')
  const pglite = free.pop() ?? (await embeddedDatabases.take(dump, parametersOf(DISCARDED)))
  const database = pgliteDatabase(pglite, 'embedded PGlite in memory')
  return derive(database, undefined, async () => {
    await database.close()
    await embeddedDatabases.empty(pglite)
    if (fileDone) return embeddedDatabases.giveBack(pglite)
    free.push(pglite)
  })
}

// Runs before the hooks of the test file itself, which may still have databases to close.
afterAll(async () => {
  fileDone = true
  await endAdministration()
  await Promise.all(free.splice(0).map((pglite) => embeddedDatabases.giveBack(pglite)))
})

/** The same database with another `close`. A copy would call its getters. */
function derive(database: Database, url: string | undefined, end: () => Promise<void>): TestDatabase {
  let ended: Promise<void> | undefined
  const close = () => (ended ??= end())
  return Object.create(database, { url: { value: url }, close: { value: close } }) as TestDatabase
}
