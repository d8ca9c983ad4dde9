import {
  type AppSpec,
  type MigrationPlan,
  type MigrationStep,
  openScratch,
  planMigration,
  writeMigration,
} from '../src/index.js'
import { type CliContext, type CommonOptions, projectFolders, requireApplication, shownPath } from './context.js'
import { type ExitCode, Failure } from './failure.js'
import { alignColumns, count, type Output } from './output.js'

export interface PlanOptions extends CommonOptions {
  /** `true` without a name. */
  readonly write?: string | true
  readonly sql?: true
  readonly json?: true
  readonly exitCode?: true
}

/** `migrate plan`: what the files in the folder of migrations lack. Opens no database of the user's. */
export async function plan(context: CliContext, options: PlanOptions): Promise<ExitCode> {
  const { spec } = await requireApplication(context, options)
  const { migrations } = projectFolders(spec.file)
  const planned = await planInScratch(spec, migrations)
  if (options.json) context.out.line(JSON.stringify({ schemaVersion: 1, ...toJson(planned) }))
  else if (options.sql) printSql(context.out, planned)
  else printPlan(context.out, planned)
  if (options.write !== undefined) await write(context, migrations, options.write, planned)
  return options.exitCode && !isEmpty(planned) ? 1 : 0
}

async function planInScratch(spec: AppSpec, folder: string): Promise<MigrationPlan> {
  const scratch = await openScratch()
  try {
    return await planMigration(spec, folder, scratch)
  } finally {
    await scratch.close()
  }
}

const isEmpty = ({ steps, refusals }: MigrationPlan): boolean => steps.length === 0 && refusals.length === 0

function toJson({ steps, refusals, notes }: MigrationPlan) {
  const shown = steps.map(({ change, subject, detail, safety, risk, up }) => ({
    change,
    subject,
    detail,
    safety,
    risk,
    sql: up,
  }))
  return { steps: shown, refusals, notes }
}

function printSql(out: Output, { steps }: MigrationPlan): void {
  for (const statement of steps.flatMap(({ up }) => up)) out.line(`${statement};`)
}

const SIGNS: Readonly<Record<MigrationStep['change'], string>> = { add: '+', change: '~', drop: '-' }

function printPlan(out: Output, planned: MigrationPlan): void {
  const { steps, refusals, notes } = planned
  const rows = steps.map(({ change, subject, detail, risk }) => [
    `${SIGNS[change]} ${change}`,
    subject,
    detail,
    risk ?? '',
  ])
  for (const row of alignColumns(rows)) out.line(`  ${row}`)
  for (const refusal of refusals) out.line(`  ${out.colors.red('! refused')}  ${refusal}`)
  for (const note of notes) out.line(`  ${out.colors.dim(`note     ${note}`)}`)
  if (steps.length + refusals.length + notes.length > 0) out.line()
  out.line(isEmpty(planned) ? 'nothing to migrate: the files make the schema of the configuration' : summary(planned))
}

function summary({ steps, refusals }: MigrationPlan): string {
  const risky = steps.filter(({ safety }) => safety === 'risky').length
  const parts = [`${steps.length - risky} safe`, `${risky} risky`]
  return [...parts, ...(refusals.length > 0 ? [`${refusals.length} refused`] : [])].join(', ')
}

/** @throws Failure 1 when there is nothing that may be written */
async function write(context: CliContext, folder: string, name: string | true, planned: MigrationPlan): Promise<void> {
  if (isEmpty(planned)) throw new Failure(1, 'nothing was written: there is nothing to migrate')
  const { length } = planned.refusals
  if (length > 0) throw new Failure(1, `nothing was written: ${count(length, 'change')} cannot be made safely`)
  const file = await writeMigration(planned, folder, name === true ? undefined : name)
  context.err.line(`wrote ${shownPath(context, file)}`)
  context.err.line('  next   read it, then apply it: snippetctl migrate up')
}
