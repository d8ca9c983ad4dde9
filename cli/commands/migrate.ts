import { type Command, InvalidArgumentError } from 'commander'
import {
  type AppSpec,
  type Database,
  migrateDown,
  migrateUp,
  type MigrationDone,
  type MigrationStatus,
  migrationStatus,
  openDatabase,
  schemaDifferences,
} from '../../src/index.js'
import { CONSENT_FLAG, CONSENT_TEXT, type ConsentOptions, parseConsent, withConsent } from '../consent.js'
import { type CliContext, type CommonOptions, projectFolders, requireApplication } from '../context.js'
import { type ExitCode, Failure } from '../failure.js'
import { alignColumns, count } from '../output.js'
import { isReachable } from '../schema.js'
import { plan, type PlanOptions } from '../plan.js'

interface UpOptions extends CommonOptions, ConsentOptions {}

interface DownOptions extends CommonOptions, ConsentOptions {
  readonly steps: number
}

interface StatusOptions extends CommonOptions {
  readonly json?: true
}

/** `migrate`: the schema of the database, one file of SQL after the other. */
export function addMigrate(program: Command, context: CliContext): void {
  const migrate = program
    .command('migrate')
    .description('bring the schema of the database to what the configuration describes')
    .helpCommand(false)
    .addHelpText('after', '\nExamples:\n  $ snippetctl migrate plan --write add_language\n  $ snippetctl migrate up')
  addPlan(migrate, context)
  addUp(migrate, context)
  addDown(migrate, context)
  addStatus(migrate, context)
}

function addPlan(migrate: Command, context: CliContext): void {
  migrate
    .command('plan')
    .description('show what the migrations lack to make the schema of the configuration; changes no database')
    .option('--write [name]', 'write it as the next migration, by this name or one that is made for it')
    .option('--sql', 'print the SQL')
    .option('--json', 'print one JSON document')
    .option('--exit-code', 'exit with 1 when there is something to migrate')
    .option(
      '--rename <old:new>',
      'first write into the configuration that new was called old: table.old:new, or old:new for a table',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ snippetctl migrate plan\n  $ snippetctl migrate plan --write add_language\n  $ snippetctl migrate plan --rename books.size:pages',
    )
    .action(async (options: PlanOptions) => context.finish(await plan(context, options)))
}

function addUp(migrate: Command, context: CliContext): void {
  migrate
    .command('up')
    .description('apply every pending migration')
    .option(CONSENT_FLAG, CONSENT_TEXT, parseConsent)
    .addHelpText(
      'after',
      '\nExamples:\n  $ snippetctl migrate up\n  $ DATABASE_URL=postgres://app@db/app snippetctl migrate up',
    )
    .action(async (options: UpOptions) => context.finish(await up(context, options)))
}

function addDown(migrate: Command, context: CliContext): void {
  migrate
    .command('down')
    .description('revert the last migration')
    .option('--steps <number>', 'how many to revert', parseSteps, 1)
    .option(CONSENT_FLAG, CONSENT_TEXT, parseConsent)
    .addHelpText(
      'after',
      '\nExamples:\n  $ snippetctl migrate down\n  $ snippetctl migrate down --steps 2 --allow-destructive=books.pages,authors',
    )
    .action(async (options: DownOptions) => context.finish(await down(context, options)))
}

function addStatus(migrate: Command, context: CliContext): void {
  migrate
    .command('status')
    .description('list the migrations; exit with 1 unless all are applied and unchanged')
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExamples:\n  $ snippetctl migrate status\n  $ snippetctl migrate status --json')
    .action(async (options: StatusOptions) => context.finish(await status(context, options)))
}

function parseSteps(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('The number of steps is a number from 1.')
}

async function up(context: CliContext, options: UpOptions): Promise<ExitCode> {
  return withDatabase(context, options, async (database, { folder }) => {
    const report = (one: MigrationDone) => reportDone(context, 'applied', one)
    const done = await withConsent(context, options, (allows) => migrateUp(database, folder, { report, allows }))
    const { length } = await migrationStatus(database, folder)
    const state =
      length === 0 ? 'there are no migrations' : `the database is up to date (${count(length, 'migration')})`
    context.err.line(done.length === 0 ? `nothing to apply: ${state}` : state)
    return 0
  })
}

async function down(context: CliContext, options: DownOptions): Promise<ExitCode> {
  return withDatabase(context, options, async (database, { folder }) => {
    const { steps } = options
    const report = (one: MigrationDone) => reportDone(context, 'reverted', one)
    const done = await withConsent(context, options, (allows) =>
      migrateDown(database, folder, { steps, report, allows }),
    )
    if (done.length === 0) context.err.line('nothing to revert: no migration is applied')
    return 0
  })
}

function reportDone({ err }: CliContext, verb: string, { name, milliseconds }: MigrationDone): void {
  err.line(`${err.colors.green(verb)}  ${name}   ${milliseconds} ms`)
}

async function status(context: CliContext, options: StatusOptions): Promise<ExitCode> {
  return withDatabase(context, options, async (database, { spec, folder }) => {
    const migrations = await migrationStatus(database, folder)
    const applied = migrations.every(({ state }) => state === 'applied')
    // Before the last migration is applied, differences are what one expects.
    const differences = applied ? await schemaDifferences(spec, database) : []
    const ok = applied && differences.length === 0
    if (options.json)
      context.out.line(JSON.stringify({ schemaVersion: 1, ok, migrations: migrations.map(toJson), differences }))
    else printStatus(context, migrations, differences)
    return ok ? 0 : 1
  })
}

const toJson = ({ name, state, appliedAt }: MigrationStatus) => ({ name, state, appliedAt: appliedAt ?? null })

function printStatus(
  { out, err }: CliContext,
  migrations: readonly MigrationStatus[],
  differences: readonly string[],
): void {
  const rows = migrations.map(({ name, state, appliedAt }) => [state, name, appliedAt ?? '-', FILES[state]])
  const [header = '', ...lines] = alignColumns([['STATUS', 'MIGRATION', 'APPLIED (UTC)', 'FILE'], ...rows])
  if (rows.length === 0) err.line('there are no migrations')
  else for (const line of [out.colors.dim(header), ...lines]) out.line(line)
  if (differences.length === 0) return
  out.line()
  for (const difference of differences) out.line(`${out.colors.red('drift')}    ${difference}`)
  err.line('  = help: see what is missing: snippetctl migrate plan')
}

/** What a state says about the file of a migration. */
const FILES: Readonly<Record<MigrationStatus['state'], string>> = {
  applied: 'ok',
  pending: 'ok',
  changed: 'changed on disk since it was applied',
  missing: 'missing',
}

interface Project {
  readonly spec: AppSpec
  /** Of the migrations. */
  readonly folder: string
}

/** @throws Failure 2 when the database cannot be reached */
async function withDatabase(
  context: CliContext,
  options: CommonOptions,
  work: (database: Database, project: Project) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { spec } = await requireApplication(context, options)
  const { migrations, embedded } = projectFolders(spec.file)
  const database = await openDatabase({ url: context.env['DATABASE_URL'], directory: embedded }, context.env)
  try {
    if (!(await isReachable(database))) {
      throw new Failure(2, `cannot reach the database: ${database.description}`, [
        'is it running? DATABASE_URL says where it is looked for',
      ])
    }
    return await work(database, { spec, folder: migrations })
  } finally {
    await database.close()
  }
}
