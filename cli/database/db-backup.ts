import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { DatabaseInUse, RESTORE_STAGES, restoreEmbedded, shellWord } from '../../src/internal.js'
import { askForBackup } from './backups.js'
import { type CliContext, type CommonOptions, shownPath } from '../context.js'
import { renamingInErrors, openProjectDatabase } from './database.js'
import { requireEmbedded, requireExisting } from './embedded.js'
import { type ExitCode, Failure } from '../failure.js'
import { createStages, type Stages } from '../progress.js'
import { writePrivate } from '../project/whole-file.js'

interface RestoreOptions extends CommonOptions {
  readonly yes?: string
}

/** `db backup`: writes the embedded database to one file. */
export function addDbBackup(db: Command, context: CliContext): void {
  db.command('backup')
    .description('write the embedded database into one file, even while a server uses it')
    .argument('<file>', 'a file that does not exist yet')
    .addHelpText('after', '\nExamples:\n  $ snippetctl db backup before.tar.gz')
    .action(async (file: string, options: CommonOptions) => context.finish(await backup(context, file, options)))
}

/** `db restore`: replaces the embedded database with a backup. */
export function addDbRestore(db: Command, context: CliContext): void {
  db.command('restore')
    .description('replace the embedded database with a backup; the old one is moved aside')
    .argument('<file>', 'a file that `snippetctl db backup` wrote')
    .option('--yes <name>', 'confirmation: the name of the database that is replaced')
    .addHelpText(
      'after',
      '\nExamples:\n  $ snippetctl db restore before.tar.gz\n  $ snippetctl db restore before.tar.gz --yes .snippetctl/pg',
    )
    .action(async (file: string, options: RestoreOptions) => context.finish(await restore(context, file, options)))
}

/** The programs to use with a PostgreSQL server instead. */
const INSTEAD = 'pg_dump, pg_restore'

/** @throws Failure 2 if there is no database, or the file exists */
async function backup(context: CliContext, given: string, options: CommonOptions): Promise<ExitCode> {
  const embedded = await requireEmbedded(context, options, INSTEAD)
  const { config, path, shown } = embedded
  const file = resolve(context.cwd, given)
  requireExisting(embedded)
  if (existsSync(file)) throw new Failure(2, `\`${given}\` exists already, and a backup never replaces a file`)
  const stages = createStages(context, BACKUP_STAGES)
  let archive: Uint8Array
  try {
    archive = (await packHere(context, config, stages)) ?? (await askServer(stages, path, shown))
    stages.next('writing the file')
    await writePrivate(file, archive)
  } finally {
    stages.end()
  }
  context.err.line(`wrote ${shown} to ${shownPath(context, file)}, ${archive.length} bytes`)
  return 0
}

/** The number of stages of a backup: opening the database, packing it, and writing the file. */
const BACKUP_STAGES = 3

function askServer(stages: Stages, path: string, shown: string): Promise<Uint8Array> {
  stages.next('waiting for the server that uses the database')
  return askForBackup(path, shown)
}

/** Returns undefined if another process has opened the database. */
async function packHere(context: CliContext, config: string, stages: Stages): Promise<Uint8Array | undefined> {
  try {
    stages.next('opening the database')
    const database = await openProjectDatabase(context, config)
    try {
      stages.next('packing')
      return await database.pack?.()
    } finally {
      await database.close()
    }
  } catch (error) {
    if (error instanceof DatabaseInUse) return undefined
    throw error
  }
}

/** @throws Failure 3 unless the database to replace was named */
async function restore(context: CliContext, given: string, options: RestoreOptions): Promise<ExitCode> {
  const { path, shown } = await requireEmbedded(context, options, INSTEAD)
  const file = resolve(context.cwd, given)
  if (!existsSync(file)) throw new Failure(2, `cannot read \`${given}\`: there is no such file`)
  if (statSync(file).isDirectory())
    throw new Failure(2, `cannot read \`${given}\`: it is a folder`, [
      'name a file that `snippetctl db backup` has written',
    ])
  if (existsSync(path)) await confirm(context, { shown, given, options })
  const stages = createStages(context, RESTORE_STAGES)
  const aside = await renamingInErrors({ [path]: shown, [file]: given }, () =>
    restoreEmbedded(path, file, (stage) => stages.next(stage)),
  ).finally(() => stages.end())
  context.err.line(`restored ${shown} from ${given}`)
  if (aside !== undefined)
    context.err.line(`the old database is in ${shownPath(context, aside)}; delete it when you no longer need it`)
  return 0
}

async function confirm(
  context: CliContext,
  { shown, given, options }: { readonly shown: string; readonly given: string; readonly options: RestoreOptions },
): Promise<void> {
  const answer = options.yes ?? (await context.ask(`type ${shown} to confirm that it is replaced: `))
  if (answer?.trim() === shown) return
  throw new Failure(3, `nothing was done: ${shown} exists, and its name was not given`, [
    `confirm: snippetctl db restore ${shellWord(given)} --yes ${shellWord(shown)}`,
  ])
}
