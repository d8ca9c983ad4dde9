import {
  type Drift,
  findSchemaDifferences,
  type MigrationStatus,
  migrationStatus,
  newerIn,
  readDrift,
  type SchemaDifference,
  shellWord,
} from '../../src/internal.js'
import { type CliContext, type CommonOptions, requireSpec } from '../context.js'
import { onDatabase } from '../database/database.js'
import type { ExitCode } from '../failure.js'
import { alignColumns } from '../output.js'
import { type ScratchOptions, withScratch } from './scratch.js'

export interface StatusOptions extends CommonOptions, ScratchOptions {
  readonly json?: true
}

/** `migrate status`: lists applied and pending migrations, and differences between the database and the files. */
export async function status(context: CliContext, options: StatusOptions): Promise<ExitCode> {
  const spec = await requireSpec(context, options)
  return onDatabase<ExitCode>(context, spec, async (database, folder) => {
    const migrations = await migrationStatus(database, folder)
    const applied = migrations.every(({ state }) => state === 'applied' || state === 'newer')
    const newer = newerIn(migrations)
    // Until the last migration is applied, differences are expected.
    const differences = applied ? await findSchemaDifferences(spec, database, { isOlder: newer.length > 0 }) : []
    // Objects that a later version made are not drift, and no file here describes them.
    const drift =
      applied && migrations.length > 0 && newer.length === 0
        ? await withScratch(context, { ...options, tables: spec.models.length }, (scratch) =>
            readDrift(database, folder, scratch),
          )
        : []
    const ok = applied && differences.length === 0 && drift.length === 0
    const texts = differences.map(({ text }) => text)
    if (options.json)
      context.out.data(
        JSON.stringify({ schemaVersion: 1, ok, migrations: migrations.map(toJson), differences: texts, drift }),
      )
    else printStatus(context, { migrations, differences, drift })
    return ok ? 0 : 1
  })
}

function toJson({ name, state, appliedAt }: MigrationStatus) {
  return { name, state, appliedAt: appliedAt ?? null }
}

interface ShownStatus {
  readonly migrations: readonly MigrationStatus[]
  readonly differences: readonly SchemaDifference[]
  readonly drift: readonly Drift[]
}

function printStatus({ out, err }: CliContext, { migrations, differences, drift }: ShownStatus): void {
  const rows = migrations.map(({ name, state, appliedAt }) => [
    state,
    name,
    appliedAt ?? '-',
    STATE_DESCRIPTIONS[state],
  ])
  const [header = '', ...lines] = alignColumns([['STATUS', 'MIGRATION', 'APPLIED (UTC)', 'FILE'], ...rows])
  if (rows.length === 0) err.line('there are no migrations')
  else for (const line of [out.colors.dim(header), ...lines]) out.line(line)
  if (newerIn(migrations).length > 0)
    err.line('a later version of the project has migrated this database: its additions are not compared')
  if (drift.length + differences.length > 0) out.line()
  for (const { text, repair } of drift) {
    out.line(`${out.colors.red('drift')}    ${text}`)
    out.line(`  = help: ${helpOf(repair)}`)
  }
  for (const { text } of differences) out.line(`${out.colors.red('differs')}  ${text}`)
  if (migrations.some(({ state }) => ['changed', 'missing', 'partial'].includes(state)))
    err.line('  = help: put the files back, or correct the journal: snippetctl migrate resolve')
  if (migrations.some(({ state }) => state === 'pending'))
    err.line('  = help: apply the pending migrations: snippetctl migrate up')
  if (differences.some(({ isUnmanaged }) => isUnmanaged))
    err.line(
      '  = help: change the tables in the program that owns them, or change their models; for details: snippetctl check --database',
    )
  if (!differences.every(({ isUnmanaged }) => isUnmanaged))
    err.line(
      `  = help: ${drift.length > 0 ? 'repair the drift first; then ' : ''}list the differences: snippetctl migrate plan`,
    )
}

function helpOf(repair: Drift['repair']): string {
  if ('adopt' in repair) return `keep it: snippetctl migrate adopt ${shellWord(repair.adopt)}`
  return 'sql' in repair
    ? `put it back: ${repair.sql}`
    : `keep it: write a migration with \`${repair.migrate}\`, and add the value to the \`choices\` of its fields`
}

const STATE_DESCRIPTIONS: Readonly<Record<MigrationStatus['state'], string>> = {
  applied: 'ok',
  pending: 'ok',
  changed: 'changed on disk since it was applied',
  missing: 'missing',
  newer: 'of a later version',
  partial: 'only some of the files that it replaces are applied',
}
