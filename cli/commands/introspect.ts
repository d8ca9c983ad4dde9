import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  type ChosenModel,
  INTROSPECT_STAGES,
  type Introspected,
  introspect,
  isReading,
  onOneLine,
  OPERATIONS,
  writeIntrospected,
  writeWhole,
} from '../../src/internal.js'
import { type CliContext, type CommonOptions, shownPath } from '../context.js'
import { onExistingDatabase } from '../database/database.js'
import type { ExitCode } from '../failure.js'
import { alignColumns, count } from '../output.js'
import { readConfigText } from '../project/config-text.js'
import { createStages } from '../progress.js'
import { openScratchOf, scratchOption, type ScratchOptions } from '../migrate/scratch.js'
import { MIGRATION_HELP, READING_HELP, withLostConnectionHelp } from '../lost-connection.js'

interface IntrospectOptions extends CommonOptions, ScratchOptions {
  readonly schema?: readonly string[]
  readonly tables?: readonly string[]
  /** False with `--no-resources`. */
  readonly resources?: boolean
  readonly readOnly?: true
  readonly manage?: true
  readonly update?: true
  readonly keepNames?: true
  readonly print?: true
  readonly json?: true
  readonly force?: true
}

const EXAMPLES = `
Examples:
  $ DATABASE_URL=postgres://app@db/app snippetctl introspect
  $ snippetctl introspect --schema public,sales --read-only
  $ snippetctl introspect --tables customers,orders --print
  $ snippetctl introspect --update         the tables have changed
  $ snippetctl introspect --manage         migrations of this project change the tables from now on`

/** `introspect`: writes models and resources for an existing database. */
export function addIntrospect(program: Command, context: CliContext): void {
  withLostConnectionHelp(program.command('introspect'), ({ manage }) => (manage ? MIGRATION_HELP : READING_HELP))
    .description('write models and resources for existing tables and views')
    .option(
      '--schema <names>',
      'the schemas to look at, separated by commas; by default that of the connection, with --update those of the models',
      parseNames,
    )
    .option('--tables <names>', 'models for these tables only, separated by commas', parseNames)
    .option('--manage', 'let migrations of this project change the tables, and write the first one')
    .option('--read-only', 'resources that only read')
    .option('--resources', 'a resource for each new model; the default')
    .option('--no-resources', 'only models')
    .addOption(
      new Option('--update', 'update the models of unmanaged tables from the database').conflicts(['manage', 'force']),
    )
    .option('--keep-names', 'name fields exactly like their columns, also in JSON: displayName, customer_id')
    .option('--print', 'print the configuration, and write nothing')
    .option('--json', 'print a report of the models as JSON; with --print instead of the configuration')
    .addOption(scratchOption())
    .option('--force', 'rewrite the configuration instead of adding to it')
    .addHelpText('after', EXAMPLES)
    .action(async (options: IntrospectOptions) => context.finish(await run(context, options)))
}

function parseNames(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.every((name) => name !== '')) return names
  throw new InvalidArgumentError('It must be names separated by commas.')
}

async function run(context: CliContext, options: IntrospectOptions): Promise<ExitCode> {
  const { tables, schema: schemas, manage, update, print, json } = options
  const file = resolve(context.cwd, options.config)
  const text = options.force ? undefined : await readIfThere(context, file)
  const resources = options.resources === false ? 'none' : options.readOnly ? 'read_only' : 'all'
  return onExistingDatabase(context, { file }, async (database, directory) => {
    const shown = shownPath(context, file)
    const stages = createStages(context, INTROSPECT_STAGES)
    const found = await introspect(database, {
      ...{ file: shown, text, directory, tables, schemas, manage, update, resources },
      spelling: options.keepNames ? 'kept' : 'snake_case',
      onStage: (stage) => stages.next(stage),
      // The migration creates every table that is found.
      openScratch: () => openScratchOf(context, { ...options, tables: Infinity }),
    }).finally(() => stages.end())
    for (const each of found.left) context.err.line(`${context.err.colors.yellow('left')}  ${onOneLine(each)}`)
    for (const each of found.changes) context.err.line(`${context.err.colors.green('changed')}  ${onOneLine(each)}`)
    if (print) {
      context.out.data(json ? JSON.stringify(reportOf(found, update === true)) : found.text.trimEnd())
      return reportRemaining(context, found, update === true)
    }
    if (found.migration !== undefined) {
      const migration = await writeIntrospected(database, directory, found.migration)
      context.err.line(`wrote ${shownPath(context, migration)} and recorded it as applied: its tables exist already`)
    }
    if (json) context.out.data(JSON.stringify(reportOf(found, update === true)))
    else printModels(context, found.models)
    if (found.text !== text) {
      await writeWhole(file, found.text)
      const made = count(found.models.length, text === undefined ? 'model' : 'new model')
      const changed = found.changes.length > 0 ? [count(found.changes.length, 'change')] : []
      const parts = [...changed, ...(found.models.length > 0 || text === undefined ? [made] : [])]
      context.err.line(`wrote ${shown}: ${parts.join(', ')}`)
    } else
      context.err.line(
        `nothing to ${update ? 'change' : 'add'}: every ${found.isPartial ? 'other table' : 'table'} has a model in ${shown}`,
      )
    return reportRemaining(context, found, update === true)
  })
}

function reportOf({ models, left, changes, remaining }: Introspected, update: boolean) {
  const report = { schemaVersion: 1, models: models.map(toJson), left }
  return update ? { ...report, changes, differs: remaining } : report
}

function toJson({ name, table, isView, rows, key, operations, left }: ChosenModel) {
  return { model: name, table, view: isView, rows, key, operations, left }
}

/** A line for each model, and how many of them can be changed. */
function printModels({ err }: CliContext, models: readonly ChosenModel[]): void {
  if (models.length === 0) return
  const rows = models.map(({ name, table, rows, key, operations }) => [
    name,
    onOneLine(table),
    rows === null ? '-' : String(rows),
    key.join(', ') || '-',
    operations.length === OPERATIONS.length ? 'all' : operations.join(', '),
  ])
  const [header = '', ...lines] = alignColumns([['MODEL', 'TABLE', 'ROWS', 'KEY', 'OPERATIONS'], ...rows])
  for (const line of [err.colors.dim(header), ...lines]) err.line(line)
  const views = models.filter(({ isView }) => isView).length
  const written = models.filter(({ operations }) => operations.some((operation) => !isReading(operation))).length
  const parts = [
    ...(models.length > views ? [count(models.length - views, 'table')] : []),
    ...(views > 0 ? [count(views, 'view')] : []),
  ]
  err.line(`${parts.join(' and ')}: ${written} to read and write, ${models.length - written} to read only`)
}

/** From this many differences on, copying from a generated file is quicker than correcting each field. */
const MANY = 10

function reportRemaining({ err }: CliContext, { remaining, hasUnexplained }: Introspected, update: boolean): ExitCode {
  for (const each of remaining) err.line(`${err.colors.red('differs')}  ${onOneLine(each)}`)
  const help = update
    ? 'change the file by hand; see where: snippetctl check --database'
    : 'the next plan would change this; see it: snippetctl migrate plan'
  if (update ? hasUnexplained : remaining.length > 0) err.line(`  = help: ${help}`)
  if (!update && remaining.length >= MANY)
    err.line('  = help: see a configuration that fits the tables: snippetctl introspect --manage --force --print')
  return remaining.length > 0 ? 1 : 0
}

async function readIfThere(context: CliContext, file: string): Promise<string | undefined> {
  try {
    return await readConfigText(context, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
