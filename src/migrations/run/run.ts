import type { Database, Knex } from '../../db/database.js'
import { runOutside } from './run-outside.js'
import { type Inventory, takeInventory } from '../consent/inventory.js'
import { type Allows, ConsentNeeded } from '../consent/loss.js'
import type { Unclear } from '../consent/losses-between.js'
import { lossesOfFiles } from '../consent/losses-of-files.js'
import { MeasureFirst, runWithConsent } from '../consent/run-with-consent.js'
import { runPart } from '../files/code.js'
import { isOutside } from '../files/concurrent.js'
import { MigrationError } from '../files/error.js'
import { type Migration, type MigrationFolder, readMigrations } from '../files/files.js'
import {
  compareJournal,
  createJournal,
  JOURNAL,
  type MigrationStatus,
  rejectDisagreement,
  rejectNewer,
} from '../files/journal.js'
import { lostViewParts, type LostViewPart } from '../plan/lost-view-parts.js'
import { withHelp } from './failure-help.js'
import { asOnlyMigrator, type MigratingSession } from './lock.js'
import { loadExtensionsOf } from './scratch.js'
import { startWatch, type Watch, type WatchReports } from './watch.js'

/** A migration that this run applied or reverted. */
export interface CompletedMigration {
  readonly name: string
  readonly milliseconds: number
  /** Grants and other parts of recreated views that only this database had. */
  readonly lost: readonly LostViewPart[]
}

type Direction = 'up' | 'down'

/** Returns the state of each migration of a folder. Changes nothing. */
export async function migrationStatus(
  database: Database,
  directory: MigrationFolder,
): Promise<readonly MigrationStatus[]> {
  return compareJournal(database, await readMigrations(directory))
}

/** The progress callbacks of a run, and its consent to data loss. */
export interface RunOptions extends WatchReports {
  /** Called after each migration. */
  readonly report?: (done: CompletedMigration) => void
  /** Whether a table or column may be destroyed; by default none may. */
  readonly allows?: Allows
}

/**
 * Applies all pending migrations, each in its own transaction. Files marked `transaction: none` run statement by statement.
 * @throws ConsentNeeded if a migration destroys objects without consent; nothing is applied, unless a file hides the destruction.
 * MigrationError if the files and the journal disagree (nothing is applied), or if a migration fails: it is rolled back, unless it runs statement by
 * statement, and later ones do not run.
 */
export async function migrateUp(
  database: Database,
  directory: MigrationFolder,
  options: RunOptions = {},
): Promise<readonly CompletedMigration[]> {
  const files = await readMigrations(directory)
  const statuses = await compareJournal(database, files)
  rejectDisagreement(statuses)
  // A service without the privilege to change tables can start while nothing is pending.
  const pending = statuses.filter(({ state }) => state === 'pending').map(({ name }) => name)
  if (pending.length === 0) return []
  return runMigrations(database, { ...options, files, direction: 'up', names: pending })
}

/**
 * Reverts the migrations that were applied last, each in its own transaction.
 * @throws ConsentNeeded if they destroy objects without consent; nothing is reverted, unless a file hides the destruction. MigrationError if the
 * files and the journal disagree, a file has no down part, another process migrates the database, or a migration fails.
 */
export async function migrateDown(
  database: Database,
  directory: MigrationFolder,
  { steps = 1, ...options }: RunOptions & { readonly steps?: number } = {},
): Promise<readonly CompletedMigration[]> {
  const files = await readMigrations(directory)
  const statuses = await compareJournal(database, files)
  rejectDisagreement(statuses)
  rejectNewer(statuses, 'revert earlier migrations')
  const applied = statuses.filter(({ state }) => state === 'applied').map(({ name }) => name)
  if (applied.length === 0) return []
  return runMigrations(database, { ...options, files, direction: 'down', names: applied.slice(-steps).reverse() })
}

/**
 * Records a migration as applied without running it, because its objects exist already.
 * @throws MigrationError if the files and the journal disagree, or another migration must be applied first
 */
export async function recordMigration(database: Database, directory: MigrationFolder, name: string): Promise<void> {
  const files = await readMigrations(directory)
  await asOnlyMigrator(database, async (session) => {
    await createJournal(session)
    const statuses = await compareJournal(session, files)
    rejectDisagreement(statuses)
    const file = files.find((each) => each.name === name)
    rejectNewer(statuses, 'write the next migration')
    if (!file || NEXT.up(statuses)?.name !== name)
      throw new MigrationError([`${name} is not the next migration`], ['Apply pending migrations first'])
    await MIGRATE.up(session, { ...file, up: [], load: undefined }, files)
  })
}

interface MigrationRun extends RunOptions {
  readonly files: readonly Migration[]
  readonly direction: Direction
  /** The migrations, in the order of the run. */
  readonly names: readonly string[]
}

async function runMigrations(database: Database, run: MigrationRun): Promise<readonly CompletedMigration[]> {
  const { files, direction, names, report, allows = () => false } = run
  const all: CompletedMigration[] = []
  const affected = names.flatMap((name) => files.filter((file) => file.name === name))
  const unconfirmed = (await lossesOfFiles(database, affected, direction)).filter(({ object }) => !allows(object))
  if (unconfirmed.length > 0) throw new ConsentNeeded(unconfirmed)
  if (direction === 'up') await loadExtensionsOf(database, affected)
  let start = await takeInventory(database)
  let measure: readonly Unclear[] = []
  const watch = startWatch(database, run)
  let began = performance.now()
  let finished: Migration | undefined
  try {
    while (direction === 'up' || all.length < names.length) {
      const expected = direction === 'down' ? names[all.length] : undefined
      const canRunOutside = database.concurrent
      const options = { direction, expected, start, allows, measure, canRunOutside, finished: finished?.name, watch }
      const taken = await asOnlyMigrator(database, (session) => step(session, files, options), watch).catch(
        unlessUnclear,
      )
      if (taken instanceof MeasureFirst) {
        measure = taken.tables
        continue
      }
      if (taken === undefined) break
      measure = []
      start = { ...start, objects: new Map([...start.objects, ...taken.filled]) }
      finished = taken.recorded ? undefined : taken.file
      if (finished) {
        await runOutside(database, { file: finished.file, part: finished[direction] ?? [], watch })
        continue
      }
      const milliseconds = Math.round(performance.now() - began)
      const done = { name: taken.file.name, milliseconds, lost: taken.lost }
      all.push(done)
      report?.(done)
      began = performance.now()
    }
  } finally {
    watch.stop()
  }
  return all
}

function unlessUnclear(error: unknown): MeasureFirst {
  if (error instanceof MeasureFirst) return error
  throw error
}

/** Wraps a session so that it reports the progress through the statements of a file. */
function counting(session: MigratingSession, of: number, watch: Watch): Pick<MigratingSession, 'query'> {
  let statement = 0
  return {
    query(text) {
      statement += 1
      watch.at({ statement, of })
      return session.query(text)
    },
  }
}

interface StepOptions {
  readonly direction: Direction
  /** The migration to revert; undefined if any is next, because migrators that start together share the pending ones. */
  readonly expected: string | undefined
  readonly start: Inventory
  readonly allows: Allows
  /** The tables to measure before the migration. */
  readonly measure: readonly Unclear[]
  /** Whether statements can run outside a transaction. */
  readonly canRunOutside: boolean
  /** The migration whose statements have run outside a transaction, and which must still be recorded. */
  readonly finished: string | undefined
  readonly watch: Watch
}

/** The result of one step: a recorded migration, or one that must run outside a transaction first. */
interface StepResult {
  readonly file: Migration
  readonly recorded: boolean
  readonly lost: readonly LostViewPart[]
  /** New partitions since the start of the run, which may now have rows of older partitions. */
  readonly filled: ReadonlyMap<string, string>
}

/** Runs the next migration; returns undefined if none is left. Another migrator may have run some of them. */
async function step(
  session: MigratingSession,
  files: readonly Migration[],
  { direction, expected, start, allows, measure, canRunOutside, finished, watch }: StepOptions,
): Promise<StepResult | undefined> {
  await createJournal(session)
  const statuses = await compareJournal(session, files)
  rejectDisagreement(statuses)
  if (direction === 'down') rejectNewer(statuses, 'revert earlier migrations')
  const name = NEXT[direction](statuses)?.name
  if (expected !== undefined && name !== expected) {
    throw new MigrationError(
      [`${expected} is not the last applied migration any more, because another process has migrated the database`],
      ['See which migrations are applied: snippetctl migrate status'],
    )
  }
  const file = files.find((each) => each.name === name)
  if (!file) return undefined
  if (direction === 'down' && !file.down) {
    throw new MigrationError(
      [`${file.file} has no down part, so it cannot be reverted`],
      ['Write a new migration that reverts it, and apply that'],
    )
  }
  const outside = canRunOutside && isOutside(file[direction])
  if (outside && finished !== file.name) return { file, recorded: false, lost: [], filled: new Map() }
  const migrated = outside ? { ...file, [direction]: [] } : file
  let filled: ReadonlyMap<string, string> = new Map()
  const lost = await lostViewParts(
    session,
    migrated[direction] ?? [],
    file[direction === 'up' ? 'down' : 'up'] ?? [],
    async () => {
      const consent = { file, statements: file[direction] ?? [], start, allows, measure }
      filled = await runWithConsent(session, consent, (observed) => {
        const watched = { ...observed, ...counting(observed, file[direction]?.length ?? 0, watch) }
        return MIGRATE[direction](watched, migrated, files)
      })
    },
  )
  return { file, recorded: true, lost, filled }
}

const NEXT: Readonly<Record<Direction, (statuses: readonly MigrationStatus[]) => MigrationStatus | undefined>> = {
  up: (statuses) => statuses.find(({ state }) => state === 'pending'),
  down: (statuses) => statuses.findLast(({ state }) => state === 'applied'),
}

const MIGRATE: Readonly<
  Record<Direction, (session: MigratingSession, file: Migration, files: readonly Migration[]) => Promise<void>>
> = {
  async up(session, file, files) {
    await session.trx.migrate.up(knexConfig(session, file, files))
    await session.trx(JOURNAL).where({ name: file.name }).update({ checksum: file.checksum })
  },
  async down(session, file, files) {
    await session.trx.migrate.down(knexConfig(session, file, files))
  },
}

/**
 * Knex's migrator writes the journal, but we hold the transaction and the lock: knex locks with a row that a killed process would leave behind
 * for ever. Inside our transaction nobody else sees that row.
 */
function knexConfig(
  session: MigratingSession,
  file: Migration,
  files: readonly Migration[],
): Knex.MigratorConfig & { name: string } {
  return {
    name: file.name,
    tableName: JOURNAL,
    disableTransactions: true,
    // Missing files have been reported already.
    disableMigrationsListValidation: true,
    migrationSource: {
      getMigrations: async () => files.map((each) => (each.name === file.name ? file : each)),
      getMigrationName: ({ name }: Migration) => name,
      getMigration: async (migration: Migration) => ({
        up: () => runOne(session, migration, 'up'),
        down: () => runOne(session, migration, 'down'),
      }),
    },
  }
}

async function runOne(session: MigratingSession, migration: Migration, direction: Direction): Promise<void> {
  await runPart(session, migration, direction).catch((error: unknown) => {
    throw withHelp(error, direction)
  })
  await session.restoreSettings()
}
