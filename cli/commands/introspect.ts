import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { type Introspected, introspect, writeIntrospected } from '../../src/internal.js'
import { type CliContext, type CommonOptions, shownPath } from '../context.js'
import { onExistingDatabase } from '../database/database.js'
import type { ExitCode } from '../failure.js'
import { count } from '../output.js'
import { scratchOption, type ScratchOptions, withScratch } from '../migrate/scratch.js'

interface IntrospectOptions extends CommonOptions, ScratchOptions {
  readonly tables?: readonly string[]
  readonly resources?: true
  readonly print?: true
  readonly force?: true
}

const EXAMPLES = `
Examples:
  $ DATABASE_URL=postgres://app@db/app snippetctl introspect
  $ snippetctl introspect --tables customers,orders --resources
  $ snippetctl introspect --print`

/** `introspect`: writes models and a first migration for an existing database. */
export function addIntrospect(program: Command, context: CliContext): void {
  program
    .command('introspect')
    .description('write models and a first migration for existing tables')
    .option('--tables <names>', 'models for these tables only, separated by commas', parseTables)
    .option('--resources', 'also add a read-only resource for each new model')
    .option('--print', 'print the configuration, and write nothing')
    .addOption(scratchOption())
    .option('--force', 'rewrite the configuration instead of adding to it')
    .addHelpText('after', EXAMPLES)
    .action(async (options: IntrospectOptions) => context.finish(await run(context, options)))
}

function parseTables(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.every((name) => name !== '')) return names
  throw new InvalidArgumentError('Tables must be names separated by commas.')
}

async function run(context: CliContext, options: IntrospectOptions): Promise<ExitCode> {
  const { tables, resources } = options
  const file = resolve(context.cwd, options.config)
  const text = options.force ? undefined : await readIfThere(file)
  return onExistingDatabase(context, { file }, async (database, directory) => {
    const shown = shownPath(context, file)
    const found = await withScratch(context, options, (scratch) =>
      introspect(database, { file: shown, text, directory, tables, resources, scratch }),
    )
    for (const each of found.left) context.err.line(`${context.err.colors.yellow('left')}  ${each}`)
    if (options.print) {
      context.out.line(found.text.trimEnd())
      return reportRemaining(context, found)
    }
    if (found.migration !== undefined) {
      const migration = await writeIntrospected(database, directory, found.migration)
      context.err.line(`wrote ${shownPath(context, migration)} and recorded it as applied: its tables exist already`)
    }
    if (found.models.length > 0 || text === undefined) {
      await writeFile(file, found.text)
      context.err.line(
        `wrote ${shown}: ${count(found.models.length, 'model')} ${text === undefined ? '' : 'more'}`.trimEnd(),
      )
    } else context.err.line(`nothing to add: every table that can have a model has one in ${shown}`)
    return reportRemaining(context, found)
  })
}

function reportRemaining({ err }: CliContext, { remaining }: Introspected): ExitCode {
  for (const each of remaining) err.line(`${err.colors.red('differs')}  ${each}`)
  if (remaining.length > 0) err.line('  = help: the next plan would change this; see it: snippetctl migrate plan')
  return remaining.length > 0 ? 1 : 0
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
