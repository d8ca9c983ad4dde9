import { resolve } from 'node:path'
import {
  type AppSpec,
  type CountedPlan,
  type CountedStep,
  countRows,
  DatabaseRejected,
  declareRename,
  noteFunctions,
  noteStorage,
  onOneLine,
  rejectObstacles,
  type MigrationFolder,
  type MigrationPlan,
  migrationStatus,
  type MigrationStep,
  newerIn,
  planMigration,
  sumOfWaits,
  type Swap,
  wantsRows,
  writeMigration,
  writeWhole,
  isUnmanaged,
} from '../../src/internal.js'
import { type CliContext, type CommonOptions, projectFolders, requireSpec, shownPath } from '../context.js'
import { hasDatabase, openReachable } from '../database/database.js'
import { findLargeTables } from './large-tables.js'
import { measure } from './measure.js'
import { type ExitCode, Failure } from '../failure.js'
import { alignColumns, count, type Output } from '../output.js'
import { readConfigText } from '../project/config-text.js'
import { type Assignment, conversionsOf } from './conversions.js'
import { type ScratchOptions, withScratch } from './scratch.js'

export interface PlanOptions extends CommonOptions, ScratchOptions {
  /** `true` if the option has no value. */
  readonly write?: string | true
  readonly rename?: string
  readonly swap?: readonly Swap[]
  readonly using?: readonly Assignment[]
  readonly reverse?: readonly Assignment[]
  /** Undefined if the number of rows decides. */
  readonly concurrently?: boolean
  readonly measure?: true
  /** The URL of a database to measure on. */
  readonly on?: string
  readonly sql?: true
  readonly json?: true
  readonly exitCode?: true
}

/** `migrate plan`: compares the migrations with the configuration, and counts the affected rows in the database. */
export async function plan(context: CliContext, options: PlanOptions): Promise<ExitCode> {
  const undoRename =
    options.rename === undefined ? undefined : await writeRename(context, options.config, options.rename)
  const spec = await requireSpec(context, options)
  const { migrations } = projectFolders(spec.file)
  const findLarge = findLargeTables(context, { file: spec.file, concurrently: options.concurrently })
  const conversions = conversionsOf(options)
  const made = await withScratch(context, { ...options, tables: spec.models.length }, (scratch) =>
    planMigration(spec, migrations, scratch, { findLarge, conversions, swaps: options.swap ?? [] }),
  )
  if (undoRename && !made.steps.some(({ change }) => change === 'rename') && made.rejections.length === 0)
    await undoRename()
  const writes = options.write !== undefined
  const { planned, newer } = await inspectDatabase(context, spec, { planned: made, writes })
  if (options.json) context.out.data(JSON.stringify({ schemaVersion: 1, ...toJson(planned) }))
  else if (options.sql) printSql(context.out, planned)
  else printPlan(context.out, planned)
  if (newer.length > 0) context.err.line(`note: a later version of the project has applied ${newer.join(', ')}`)
  if (options.measure || options.on !== undefined) await measure(context, { spec, planned, on: options.on })
  if (options.write !== undefined && newer.length > 0)
    throw new Failure(1, `nothing was written: the next migration would come after ${newer.join(', ')}`, [
      'write it in the version of the project that has the file',
    ])
  if (options.write !== undefined) await write(context, migrations, options.write, { planned, spec })
  return options.exitCode && !isEmpty(planned) ? 1 : 0
}

interface Inspected {
  readonly planned: CountedPlan
  /** Migrations applied by a later version of the project. */
  readonly newer: readonly string[]
}

/** Counts rows, and finds migrations that are newer than the files. Without a database the plan is just less detailed. */
async function inspectDatabase(
  context: CliContext,
  { file }: AppSpec,
  { planned, writes }: { readonly planned: MigrationPlan; readonly writes: boolean },
): Promise<Inspected> {
  const counts = wantsRows(planned)
  if ((planned.steps.length === 0 && !writes) || !hasDatabase(context, file)) return { planned, newer: [] }
  const database = await openReachable(context, file).catch((error: unknown) => {
    if (!(error instanceof DatabaseRejected || error instanceof Failure)) throw error
    if (counts) context.err.line(`rows were not counted: ${error.message}`)
  })
  if (!database) return { planned, newer: [] }
  try {
    const statuses = await migrationStatus(database, projectFolders(file).migrations)
    const isCurrent = statuses.length > 0 && statuses.every(({ state }) => state === 'applied')
    const isPending = statuses.some(({ state }) => state === 'pending' || state === 'partial')
    const counted = counts ? await countRows(planned, database, isPending) : planned
    const noted = await noteStorage(await noteFunctions(counted, database), database)
    return { planned: isCurrent ? await rejectObstacles(noted, database) : noted, newer: newerIn(statuses) }
  } finally {
    await database.close()
  }
}

/**
 * Writes the rename into the configuration.
 * @returns a function that removes the rename again and throws, for migrations without a table or column of the former name
 * @throws Failure 2 if the rename does not fit the configuration
 */
async function writeRename(context: CliContext, config: string, rename: string): Promise<() => Promise<never>> {
  const file = resolve(context.cwd, config)
  const text = await readConfigText(context, file)
  const written = declareRename(text, shownPath(context, file), rename)
  if (typeof written !== 'string') throw new Failure(2, `--rename: ${written.message}`, written.help)
  await writeWhole(file, written)
  context.err.line(`added \`renamed_from\` to ${shownPath(context, file)}: ${rename.replace(':', ' is now ')}`)
  return async () => {
    await writeWhole(file, text)
    throw new Failure(2, `--rename: the migrations have no ${rename.slice(0, rename.lastIndexOf(':'))} to rename`, [
      `\`renamed_from\` was removed from ${shownPath(context, file)} again; the former name comes first: --rename old:new`,
    ])
  }
}

function isEmpty({ steps, rejections }: MigrationPlan): boolean {
  return steps.length === 0 && rejections.length === 0
}

function toJson({ steps, rejections, notes }: CountedPlan) {
  const shown = steps.map(({ change, subject, detail, safety, risk, waits, locks, count: rows, up }) => ({
    change,
    subject,
    detail,
    safety,
    risk,
    waits,
    locks: locks?.locks ?? [],
    works: locks?.works ?? [],
    rows: rows && { count: rows.rows ?? null, of: rows.of ?? null, says: rows.says },
    sql: up,
  }))
  return { steps: shown, rejections, notes }
}

function printSql(out: Output, { steps }: MigrationPlan): void {
  for (const statement of steps.flatMap(({ up }) => up)) out.data(`${statement};`)
}

const SIGNS: Readonly<Record<MigrationStep['change'], string>> = { add: '+', change: '~', rename: '>', drop: '-' }
const COLORS = { add: 'green', change: 'yellow', rename: 'cyan', drop: 'red' } as const

function shownChange({ change }: MigrationStep): string {
  return `${SIGNS[change]} ${change}`
}

function printPlan(out: Output, planned: CountedPlan): void {
  const { steps, rejections, notes } = planned
  const rows = alignColumns(
    steps.map((step) => [shownChange(step), onOneLine(step.subject), onOneLine(step.detail), riskOf(step)]),
  )
  steps.forEach((step, at) => {
    const change = shownChange(step)
    out.line(`  ${out.colors[COLORS[step.change]](change)}${rows[at]?.slice(change.length)}`)
  })
  const sum = sumOfWaits(steps)
  if (sum !== undefined) out.line(`  ${out.colors.yellow('locks')}    ${sum}`)
  for (const rejection of rejections) out.line(`  ${out.colors.red('! rejected')}  ${rejection}`)
  for (const note of notes) out.line(`  ${out.colors.dim(`note     ${note}`)}`)
  if (steps.length + rejections.length + notes.length > 0) out.line()
  out.line(isEmpty(planned) ? 'nothing to migrate: the files create the schema of the configuration' : summary(planned))
}

function riskOf({ risk, waits, count: counted }: CountedStep): string {
  const parts = (given: readonly (string | undefined)[], separator: string) =>
    given.filter((each) => each !== undefined && each !== '').join(separator)
  if (risk === undefined) return parts([waits, counted?.says], ': ')
  return parts([parts([risk, counted?.says], ': '), waits], '; ')
}

function summary({ steps, rejections }: MigrationPlan): string {
  const [safe, risky, destructive] = (['safe', 'risky', 'destructive'] as const).map(
    (safety) => steps.filter((step) => step.safety === safety).length,
  )
  return [
    `${safe} safe, ${risky} risky`,
    ...(destructive ? [`${destructive} destructive`] : []),
    ...(rejections.length > 0 ? [`${rejections.length} rejected`] : []),
  ].join(', ')
}

/** @throws Failure 1 if there is nothing to write, or a change is unsafe */
async function write(
  context: CliContext,
  folder: MigrationFolder,
  name: string | true,
  { planned, spec: { models } }: { readonly planned: MigrationPlan; readonly spec: AppSpec },
): Promise<void> {
  if (isEmpty(planned))
    throw new Failure(1, 'nothing was written: there is nothing to migrate', [
      ...(models.some(isUnmanaged)
        ? ['models with `managed: false` are left out; a model with `managed: true` gets a table']
        : []),
      'if the database lacks something, compare it with the files: snippetctl migrate status',
    ])
  const { length } = planned.rejections
  if (length > 0) throw new Failure(1, `nothing was written: ${count(length, 'change')} cannot be made safely`)
  const files = await writeMigration(planned, folder, name === true ? undefined : name)
  for (const file of files) context.err.line(`wrote ${shownPath(context, file)}`)
  for (const loss of planned.proof?.losses ?? []) context.err.line(`  ! \`migrate down\` cannot bring back ${loss}`)
  context.err.line('  next   read it, then apply it: snippetctl migrate up')
}
