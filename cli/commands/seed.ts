import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import {
  type AppSpec,
  DATA_FORMATS,
  type DataError,
  type Database,
  seed as load,
  type SeedCounts,
  type Seeded,
  UnreadableData,
} from '../../src/internal.js'
import { type CliContext, type CommonOptions, requireSpec, shownPath } from '../context.js'
import { onExistingDatabase } from '../database/database.js'
import { type ExitCode, Failure, whyUnreadable } from '../failure.js'
import { count } from '../output.js'
import { createRateText, createProgress } from '../progress.js'
import { withLostConnectionHelp } from '../lost-connection.js'
import { requireSchema } from '../serve/schema.js'

interface SeedOptions extends CommonOptions {
  readonly resource?: string
  readonly key?: readonly string[]
  readonly dryRun?: true
  readonly json?: true
}

const EXAMPLES = `
Examples:
  $ snippetctl seed fixtures.yaml
  $ snippetctl seed snippet.ndjson --dry-run
  $ snippetctl seed export.csv --resource snippet --key id --json

The extension selects the format: ${DATA_FORMATS.join(', ')}. In YAML and JSON, a key names the resource or model, or \`model:NAME\`.`

/** `seed`: validates the records of a file and writes them to the database. */
export function addSeed(program: Command, context: CliContext): void {
  withLostConnectionHelp(program.command('seed'), [
    'run it again: it loads the whole file or nothing, and leaves records alone that it has already stored',
  ])
    .description('load a file of records in one transaction: add those whose key is new, change those that differ')
    .argument('<file>', 'YAML, JSON, NDJSON or CSV')
    .option(
      '--resource <name>',
      'resource or model of the records, or `model:NAME` for a model whose name another resource has; by default the name of an NDJSON or CSV file',
    )
    .option('--key <fields>', 'unique field, or comma-separated fields, by which records are found', split)
    .option('--dry-run', 'run the load and roll it back')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (file: string, options: SeedOptions) => context.finish(await seed(context, file, options)))
}

function split(fields: string): readonly string[] {
  return fields.split(',').map((field) => field.trim())
}

/** @throws Failure 2 if the file cannot be read, or the database does not have the schema of the configuration */
async function seed(context: CliContext, given: string, options: SeedOptions): Promise<ExitCode> {
  const spec = await requireSpec(context, options)
  const file = resolve(context.cwd, given)
  const shown = shownPath(context, file)
  const size = await sizeOf(file, shown)
  const seeded = await onExistingDatabase(context, spec, async (database, migrations) => {
    await requireSchema(spec, database, migrations)
    if (database.whenPending === 'reject' && !options.json) context.err.line(`loading into ${database.description}`)
    return runSeed({ context, database, spec, options, file, size })
  })
  if (options.json) printJson(context, seeded, options)
  else print(context, seeded, { ...options, shown })
  return seeded.errorCount === 0 ? 0 : 1
}

async function sizeOf(file: string, shown: string): Promise<number> {
  const found = await stat(file).catch((cause: NodeJS.ErrnoException) => cause)
  if (!(found instanceof Error) && found.isFile()) return found.size
  const cause = found instanceof Error ? found : undefined
  const reason = cause ? whyUnreadable(cause) : 'it is not a file'
  throw new Failure(2, `cannot read \`${shown}\`: ${reason}`, [], cause)
}

interface SeedRun {
  readonly context: CliContext
  readonly database: Database
  readonly spec: AppSpec
  readonly options: SeedOptions
  readonly file: string
  readonly size: number
}

async function runSeed({ context, database, spec, options, file, size }: SeedRun): Promise<Seeded> {
  const progress = createProgress(context, size)
  const pace = createRateText(size)
  try {
    return await load(database, {
      spec,
      file,
      resource: options.resource,
      key: options.key,
      dryRun: options.dryRun === true,
      onProgress: (bytes, records) => progress.at(bytes, pace(bytes, records)),
    })
  } catch (error) {
    if (!(error instanceof UnreadableData)) throw error
    return { resources: new Map(), errors: [{ line: error.line, message: error.message }], errorCount: 1 }
  } finally {
    progress.end()
  }
}

function printJson(
  { out }: CliContext,
  { resources, errors, errorCount }: Seeded,
  { dryRun = false }: { dryRun?: boolean },
) {
  const ok = errorCount === 0
  const counts = Object.fromEntries(ok ? resources : [])
  out.data(
    JSON.stringify({
      schemaVersion: 1,
      ok,
      dryRun,
      ...totalOf(ok ? [...resources.values()] : []),
      resources: counts,
      errors,
      errorCount,
    }),
  )
}

function print(
  { err }: CliContext,
  { resources, errors, errorCount }: Seeded,
  { shown, dryRun }: { readonly shown: string; readonly dryRun?: boolean },
): void {
  for (const error of errors) err.line(`${err.colors.red('error:')} ${place(shown, error)}: ${error.message}`)
  if (errorCount > errors.length) err.line(`and ${errorCount - errors.length} more`)
  if (errorCount > 0) return err.line(`nothing was written: ${shown} has ${count(errorCount, 'error')}`)
  if (resources.size > 1) for (const [name, counts] of resources) err.line(`${name}: ${describe(counts)}`)
  err.line(
    `${describe(totalOf([...resources.values()]))}${dryRun ? ', but nothing was kept because of --dry-run' : ''}`,
  )
}

function place(shown: string, { line, field }: DataError): string {
  return `${shown}:${line}${field === undefined ? '' : `: ${field}`}`
}

function describe({ created, updated, unchanged }: SeedCounts): string {
  return `created ${created}, updated ${updated}, unchanged ${unchanged}`
}

function totalOf(all: readonly SeedCounts[]): SeedCounts {
  const sum = (name: keyof SeedCounts) => all.reduce((total, counts) => total + counts[name], 0)
  return { created: sum('created'), updated: sum('updated'), unchanged: sum('unchanged') }
}
