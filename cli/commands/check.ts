import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { type Diagnostic, toGithub, toJson } from '../../src/index.js'
import { type CliContext, type CommonOptions, loadConfig, shownPath } from '../context.js'
import { printFrames } from '../diagnostics.js'
import type { ExitCode } from '../failure.js'
import { count } from '../output.js'

interface CheckOptions extends CommonOptions {
  readonly all?: true
  readonly json?: true
  readonly format: Format
}

interface Refused {
  readonly diagnostics: readonly Diagnostic[]
  readonly source: string
}

/** More are seldom read; `--all` shows them. */
const SHOWN = 20

const EXAMPLES = `
Examples:
  $ snippetctl check
  $ snippetctl check --config other.yaml --json
  $ snippetctl check --format github        annotations, in a GitHub workflow`

/** How errors can be printed, by the value of `--format`. They are what `check` answers, so they go to stdout. */
const FORMATS = {
  text: printText,
  json: ({ out }: CliContext, { diagnostics }: Refused) => out.line(JSON.stringify(toJson(diagnostics))),
  github: ({ out }: CliContext, { diagnostics }: Refused) => out.line(diagnostics.map(toGithub).join('\n')),
} as const
type Format = keyof typeof FORMATS

/** `check`: everything wrong with the configuration and its plugins, all at once. Opens no database. */
export function addCheck(program: Command, context: CliContext): void {
  program
    .command('check')
    .description('find everything that is wrong with the configuration')
    .option('--all', `print every error, not only the first ${SHOWN}`)
    .option('--json', 'print one JSON document; the same as --format json')
    .addOption(new Option('--format <format>', 'how errors are printed').choices(Object.keys(FORMATS)).default('text'))
    .addHelpText('after', EXAMPLES)
    .action(async (options: CheckOptions) => context.finish(await check(context, options)))
}

async function check(context: CliContext, options: CheckOptions): Promise<ExitCode> {
  const loaded = await loadConfig(context, options)
  const format = options.json ? 'json' : options.format
  if (!loaded.ok) {
    FORMATS[format](context, loaded, options)
    return 1
  }
  if (format === 'json') {
    context.out.line(JSON.stringify(toJson([])))
    return 0
  }
  const { resources, routes } = loaded.app
  const file = shownPath(context, resolve(context.cwd, options.config))
  context.out.line(`${file}: ok, ${count(resources.length, 'resource')}, ${count([...routes].length, 'route')}`)
  return 0
}

function printText(context: CliContext, refused: Refused, { all }: CheckOptions): void {
  printFrames(context.out, refused, all ? Number.POSITIVE_INFINITY : SHOWN)
  if (!all && refused.diagnostics.length > SHOWN) context.err.line('  = help: see them all: snippetctl check --all')
}
