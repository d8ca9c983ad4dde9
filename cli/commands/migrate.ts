import { type Command, InvalidArgumentError } from 'commander'
import { migrateDown, type CompletedMigration, migrationStatus, migrateUp, newerIn } from '../../src/internal.js'
import { adopt, type AdoptOptions } from '../migrate/adopt.js'
import { CONSENT_FLAG, CONSENT_TEXT, type ConsentOptions, parseConsent, withConsent } from '../migrate/consent.js'
import { type CliContext, type CommonOptions, requireSpec } from '../context.js'
import { inServer, onDatabase } from '../database/database.js'
import type { ExitCode } from '../failure.js'
import { count } from '../output.js'
import { collectAssignments, collectSwaps } from '../migrate/conversions.js'
import { plan, type PlanOptions } from '../migrate/plan.js'
import { renumber, type RenumberOptions } from '../migrate/renumber.js'
import { resolve, type ResolveOptions } from '../migrate/resolve.js'
import { scratchOption } from '../migrate/scratch.js'
import { squash, type SquashOptions } from '../migrate/squash.js'
import { status, type StatusOptions } from '../migrate/status.js'
import { closeApplied } from '../serve/open-migration.js'
import { MIGRATION_HELP, readsOnly, withLostConnectionHelp } from '../lost-connection.js'
import { watchMigrations } from '../migrate/watch-migrations.js'

interface UpOptions extends CommonOptions, ConsentOptions {}

interface DownOptions extends CommonOptions, ConsentOptions {
  readonly steps: number
}

/** `migrate`: changes the schema of the database, one file after another. */
export function addMigrate(program: Command, context: CliContext): void {
  const migrate = program
    .command('migrate')
    .description('change the schema of the database to match the configuration')
    .helpCommand(false)
    .addHelpText('after', '\nExamples:\n  $ snippetctl migrate plan --write add_language\n  $ snippetctl migrate up')
  addPlan(migrate, context)
  addUp(migrate, context)
  addDown(migrate, context)
  addStatus(migrate, context)
  addAdopt(migrate, context)
  addRenumber(migrate, context)
  addResolve(migrate, context)
  addSquash(migrate, context)
}

function addPlan(migrate: Command, context: CliContext): void {
  readsOnly(migrate.command('plan'))
    .description('show the schema changes that no migration contains yet, without changing the database')
    .option('--write [name]', 'write the next migration, with this name or a generated one')
    .option(
      '--concurrently',
      'build indexes and add constraints without blocking requests, in a second file; the default for large tables',
    )
    .option('--no-concurrently', 'apply everything in one transaction')
    .option('--sql', 'print the SQL')
    .option('--json', 'print one JSON document')
    .option('--exit-code', 'exit with 1 if there is something to migrate')
    .option('--measure', 'run the plan on a copy, and print its locks, rewrites and times')
    .addOption(scratchOption())
    .option('--on <url>', 'measure on this PostgreSQL database instead, in a transaction that is rolled back')
    .option(
      '--rename <old:new>',
      'first write into the configuration that a column (table.old:new) or table (old:new) was renamed',
    )
    .option(
      '--swap <one:other>',
      'two columns (table.one:other) or two tables (one:other) swap their names; can be repeated',
      collectSwaps,
    )
    .option(
      '--using <column=sql>',
      'convert the values of a column (table.column) with this SQL expression when its type changes; can be repeated',
      collectAssignments,
    )
    .option('--reverse <column=sql>', 'the expression by which `down` converts the column back', collectAssignments)
    .addHelpText(
      'after',
      '\nExamples:\n  $ snippetctl migrate plan\n  $ snippetctl migrate plan --write add_language\n  $ snippetctl migrate plan --rename books.size:pages' +
        "\n  $ snippetctl migrate plan --using 'books.price=price * 100' --reverse 'books.price=price / 100.0'",
    )
    .action(async (options: PlanOptions) => context.finish(await plan(context, options)))
}

function addUp(migrate: Command, context: CliContext): void {
  withLostConnectionHelp(migrate.command('up'), MIGRATION_HELP)
    .description('apply every pending migration')
    .option(CONSENT_FLAG, CONSENT_TEXT, parseConsent)
    .addHelpText(
      'after',
      '\nExamples:\n  $ snippetctl migrate up\n  $ DATABASE_URL=postgres://app@db/app snippetctl migrate up',
    )
    .action(async (options: UpOptions) => context.finish(await up(context, options)))
}

function addDown(migrate: Command, context: CliContext): void {
  withLostConnectionHelp(migrate.command('down'), MIGRATION_HELP)
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
  readsOnly(migrate.command('status'))
    .description('list the migrations; exit with 1 unless all are applied and unchanged')
    .option('--json', 'print one JSON document')
    .addOption(scratchOption())
    .addHelpText('after', '\nExamples:\n  $ snippetctl migrate status\n  $ snippetctl migrate status --json')
    .action(async (options: StatusOptions) => context.finish(await status(context, options)))
}

function addAdopt(migrate: Command, context: CliContext): void {
  withLostConnectionHelp(migrate.command('adopt'), MIGRATION_HELP)
    .description('adopt a column, constraint or index that exists only in the database')
    .argument('<object>', 'table.name of the column, constraint or index, as `migrate status` prints it')
    .addOption(scratchOption())
    .addHelpText('after', '\nExamples:\n  $ snippetctl migrate adopt books.tmp')
    .action(async (object: string, options: AdoptOptions) => context.finish(await adopt(context, object, options)))
}

function addRenumber(migrate: Command, context: CliContext): void {
  withLostConnectionHelp(migrate.command('renumber'), MIGRATION_HELP)
    .description(
      'if two files have the same number, give the pending file, and pending files after it, the next numbers',
    )
    .argument(
      '[files...]',
      'the files to renumber; needed only if the database has applied neither of two files with the same number',
    )
    .option('--journal', 'rename applied files in the journal of this database as well')
    .addOption(scratchOption())
    .addHelpText(
      'after',
      '\nExamples:\n  $ snippetctl migrate renumber\n  $ snippetctl migrate renumber migrations/0010_add_pages.sql',
    )
    .action(async (files: readonly string[], options: RenumberOptions) =>
      context.finish(await renumber(context, files, options)),
    )
}

function addResolve(migrate: Command, context: CliContext): void {
  withLostConnectionHelp(migrate.command('resolve'), MIGRATION_HELP)
    .description(
      'correct the journal of applied migrations after comparing it with the database; without options, show how',
    )
    .option('--applied [files...]', 'record these files, or all pending ones, as applied without running them')
    .option('--not-applied <migrations...>', 'remove these migrations from the journal')
    .option('--edited <files...>', 'accept these applied files as they are now')
    .option(
      '--yes',
      'correct the journal even if the schema cannot confirm it, or has objects that `migrate adopt` could adopt',
    )
    .addOption(scratchOption())
    .addHelpText(
      'after',
      '\nExamples:\n  $ snippetctl migrate resolve\n  $ snippetctl migrate resolve --edited 0002_add_stars',
    )
    .action(async (options: ResolveOptions) => context.finish(await resolve(context, options)))
}

function addSquash(migrate: Command, context: CliContext): void {
  withLostConnectionHelp(migrate.command('squash'), MIGRATION_HELP)
    .description('replace all files up to a given one with one file that creates the same schema')
    .option('--through <file>', 'the last file to replace, by default the last one')
    .option('--name <name>', 'the name of the new file', 'squashed')
    .addOption(scratchOption())
    .addHelpText(
      'after',
      '\nExamples:\n  $ snippetctl migrate squash\n  $ snippetctl migrate squash --through 0040_add_stars',
    )
    .action(async (options: SquashOptions) => context.finish(await squash(context, options)))
}

function parseSteps(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('The number of steps must be an integer from 1 to 9999.')
}

async function up(context: CliContext, options: UpOptions): Promise<ExitCode> {
  const spec = await requireSpec(context, options)
  return onDatabase<ExitCode>(context, spec, async (database, folder) => {
    const { progress, ...watching } = watchMigrations(context)
    const report = (one: CompletedMigration) => {
      progress.end()
      reportDone(context, 'applied', one)
    }
    const done = await withConsent(context, options, (allows) =>
      migrateUp(database, folder, { report, allows, ...watching }),
    ).finally(() => progress.end())
    await closeApplied(spec.file, done)
    const statuses = await migrationStatus(database, folder)
    const newer = newerIn(statuses)
    const length = statuses.length - newer.length
    const state =
      length === 0 ? 'there are no migrations' : `the database is up to date (${count(length, 'migration')})`
    context.err.line(`${done.length === 0 ? 'nothing to apply: ' : ''}${state}${inServer(database)}`)
    if (newer.length > 0) context.err.line(`a later version of the project has applied ${newer.join(', ')} as well`)
    return 0
  })
}

async function down(context: CliContext, options: DownOptions): Promise<ExitCode> {
  const spec = await requireSpec(context, options)
  return onDatabase<ExitCode>(context, spec, async (database, folder) => {
    const { steps } = options
    const report = (one: CompletedMigration) => reportDone(context, 'reverted', one)
    const done = await withConsent(context, options, (allows) =>
      migrateDown(database, folder, { steps, report, allows }),
    )
    const where = inServer(database)
    if (done.length === 0) context.err.line(`nothing to revert: no migration is applied${where}`)
    else if (where !== '') context.err.line(`reverted ${count(done.length, 'migration')}${where}`)
    return 0
  })
}

function reportDone({ err }: CliContext, verb: string, { name, milliseconds, lost }: CompletedMigration): void {
  err.line(`${err.colors.green(verb)}  ${name}   ${milliseconds} ms`)
  for (const { message } of lost) err.line(`  ! ${message}`)
}
