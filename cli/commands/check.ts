import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import {
  declaredIndexDifferences,
  describeNewer,
  type Diagnostic,
  unmanagedTableDifferences,
  indexDifferences,
  type IndexFindings,
  defaultDifferences,
  messageDifferences,
  migrationStatus,
  newerIn,
  toGithub,
  toJson,
} from '../../src/internal.js'
import {
  type Application,
  type CliContext,
  type CommonOptions,
  loadConfig,
  shownDiagnostics,
  shownPath,
} from '../context.js'
import { onExistingDatabase } from '../database/database.js'
import { printFrames } from '../diagnostics.js'
import type { ExitCode } from '../failure.js'
import { count } from '../output.js'
import { readsOnly } from '../lost-connection.js'

interface CheckOptions extends CommonOptions {
  readonly all?: true
  readonly database?: true
  readonly json?: true
  readonly format: Format
}

/** The result of checking a configuration. */
interface Verdict {
  readonly diagnostics: readonly Diagnostic[]
  readonly source: string
  /** The line for a valid configuration; undefined if it has errors. */
  readonly summary?: string
  /** The result of checking the database; undefined without `--database`. */
  readonly database?: Comparison
}

/** The result of checking the database. */
interface Comparison {
  readonly pending: readonly string[]
  /** The migrations among them that a later version of the project has applied. */
  readonly newer: readonly string[]
  /** Undefined while migrations are pending, because then missing indexes are expected. */
  readonly findings: IndexFindings | undefined
}

/** `--all` prints more. */
const MAX_SHOWN = 20

const EXAMPLES = `
Examples:
  $ snippetctl check
  $ snippetctl check --database
  $ snippetctl check --config other.yaml --json
  $ snippetctl check --format github        annotations, in a GitHub workflow`

/** The output formats of `--format`. They are the result of `check`, so they go to stdout. */
const FORMATS = {
  text: printText,
  json: ({ out }: CliContext, { diagnostics, database }: Verdict) =>
    out.data(JSON.stringify({ ...toJson(diagnostics), ...(database && { database: { pending: database.pending } }) })),
  github: ({ out }: CliContext, { diagnostics, summary, database }: Verdict) => {
    for (const each of diagnostics) out.data(toGithub(each))
    if (summary !== undefined) out.line(summary)
    if (database) out.line(databaseLine(database))
  },
} as const
type Format = keyof typeof FORMATS

/** `check`: reports all errors of the configuration and its plugins. Opens the database only with `--database`. */
export function addCheck(program: Command, context: CliContext): void {
  readsOnly(program.command('check'))
    .description('report all mistakes in the configuration, and missing or unused indexes')
    .option('--all', `print all of them, not only the first ${MAX_SHOWN}`)
    .option('--database', 'also compare the indexes and constraints of the database, without changing it')
    .option('--json', 'print one JSON document; the same as --format json')
    .addOption(new Option('--format <format>', 'output format').choices(Object.keys(FORMATS)).default('text'))
    .addHelpText('after', EXAMPLES)
    .action(async (options: CheckOptions) => context.finish(await check(context, options)))
}

async function check(context: CliContext, options: CheckOptions): Promise<ExitCode> {
  const loaded = await loadConfig(context, options)
  const print = (verdict: Verdict) => FORMATS[options.json ? 'json' : options.format](context, verdict, options)
  if (!loaded.ok) {
    print(loaded)
    return 1
  }
  const database = options.database ? await compare(context, loaded) : undefined
  const diagnostics = shownDiagnostics(context, loaded.warnings(database?.findings?.rejections))
  const file = shownPath(context, resolve(context.cwd, options.config))
  const summary = `${file}: ok, ${countsText(loaded, diagnostics.length)}`
  print({ diagnostics, source: loaded.source, summary, ...(database && { database }) })
  return database && database.pending.length > 0 ? 1 : 0
}

function compare(context: CliContext, { spec }: Application): Promise<Comparison> {
  return onExistingDatabase(context, spec, async (database, folder) => {
    const migrations = await migrationStatus(database, folder)
    const pending = migrations
      .filter(({ state }) => state !== 'applied')
      .map(({ name, state }) => (state === 'pending' ? name : `${name} (${state})`))
    const newer = newerIn(migrations)
    if (pending.length > 0) return { pending, newer, findings: undefined }
    const { indexes, rejections } = await indexDifferences(spec, database)
    return {
      pending,
      newer,
      findings: {
        indexes,
        rejections: [
          ...rejections,
          ...(await declaredIndexDifferences(spec, database)),
          ...(await messageDifferences(spec, database)),
          ...(await defaultDifferences(spec, database)),
          ...(await unmanagedTableDifferences(spec, database)),
        ],
      },
    }
  })
}

function databaseLine({ pending, findings, newer }: Comparison): string {
  if (findings) return `database: ${count(findings.indexes, 'index', 'indexes')} compared`
  if (newer.length === pending.length) return `database: ${describeNewer(newer).applied}, so nothing was compared`
  return `database: ${count(pending.length, 'migration')} not applied, so nothing was compared: ${pending.join(', ')}`
}

function countsText({ app }: Application, warnings: number): string {
  const all = [count(app.spec.resources.length, 'resource'), count([...app.routes].length, 'route')]
  return [...all, ...(warnings > 0 ? [count(warnings, 'warning')] : [])].join(', ')
}

function printText(context: CliContext, verdict: Verdict, { all }: CheckOptions): void {
  const { summary, diagnostics } = verdict
  const limit = all ? Number.POSITIVE_INFINITY : MAX_SHOWN
  printFrames(context.out, verdict, { limit, ...(summary === undefined ? {} : { summary }) })
  if (diagnostics.length > limit) context.err.line('  = help: see them all: snippetctl check --all')
  if (!verdict.database) return
  context.out.line(databaseLine(verdict.database))
  if (verdict.database.pending.length > 0) context.err.line('  = help: see why: snippetctl migrate status')
}
