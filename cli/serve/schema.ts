import { setTimeout as delay } from 'node:timers/promises'
import {
  type AppSpec,
  ConsentNeeded,
  type Database,
  describeLoss,
  describeNewer,
  differencesFromLater,
  findSchemaDifferences,
  type MigrationFolder,
  migrateUp,
  migrationStatus,
  newerIn,
  shellWord,
  objectsOf,
  Problem,
  schemaDifferences,
  type SchemaDifference,
} from '../../src/internal.js'
import { projectFolders } from '../context.js'
import { encodingWarning } from '../database/encoding.js'
import { uncheckedWarning } from '../database/unchecked.js'
import { Failure } from '../failure.js'
import type { Log } from './log/log.js'
import { closeApplied, finishGrowth } from './open-migration.js'
import { count, firstOf } from '../output.js'

const PROBE_INTERVAL_MS = 500

/** @throws DatabaseRejected if waiting cannot help */
export async function isReachable(database: Database): Promise<boolean> {
  return (await reasonUnreachable(database)) === undefined
}

/** Returns why the database is not reachable, to append to a sentence: ` (ECONNREFUSED)`, or empty; undefined if it is. */
export async function reasonUnreachable(database: Database): Promise<string | undefined> {
  try {
    await database.probe()
    return undefined
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { code, message } = (error.cause ?? {}) as NodeJS.ErrnoException
    // Node's error for a name with several addresses has no message.
    return code === undefined ? '' : ` (${message || code})`
  }
}

/** Resolves once the database is reachable, or when the signal aborts. */
export async function untilReachable(database: Database, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await isReachable(database))) {
    await delay(PROBE_INTERVAL_MS, undefined, { signal }).catch(() => {})
  }
}

interface Preparation {
  readonly spec: AppSpec
  readonly database: Database
  /** Applies pending migrations even on a PostgreSQL server. */
  readonly migrate: boolean
  readonly log: Log
}

/**
 * Brings the schema up to date if the database is reachable, and logs a warning if it is not.
 * @throws as `prepareSchema` does
 */
export async function prepareDatabase(preparation: Preparation): Promise<'ready' | 'away'> {
  const { database, log } = preparation
  const reason = await reasonUnreachable(database)
  if (reason === undefined) {
    await prepareReached(preparation)
    return 'ready'
  }
  log.warn({ event: 'database_away', msg: `the database is unavailable${reason}: requests get 503 until it is back` })
  return 'away'
}

/**
 * Brings the schema of a database up to date that was reached for the first time, and warns if the database does not know its characters, or checks no foreign keys.
 * @throws as `prepareSchema` does
 */
export async function prepareReached(preparation: Preparation): Promise<void> {
  const unknown = await encodingWarning(preparation.database)
  if (unknown) preparation.log.warn({ event: 'unknown_encoding', msg: `${unknown.message}; ${unknown.help}` })
  const unchecked = await uncheckedWarning(preparation.database)
  if (unchecked) preparation.log.warn({ event: 'unchecked', msg: `${unchecked.message}; ${unchecked.help}` })
  await prepareSchema(preparation)
}

/**
 * Makes sure that the database has the schema of the configuration.
 * @throws Failure 2 if pending migrations may not be applied, or if the schema differs after all migrations
 */
export async function prepareSchema(preparation: Preparation): Promise<void> {
  const { spec, database, log } = preparation
  await applyPending(preparation)
  const newer = newerIn(await migrationStatus(database, projectFolders(spec.file).migrations))
  if (newer.length === 0) {
    await rejectDifferences(spec, database)
    return
  }
  const misfits = await differencesFromLater(spec, database)
  if (misfits.length > 0) throw laterFailure(newer, misfits)
  const msg = `a later version of the project has applied ${newer.join(', ')}; the schema still serves this version`
  log.info({ event: 'schema_newer', migrations: newer, msg })
}

/** States of a migration that keep a server from starting. */
const BLOCKING_STATES: ReadonlySet<string> = new Set(['pending', 'changed', 'missing', 'partial'])

/** Whether all migrations are applied and the schema serves the configuration. Changes nothing. */
export async function schemaServes(spec: AppSpec, database: Database): Promise<boolean> {
  const states = await migrationStatus(database, projectFolders(spec.file).migrations)
  if (states.some(({ state }) => BLOCKING_STATES.has(state))) return false
  const findDifferences = newerIn(states).length > 0 ? differencesFromLater : schemaDifferences
  return (await findDifferences(spec, database)).length === 0
}

/**
 * Applies pending migrations.
 * @throws Failure 2 if the database is a PostgreSQL server and `migrate` is not set
 */
export async function applyPending({ spec, database, migrate, log }: Preparation): Promise<void> {
  const { migrations } = projectFolders(spec.file)
  const pending = await pendingOf(database, migrations)
  if (pending.length > 0 && !migrate && database.whenPending === 'reject') throw pendingFailure(pending)
  await finishGrowth(spec.file, database)
  // Also when nothing is pending: it rejects files that changed after they were applied.
  const applied = await migrateUp(database, migrations, {
    report: ({ name, milliseconds, lost }) => {
      const msg = `applied the migration ${name} in ${milliseconds} ms`
      log.info({ event: 'migrated', migration: name, ms: milliseconds, msg })
      for (const { view, sql, message } of lost)
        log.warn({ event: 'view_part_lost', migration: name, view, sql, msg: message })
    },
  }).catch((error: unknown) => {
    throw error instanceof ConsentNeeded ? consentFailure(error) : error
  })
  await closeApplied(spec.file, applied)
}

/**
 * Checks that the database has the schema of the configuration. Changes nothing.
 * @throws Failure 2 if migrations are pending, or the schema differs
 */
export async function requireSchema(spec: AppSpec, database: Database, migrations: MigrationFolder): Promise<void> {
  const pending = await pendingOf(database, migrations)
  if (pending.length > 0) throw pendingFailure(pending)
  await rejectDifferences(spec, database)
}

async function pendingOf(database: Database, folder: MigrationFolder): Promise<readonly string[]> {
  const states = await migrationStatus(database, folder)
  return states.filter(({ state }) => state === 'pending').map(({ name }) => name)
}

function pendingFailure(pending: readonly string[]): Failure {
  const verb = pending.length === 1 ? 'is' : 'are'
  return new Failure(2, `${count(pending.length, 'migration')} ${verb} pending: ${pending.join(', ')}`, [
    'apply them first: snippetctl migrate up',
    'or let the server apply them: snippetctl serve --migrate',
  ])
}

/** A starting server cannot ask for consent. */
function consentFailure({ losses }: ConsentNeeded): Failure {
  const lost = losses.map(describeLoss).join('; ')
  const flag = `--allow-destructive=${shellWord(objectsOf(losses).join(','))}`
  return new Failure(3, `a pending migration destroys data: ${lost}`, [
    `apply it yourself: snippetctl migrate up ${flag}`,
  ])
}

function laterFailure(newer: readonly string[], misfits: readonly string[]): Failure {
  const { applied, version } = describeNewer(newer)
  return new Failure(2, `${applied}, and its schema does not fit this version: ${misfits.join('; ')}`, [
    `run ${version}`,
  ])
}

/** A database of other tables lacks all of them; a longer list would not be read. */
const MAX_DIFFERENCES = 10

async function rejectDifferences(spec: AppSpec, database: Database): Promise<void> {
  const differences = await findSchemaDifferences(spec, database, { isOlder: false })
  if (differences.length === 0) return
  const shown = firstOf(
    differences.map(({ text }) => text),
    MAX_DIFFERENCES,
  )
  const message = `the database does not have the schema of the configuration: ${shown.join('; ')}`
  throw new Failure(2, message, differenceHelp(differences))
}

/** How to make a database and a configuration agree. */
export function differenceHelp(differences: readonly SchemaDifference[]): readonly string[] {
  return [
    ...(differences.some(({ isUnmanaged }) => !isUnmanaged) ? MIGRATION_HELP : []),
    ...(differences.some(({ isUnmanaged }) => isUnmanaged) ? OTHERS_HELP : []),
  ]
}

const MIGRATION_HELP = [
  'write the missing migration: snippetctl migrate plan --write NAME',
  'or, if nothing is to be migrated, see how the database differs from the files: snippetctl migrate status',
]
const OTHERS_HELP = [
  'if the tables of other programs have changed, change the configuration too: snippetctl introspect --update',
  'if they are missing, check that `DATABASE_URL` names their database; migrations create the tables of models with `managed: true`',
]
