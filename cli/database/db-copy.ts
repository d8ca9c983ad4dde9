import type { Command } from 'commander'
import {
  type AppSpec,
  copyRecords,
  CopyRejected,
  type Database,
  digestMadeRows,
  migrateUp,
  openDatabase,
  Problem,
} from '../../src/internal.js'
import { type CliContext, type CommonOptions, projectFolders, requireSpec } from '../context.js'
import { renamingInErrors, openProjectDatabase, requireReachable } from './database.js'
import { embeddedOf, requireExisting } from './embedded.js'
import { type ExitCode, Failure } from '../failure.js'
import { createProgress, type Progress } from '../progress.js'
import { count } from '../output.js'
import { withLostConnectionHelp } from '../lost-connection.js'
import { requireSchema } from '../serve/schema.js'

interface CopyOptions extends CommonOptions {
  readonly to: string
}

/** `db copy`: copies the embedded database to a server. */
export function addDbCopy(db: Command, context: CliContext): void {
  withLostConnectionHelp(db.command('copy'), [
    'run it again: it copies everything or nothing; if the tables of the target then have rows, it had copied them',
  ])
    .description('copy the embedded database to a PostgreSQL server with empty tables, and compare each row')
    .requiredOption('--to <url>', 'the server, as in DATABASE_URL')
    .addHelpText('after', '\nExamples:\n  $ snippetctl db copy --to postgres://app@db/app')
    .action(async (options: CopyOptions) => context.finish(await copy(context, options)))
}

/** @throws Failure 2 if there is nothing to copy, or the target is unsuitable */
async function copy(context: CliContext, options: CopyOptions): Promise<ExitCode> {
  const spec = await requireSpec(context, options)
  const { migrations } = projectFolders(spec.file)
  requireExisting(embeddedOf(context, spec.file))
  const target = await openTarget(context, options.to)
  try {
    const source = await openProjectDatabase(context, spec.file, { ...context.env, DATABASE_URL: undefined })
    try {
      await requireSchema(spec, source, migrations)
      await prepareTarget(context, spec, target)
      await copyAll({ context, spec, source, target })
    } finally {
      await source.close()
    }
  } finally {
    await target.close()
  }
  context.err.line('  next   serve from there: DATABASE_URL=postgres://… snippetctl serve')
  return 0
}

function openTarget(context: CliContext, url: string): Promise<Database> {
  return renamingInErrors({ DATABASE_URL: '--to' }, async () => {
    const target = await openDatabase({ url, directory: '' }, context.env)
    return requireReachable(target, 'cannot reach the target')
  })
}

/** Creates the tables in the target by running the migrations. */
async function prepareTarget(context: CliContext, spec: AppSpec, target: Database): Promise<void> {
  const { migrations } = projectFolders(spec.file)
  await migrateUp(target, migrations, {
    report: ({ name, milliseconds }) =>
      context.err.line(`${context.err.colors.green('applied')}  ${name}   ${milliseconds} ms`),
  })
  await requireSchema(spec, target, migrations)
}

interface Copying {
  readonly context: CliContext
  readonly spec: AppSpec
  readonly source: Database
  readonly target: Database
}

async function copyAll({ context, spec, source, target }: Copying): Promise<void> {
  const { line, colors } = context.err
  let progress: Progress | undefined
  try {
    const { migrations } = projectFolders(spec.file)
    const { tables, left, replaced } = await copyRecords(source, target, spec, {
      digestMade: () => digestMadeRows(spec, migrations),
      onProgress(done, total, table) {
        progress ??= createProgress(context, total)
        progress.at(done, table)
      },
    }).finally(() => progress?.end())
    const rows = [...tables.values()].reduce((sum, each) => sum + each, 0)
    line(
      `copied ${count(rows, 'row')} of ${count(tables.size, 'table')} to ${target.description}, and compared each: all are the same`,
    )
    if (replaced.length > 0) line(`rows that migrations had made there were replaced, in ${replaced.join(', ')}`)
    if (left.length > 0) line(`${colors.yellow('warning:')} not copied, because no model has them: ${left.join(', ')}`)
  } catch (error) {
    if (error instanceof CopyRejected) throw new Failure(2, `nothing was copied: ${error.message}`, error.help)
    if (error instanceof Problem && error.type !== 'outcome_unknown')
      throw new Failure(2, `nothing was copied: ${error.message}`, [], error)
    throw error
  }
}
