import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { type Diagnostic, toGithub, toJson } from '../../src/index.js'
import {
  type Application,
  type CliContext,
  type CommonOptions,
  loadConfig,
  shownDiagnostics,
  shownPath,
} from '../context.js'
import { printFrames } from '../diagnostics.js'
import type { ExitCode } from '../failure.js'
import { count } from '../output.js'

interface CheckOptions extends CommonOptions {
  readonly all?: true
  readonly json?: true
  readonly format: Format
}

/** What is said of a configuration. */
interface Verdict {
  readonly diagnostics: readonly Diagnostic[]
  readonly source: string
  /** The line that says it is in order; undefined when it is not. */
  readonly summary?: string
}

/** More are seldom read; `--all` shows them. */
const SHOWN = 20

const EXAMPLES = `
Examples:
  $ snippetctl check
  $ snippetctl check --config other.yaml --json
  $ snippetctl check --format github        annotations, in a GitHub workflow`

/** How a verdict can be printed, by the value of `--format`. It is what `check` answers, so it goes to stdout. */
const FORMATS = {
  text: printText,
  json: ({ out }: CliContext, { diagnostics }: Verdict) => out.line(JSON.stringify(toJson(diagnostics))),
  github: ({ out }: CliContext, { diagnostics, summary }: Verdict) => {
    for (const text of [...diagnostics.map(toGithub), ...(summary === undefined ? [] : [summary])]) out.line(text)
  },
} as const
type Format = keyof typeof FORMATS

/** `check`: everything wrong with the configuration and its plugins, all at once. Opens no database. */
export function addCheck(program: Command, context: CliContext): void {
  program
    .command('check')
    .description('find everything that is wrong with the configuration, and the indexes that it lacks or does not need')
    .option('--all', `print everything, not only the first ${SHOWN}`)
    .option('--json', 'print one JSON document; the same as --format json')
    .addOption(new Option('--format <format>', 'how it is printed').choices(Object.keys(FORMATS)).default('text'))
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
  const diagnostics = shownDiagnostics(context, loaded.warnings())
  const file = shownPath(context, resolve(context.cwd, options.config))
  print({ diagnostics, source: loaded.source, summary: `${file}: ok, ${amounts(loaded, diagnostics.length)}` })
  return 0
}

function amounts({ app }: Application, warnings: number): string {
  const all = [count(app.resources.length, 'resource'), count([...app.routes].length, 'route')]
  return [...all, ...(warnings > 0 ? [count(warnings, 'warning')] : [])].join(', ')
}

function printText(context: CliContext, verdict: Verdict, { all }: CheckOptions): void {
  const { summary, diagnostics } = verdict
  const limit = all ? Number.POSITIVE_INFINITY : SHOWN
  printFrames(context.out, verdict, { limit, ...(summary === undefined ? {} : { summary }) })
  if (diagnostics.length > limit) context.err.line('  = help: see them all: snippetctl check --all')
}
