import { existsSync } from 'node:fs'
import {
  type AppSpec,
  type Database,
  lockMeaning,
  measureMigration,
  type MigrationPlan,
  openCopy,
  openDatabase,
  openScratch,
} from '../../src/internal.js'
import { type CliContext, projectFolders } from '../context.js'
import { inWordsOf } from '../database/database.js'
import { Failure } from '../failure.js'
import { alignColumns } from '../output.js'

interface Measurement {
  readonly spec: AppSpec
  readonly planned: MigrationPlan
  /** The URL of the database to measure on; by default a copy of the embedded one. */
  readonly on: string | undefined
}

/**
 * `--measure`: runs the pending migrations and the plan on a database, reports locks and times, and rolls everything back.
 * @throws Failure if a step fails
 */
export async function measure(context: CliContext, { spec, planned, on }: Measurement): Promise<void> {
  const { migrations, embedded } = projectFolders(spec.file)
  const database = await openForMeasuring(context, embedded, on)
  try {
    const measured = await measureMigration(database, migrations, planned)
    const rows = measured
      .filter(({ outside }) => !outside)
      .map(({ subject, milliseconds, locks, rewritten, failure }) => [
        subject,
        `${milliseconds} ms`,
        locks.map(({ table, mode }) => `${table}: ${mode}, ${lockMeaning(mode)}`).join('; ') || 'no new lock',
        rewritten.length > 0 ? `rewrites ${rewritten.join(', ')}` : 'rewrites nothing',
        failure === undefined ? '' : `failed: ${failure}`,
      ])
    context.out.line()
    context.out.line(`measured on ${database.description}, and rolled back:`)
    for (const row of alignColumns(rows)) context.out.line(`  ${row}`)
    for (const { subject } of measured.filter(({ outside }) => outside))
      context.out.line(`  ${subject}  not measured, because it cannot be rolled back`)
    const failed = measured.find(({ failure }) => failure !== undefined)
    if (failed)
      throw new Failure(1, `a step failed, so those after it were not measured: ${failed.failure}`, [
        'change the rows that stand in the way, or the configuration',
      ])
  } finally {
    await database.close()
  }
}

function openForMeasuring({ env }: CliContext, embedded: string, on: string | undefined): Promise<Database> {
  if (on !== undefined)
    return inWordsOf({ DATABASE_URL: '--on' }, () => openDatabase({ url: on, directory: embedded }, env))
  return existsSync(embedded) ? openCopy(embedded) : openScratch()
}
