import { setTimeout as delay } from 'node:timers/promises'
import {
  type AppSpec,
  ConsentNeeded,
  type Database,
  describeLoss,
  describeNewer,
  differencesFromLater,
  type MigrationFolder,
  migrateUp,
  migrationStatus,
  newerIn,
  objectsOf,
  Problem,
  schemaDifferences,
} from '../../src/internal.js'
import { projectFolders } from '../context.js'
import { Failure } from '../failure.js'
import type { Log } from './log.js'
import { count } from '../output.js'

/** Milliseconds between two looks at a database that is away. */
const PAUSE = 500

/**
 * Whether the database answers.
 * @throws DatabaseRefused when waiting cannot help
 */
export async function isReachable(database: Database): Promise<boolean> {
  try {
    await database.probe()
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}

/** Resolves once the database answers, or when the signal is given. */
export async function untilReachable(database: Database, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await isReachable(database))) {
    await delay(PAUSE, undefined, { signal }).catch(() => {})
  }
}

interface Preparation {
  readonly spec: AppSpec
  readonly database: Database
  /** Apply pending migrations even where that is not the custom. */
  readonly migrate: boolean
  readonly log: Log
}

/**
 * Looks whether the database is there, says so when it is not, and brings its schema up to date if it is.
 * @throws as `prepareSchema` does
 */
export async function prepareDatabase(preparation: Preparation): Promise<'ready' | 'away'> {
  const { database, log } = preparation
  if (await isReachable(database)) {
    await prepareSchema(preparation)
    return 'ready'
  }
  log.warn({ event: 'database_away', msg: 'the database cannot be reached: requests are answered 503 until it can' })
  return 'away'
}

/**
 * Makes sure that the database has the schema which the configuration describes.
 * @throws Failure 2 when migrations are pending and may not be applied, and when they do not lead to that schema
 */
export async function prepareSchema(preparation: Preparation): Promise<void> {
  await applyPending(preparation)
  const { spec, database, log } = preparation
  const newer = newerIn(await migrationStatus(database, projectFolders(spec.file).migrations))
  if (newer.length === 0) {
    const differences = await schemaDifferences(spec, database)
    if (differences.length > 0) throw differenceFailure(differences)
    return
  }
  const misfits = await differencesFromLater(spec, database)
  if (misfits.length > 0) throw laterFailure(newer, misfits)
  const msg = `a later version of the project has applied ${newer.join(', ')}: all that this version uses is there`
  log.info({ event: 'schema_newer', migrations: newer, msg })
}

/** States of a migration with which no server starts. */
const IN_THE_WAY: ReadonlySet<string> = new Set(['pending', 'changed', 'missing'])

/** Whether every migration is applied as its file says and the schema of the database serves a configuration; changes nothing. */
export async function schemaServes(spec: AppSpec, database: Database): Promise<boolean> {
  const states = await migrationStatus(database, projectFolders(spec.file).migrations)
  if (states.some(({ state }) => IN_THE_WAY.has(state))) return false
  const findDifferences = newerIn(states).length > 0 ? differencesFromLater : schemaDifferences
  return (await findDifferences(spec, database)).length === 0
}

/**
 * Applies the migrations that are pending, where that may be done.
 * @throws Failure 2 where it may not
 */
export async function applyPending({ spec, database, migrate, log }: Preparation): Promise<void> {
  const { migrations } = projectFolders(spec.file)
  const pending = await pendingOf(database, migrations)
  if (pending.length > 0 && !migrate && database.whenPending === 'refuse') throw pendingFailure(pending)
  // Also when nothing is pending: it refuses files that are not the ones that were applied.
  await migrateUp(database, migrations, {
    report: ({ name, milliseconds }) =>
      log.info({
        event: 'migrated',
        migration: name,
        ms: milliseconds,
        msg: `applied the migration ${name} in ${milliseconds} ms`,
      }),
  }).catch((error: unknown) => {
    throw error instanceof ConsentNeeded ? consentFailure(error) : error
  })
}

/**
 * Makes sure that the schema of the database is the one of the configuration, changing nothing.
 * @throws Failure 2 when migrations are pending, or did not lead to it
 */
export async function requireSchema(spec: AppSpec, database: Database, migrations: MigrationFolder): Promise<void> {
  const pending = await pendingOf(database, migrations)
  if (pending.length > 0) throw pendingFailure(pending)
  const differences = await schemaDifferences(spec, database)
  if (differences.length > 0) throw differenceFailure(differences)
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

/** A server that starts asks nobody. */
function consentFailure({ losses }: ConsentNeeded): Failure {
  const told = losses.map(describeLoss).join('; ')
  const flag = `--allow-destructive=${objectsOf(losses).join(',')}`
  return new Failure(3, `a pending migration destroys data: ${told}`, [
    `apply it yourself: snippetctl migrate up ${flag}`,
  ])
}

function laterFailure(newer: readonly string[], misfits: readonly string[]): Failure {
  const { applied, version } = describeNewer(newer)
  return new Failure(2, `${applied}, and this one does not fit: ${misfits.join('; ')}`, [`run ${version}`])
}

function differenceFailure(differences: readonly string[]): Failure {
  return new Failure(2, `the database does not have the schema of the configuration: ${differences.join('; ')}`, [
    'write the migration that is missing: snippetctl migrate plan --write NAME',
  ])
}
