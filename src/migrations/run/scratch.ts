import type { Connection, Database } from '../../db/database.js'
import { type Catalog, readCatalog } from '../introspect/catalog.js'
import { runPart } from '../files/code.js'
import type { Migration } from '../files/files.js'
import { MigrationError } from '../files/error.js'
import { inDiscardedTransaction, sqlState } from './session.js'
import { namesIn, type Ownership } from '../plan/ownership.js'
import { respell } from '../plan/spelling.js'

/** The schemas of a scratch database: what the files make, and what resources.yaml wants. */
export const FROM = 'made_by_files'
export const TO = 'wanted'

/** Runs the up parts of files in a scratch database, which is left as it was, and `work` with the catalogue that they make. */
export function onReplayed<T>(
  scratch: Database,
  files: readonly Migration[],
  work: (session: Connection, made: Catalog) => Promise<T>,
): Promise<T> {
  return inScratch(scratch, files, async (session) =>
    work(session, await build(session, FROM, () => replay(session, files))),
  )
}

/** Runs `work` in a scratch database that can run the files, and leaves the database as it was. */
export async function inScratch<T>(
  scratch: Database,
  files: readonly Migration[],
  work: (session: Connection) => Promise<T>,
): Promise<T> {
  await loadExtensionsOf(scratch, files)
  return inDiscardedTransaction(scratch, async (session) => {
    // A server has limits that are meant for requests.
    await runAll(session, ["set local statement_timeout = '0'", "set local idle_in_transaction_session_timeout = '0'"])
    return work(session)
  })
}

/** Makes the extensions that files ask for available, where they come with the database. */
export async function loadExtensionsOf(database: Database, files: readonly Migration[]): Promise<void> {
  await database.loadExtensions?.(files.flatMap(({ extensions }) => extensions))
}

/** Makes a schema, fills it, and reads what is there then. */
export async function build(session: Connection, schema: string, fill: () => Promise<void>): Promise<Catalog> {
  await runAll(session, [`create schema ${schema}`, `set local search_path = ${schema}`])
  await fill()
  return catalogOf(session, schema)
}

/**
 * The search path is set anew, because a file may have changed it; without it, definitions would name the schema. What is read
 * here becomes SQL of the plan, so it has the spelling that comes back when it is run.
 */
export async function catalogOf(session: Connection, schema: string): Promise<Catalog> {
  await runAll(session, [`set local search_path = ${schema}`])
  return respell(session, await readCatalog(session, schema))
}

/** Makes the schema of files, and tells whose constraints and indexes these are. */
export async function buildOwned(
  session: Connection,
  files: readonly Migration[],
): Promise<{ readonly made: Catalog; readonly owns: Ownership }> {
  const first = files.findIndex(({ owns }) => owns !== undefined)
  const [before, after] = first < 0 ? [files, []] : [files.slice(0, first), files.slice(first)]
  let unrecorded: Ownership['unrecorded'] = new Set()
  const made = await build(session, FROM, async () => {
    await replay(session, before)
    unrecorded = await namesIn(session, FROM)
    await replay(session, after)
  })
  return { made, owns: { recorded: new Set(after.flatMap(({ owns = [] }) => owns)), unrecorded } }
}

/** Runs the up parts of files, as if each had a transaction of its own. */
export async function replay(session: Connection, files: readonly Migration[]): Promise<void> {
  for (const file of files) {
    await runAll(session, [`set local search_path = ${FROM}`])
    await runPart(session, file, 'up').catch((error: unknown) => {
      throw isWithoutExtension(error) ? withHelp(error) : error
    })
    // What would have happened at the end of the migration's own transaction.
    await runAll(session, ['set constraints all immediate'])
  }
}

/** What PostgreSQL says of an extension whose files its server does not have: version 15 and later, and earlier versions. */
const UNAVAILABLE: ReadonlySet<string | undefined> = new Set(['0A000', '58P01'])

const isWithoutExtension = (error: unknown): error is MigrationError =>
  error instanceof MigrationError && UNAVAILABLE.has(sqlState(error)) && /\bextension\b/.test(error.message)

function withHelp({ faults, cause }: MigrationError): MigrationError {
  const help = [
    'Migrations are tried in an embedded database, which has only the extensions that come with PostgreSQL itself',
    'Name an empty PostgreSQL database whose server has the extension: --scratch URL, or DATABASE_SCRATCH_URL',
  ]
  return new MigrationError(faults, help, cause)
}

/** Runs statements one after the other. */
export async function runAll(session: Connection, statements: readonly string[]): Promise<void> {
  for (const text of statements) await session.query({ text, values: [] })
}
