import type { Knex } from 'knex'
import type { Database } from '../../db/database.js'
import { buildIndexes } from './build-indexes.js'
import {
  type Allows,
  ConsentNeeded,
  type Inventory,
  isAllowed,
  lossesBetween,
  lossesOfFiles,
  takeInventory,
} from './consent.js'
import { runPart } from '../files/code.js'
import { isOutside } from '../files/concurrent.js'
import { MigrationError } from '../files/error.js'
import { type Migration, type MigrationFolder, readMigrations } from '../files/files.js'
import {
  compareJournal,
  createJournal,
  JOURNAL,
  type MigrationStatus,
  refuseDisagreement,
  refuseNewer,
} from '../files/journal.js'
import { asOnlyMigrator, type MigratingSession } from './lock.js'
import { loadExtensionsOf } from './scratch.js'

/** A migration that was applied or reverted just now. */
export interface Done {
  readonly name: string
  readonly milliseconds: number
}

type Direction = 'up' | 'down'

/** Each migration of a directory and whether it is applied. Writes nothing. */
export async function migrationStatus(
  database: Database,
  directory: MigrationFolder,
): Promise<readonly MigrationStatus[]> {
  return compareJournal(database, await readMigrations(directory))
}

/** How a run goes. */
export interface RunOptions {
  /** Told of each migration as soon as it is done. */
  readonly report?: (done: Done) => void
  /** What may be destroyed, by its name; nothing when left out. */
  readonly allows?: Allows
}

/**
 * Applies every pending migration, each in a transaction of its own; indexes that are built `concurrently` outside of one.
 * @throws ConsentNeeded when one of them destroys what nobody allowed: nothing is applied, unless a file hides it. MigrationError
 * when the files and the journal disagree (nothing is applied), or when one fails: it is rolled back whole, and later ones are not run.
 */
export async function migrateUp(
  database: Database,
  directory: MigrationFolder,
  options: RunOptions = {},
): Promise<readonly Done[]> {
  const files = await readMigrations(directory)
  const statuses = await compareJournal(database, files)
  refuseDisagreement(statuses)
  // A service without the right to change tables starts as long as there is nothing to change.
  const pending = statuses.filter(({ state }) => state === 'pending').map(({ name }) => name)
  if (pending.length === 0) return []
  return repeat(database, { ...options, files, direction: 'up', names: pending })
}

/**
 * Reverts the migrations that were applied last, each in a transaction of its own.
 * @throws ConsentNeeded when they destroy what nobody allowed: nothing is reverted. MigrationError when the files and the journal
 * disagree, when a file has no down part, or when one fails.
 */
export async function migrateDown(
  database: Database,
  directory: MigrationFolder,
  { steps = 1, ...options }: RunOptions & { readonly steps?: number } = {},
): Promise<readonly Done[]> {
  const files = await readMigrations(directory)
  const statuses = await compareJournal(database, files)
  refuseDisagreement(statuses)
  refuseNewer(statuses, 'revert earlier migrations')
  const applied = statuses.filter(({ state }) => state === 'applied').map(({ name }) => name)
  if (applied.length === 0) return []
  return repeat(database, { ...options, files, direction: 'down', names: applied.slice(-steps).reverse() })
}

/**
 * Records a migration as applied without running it, because the database has what it makes.
 * @throws MigrationError when the files and the journal disagree, or another one would have to be applied before
 */
export async function recordMigration(database: Database, directory: MigrationFolder, name: string): Promise<void> {
  const files = await readMigrations(directory)
  await asOnlyMigrator(database, async (session) => {
    await createJournal(session)
    const statuses = await compareJournal(session, files)
    refuseDisagreement(statuses)
    const file = files.find((each) => each.name === name)
    refuseNewer(statuses, 'write the next migration')
    if (!file || NEXT.up(statuses)?.name !== name)
      throw new MigrationError([`${name} is not the next migration`], ['Apply what is pending first'])
    await MIGRATE.up(session, { ...file, up: [], load: undefined }, files)
  })
}

interface Run extends RunOptions {
  readonly files: readonly Migration[]
  readonly direction: Direction
  /** The migrations, in the order in which they are run. */
  readonly names: readonly string[]
}

async function repeat(database: Database, run: Run): Promise<readonly Done[]> {
  const { files, direction, names, report, allows = () => false } = run
  const all: Done[] = []
  const affected = names.flatMap((name) => files.filter((file) => file.name === name))
  const unasked = (await lossesOfFiles(database, affected, direction)).filter(({ object }) => !allows(object))
  if (unasked.length > 0) throw new ConsentNeeded(unasked)
  if (direction === 'up') await loadExtensionsOf(database, affected)
  const start = await takeInventory(database)
  let began = performance.now()
  let built: Migration | undefined
  while (direction === 'up' || all.length < names.length) {
    const turn = { direction, start, allows, canBuild: database.concurrent, built: built?.name }
    const taken = await asOnlyMigrator(database, (session) => step(session, files, turn))
    if (taken === undefined) break
    built = taken.recorded ? undefined : taken.file
    if (built) {
      await buildIndexes(database, built.file, built[direction] ?? [])
      continue
    }
    const done = { name: taken.file.name, milliseconds: Math.round(performance.now() - began) }
    all.push(done)
    report?.(done)
    began = performance.now()
  }
  return all
}

interface Turn {
  readonly direction: Direction
  readonly start: Inventory
  readonly allows: Allows
  /** Whether indexes are built outside of the transaction. */
  readonly canBuild: boolean
  /** The migration whose indexes have been built just now, and which is to be recorded. */
  readonly built: string | undefined
}

/** What one turn came to: a migration that is recorded, or one whose indexes must be built before that. */
interface Taken {
  readonly file: Migration
  readonly recorded: boolean
}

/** One migration, or undefined when there is none left: another migrator may have been faster. */
async function step(
  session: MigratingSession,
  files: readonly Migration[],
  { direction, start, allows, canBuild, built }: Turn,
): Promise<Taken | undefined> {
  await createJournal(session)
  const statuses = await compareJournal(session, files)
  refuseDisagreement(statuses)
  if (direction === 'down') refuseNewer(statuses, 'revert earlier migrations')
  const name = NEXT[direction](statuses)?.name
  const file = files.find((each) => each.name === name)
  if (!file) return undefined
  if (direction === 'down' && !file.down) {
    throw new MigrationError(
      [`${file.file} has no down part, so that it cannot be reverted`],
      ['Write what reverts it into a new migration, and apply that'],
    )
  }
  const outside = canBuild && isOutside(file[direction])
  if (outside && built !== file.name) return { file, recorded: false }
  const before = await takeInventory(session)
  await MIGRATE[direction](session, outside ? { ...file, [direction]: [] } : file, files)
  // However a file spells it: what is gone now would be gone for good.
  const losses = lossesBetween(file.name, { start, before, after: await takeInventory(session) })
  const unasked = losses.filter((loss) => !isAllowed(loss, file[direction] ?? [], allows))
  if (unasked.length > 0) throw new ConsentNeeded(unasked)
  return { file, recorded: true }
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
 * Knex's migrator keeps the journal. Transaction and lock are ours: knex's own lock is a row that a killed process leaves
 * behind for ever, while within our transaction that row is never seen by others.
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
    // Missing files are refused before, by name.
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
  await runPart(session, migration, direction)
  await session.restoreSettings()
}
