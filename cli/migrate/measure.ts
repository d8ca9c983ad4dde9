import { existsSync } from 'node:fs'
import {
  type AppSpec,
  type Database,
  type HeldLock,
  isBlocking,
  lockMeaning,
  measureMigration,
  type MigrationPlan,
  openCopy,
  openDatabase,
} from '../../src/internal.js'
import { type CliContext, projectFolders } from '../context.js'
import { renamingInErrors } from '../database/database.js'
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
  const database = await openForMeasuring(context, { spec, on, embedded })
  try {
    if (on !== undefined) warn(context, planned, database.description)
    const measured = await measureMigration(database, migrations, planned)
    const rows = measured
      .filter(({ outside }) => !outside)
      .map(({ subject, milliseconds, locks, scanned, indexed, rewritten, failure }) => [
        subject,
        `${milliseconds} ms`,
        locks.map((lock) => shownLock(subject, lock)).join('; ') || 'no lock',
        shownWork({ scanned, indexed, rewritten }),
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
        'change the rows that prevent it, or the configuration',
      ])
  } finally {
    await database.close()
  }
}

/** Requests of a database that others use wait for the locks of the measurement. */
function warn({ err }: CliContext, { steps }: MigrationPlan, description: string): void {
  const locks = steps.flatMap((step) => step.locks?.locks ?? []).filter(({ mode }) => isBlocking(mode))
  const tables = [...new Set(locks.map(({ table }) => table))].toSorted()
  if (tables.length === 0) return
  const exclusive = tables.filter((table) =>
    locks.some((lock) => lock.table === table && lockMeaning(lock.mode).startsWith('reads')),
  )
  const writes = tables.filter((table) => !exclusive.includes(table))
  const waiting = [
    ...(exclusive.length > 0 ? [`reads and writes of ${exclusive.join(' and ')}`] : []),
    ...(writes.length > 0 ? [`writes of ${writes.join(' and ')}`] : []),
  ]
  err.line(`warning: until it is measured, ${waiting.join(', and ')} wait in ${description}`)
}

function shownLock(subject: string, { table, mode, since }: HeldLock): string {
  return `${table}: ${mode}${since === subject ? '' : ` since ${since}`}, ${lockMeaning(mode)}`
}

function shownWork(work: Readonly<Record<'scanned' | 'indexed' | 'rewritten', readonly string[]>>): string {
  const { rewritten } = work
  const indexed = work.indexed.filter((table) => !rewritten.includes(table))
  const scanned = work.scanned.filter((table) => !(rewritten.includes(table) || indexed.includes(table)))
  const parts = [
    ...rewritten.map((table) => `rewrites ${table}`),
    ...indexed.map((table) => `builds an index of ${table}`),
    ...scanned.map((table) => `reads ${table}`),
  ]
  return parts.join(', ') || 'reads no table'
}

function openForMeasuring(
  { env, openScratch }: CliContext,
  { spec, on, embedded }: Pick<Measurement, 'spec' | 'on'> & { readonly embedded: string },
): Promise<Database> {
  if (on !== undefined)
    return renamingInErrors({ DATABASE_URL: '--on' }, () => openDatabase({ url: on, directory: embedded }, env))
  return existsSync(embedded) ? openCopy(embedded) : openScratch(spec.models.length)
}
