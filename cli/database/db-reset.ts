import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { moveAside, shellWord } from '../../src/internal.js'
import { type CliContext, type CommonOptions, shownPath } from '../context.js'
import { renamingInErrors } from './database.js'
import { requireEmbedded } from './embedded.js'
import { type ExitCode, Failure } from '../failure.js'

interface ResetOptions extends CommonOptions {
  readonly name?: string
}

/** `db reset`: empties the embedded database. */
export function addDbReset(db: Command, context: CliContext): void {
  db.command('reset')
    .description('move the embedded database aside, so that the next command starts with an empty one')
    .option('--name <name>', 'confirmation: the name of the database')
    .addHelpText('after', '\nExamples:\n  $ snippetctl db reset\n  $ snippetctl db reset --name .snippetctl/pg')
    .action(async (options: ResetOptions) => context.finish(await reset(context, options)))
}

/** @throws Failure 3 unless the database was named, Failure 2 if there is none */
async function reset(context: CliContext, options: ResetOptions): Promise<ExitCode> {
  const { path, shown: name } = await requireEmbedded(context, options, 'dropdb, createdb')
  // A folder without a database is moved away too: it could keep a database from being created.
  if (!existsSync(path)) throw new Failure(2, `${name} does not contain an embedded database`)
  const answer = options.name ?? (await context.ask(`type ${name} to start again without its data: `))
  if (answer?.trim() !== name)
    throw new Failure(3, `nothing was done: the name of the database, ${name}, was not given`, [
      `confirm: snippetctl db reset --name ${shellWord(name)}`,
    ])
  const aside = await renamingInErrors({ [path]: name }, () => moveAside(path))
  context.err.line(`moved the old database to ${shownPath(context, aside)}; delete it when you no longer need it`)
  return 0
}
