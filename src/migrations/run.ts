import type { Knex } from 'knex'
import type { Database } from '../db/database.js'
import { MigrationError } from './error.js'
import { type Migration, readMigrations } from './files.js'
import { compareJournal, createJournal, JOURNAL, type MigrationStatus, refuseDisagreement } from './journal.js'
import { asOnlyMigrator, type MigratingSession } from './lock.js'
import { runStatements } from './session.js'

/** A migration that was applied or reverted just now. */
export interface Done {
  readonly name: string
  readonly milliseconds: number
}

type Direction = 'up' | 'down'

/** Each migration of a directory and whether it is applied. Writes nothing. */
export async function migrationStatus(database: Database, directory: string): Promise<readonly MigrationStatus[]> {
  return compareJournal(database, await readMigrations(directory))
}

/**
 * Applies every pending migration, each in a transaction of its own, and tells of each as soon as it is done.
 * @throws MigrationError when the files and the journal disagree (nothing is applied), or when one fails: it is rolled back
 * whole, and later ones are not run.
 */
export async function migrateUp(database: Database, directory: string, report = ignore): Promise<readonly Done[]> {
  const files = await readMigrations(directory)
  const statuses = await compareJournal(database, files)
  refuseDisagreement(statuses)
  // A service without the right to change tables starts as long as there is nothing to change.
  if (statuses.every(({ state }) => state === 'applied')) return []
  return repeat(database, report, (session) => step(session, files, 'up'))
}

/**
 * Reverts the migrations that were applied last, each in a transaction of its own.
 * @throws MigrationError when the files and the journal disagree, when a file has no down part, or when one fails.
 */
export async function migrateDown(
  database: Database,
  directory: string,
  steps = 1,
  report = ignore,
): Promise<readonly Done[]> {
  const files = await readMigrations(directory)
  const statuses = await compareJournal(database, files)
  refuseDisagreement(statuses)
  if (statuses.every(({ state }) => state === 'pending')) return []
  return repeat(database, report, (session) => step(session, files, 'down'), steps)
}

function ignore(_done: Done): void {}

async function repeat(
  database: Database,
  report: (done: Done) => void,
  work: (session: MigratingSession) => Promise<string | undefined>,
  times = Number.POSITIVE_INFINITY,
): Promise<readonly Done[]> {
  const all: Done[] = []
  while (all.length < times) {
    const start = performance.now()
    const name = await asOnlyMigrator(database, work)
    if (name === undefined) break
    const done = { name, milliseconds: Math.round(performance.now() - start) }
    all.push(done)
    report(done)
  }
  return all
}

/** One migration, or undefined when there is none left: another migrator may have been faster. */
async function step(
  session: MigratingSession,
  files: readonly Migration[],
  direction: Direction,
): Promise<string | undefined> {
  await createJournal(session)
  const statuses = await compareJournal(session, files)
  refuseDisagreement(statuses)
  const name = NEXT[direction](statuses)?.name
  const file = files.find((each) => each.name === name)
  if (!file) return undefined
  if (direction === 'down' && !file.down) {
    throw new MigrationError(
      [`${file.file} has no down part, so that it cannot be reverted`],
      ['Write what reverts it into a new migration, and apply that'],
    )
  }
  await MIGRATE[direction](session, file, files)
  return name
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
      getMigrations: async () => [...files],
      getMigrationName: ({ name }: Migration) => name,
      getMigration: async (migration: Migration) => ({
        up: () => runPart(session, migration.file, migration.up),
        down: () => runPart(session, migration.file, migration.down ?? []),
      }),
    },
  }
}

async function runPart(session: MigratingSession, file: string, statements: Migration['up']): Promise<void> {
  await runStatements(session, file, statements)
  await session.restoreSettings()
}
