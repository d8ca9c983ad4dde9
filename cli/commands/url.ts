import type { Command } from 'commander'
import { type CliContext, type CommonOptions, requireApplication } from '../context.js'
import type { ExitCode } from '../failure.js'
import { readPairs, reverse } from '../reverse.js'

interface UrlOptions extends CommonOptions {
  readonly json?: true
}

const EXAMPLES = `
Examples:
  $ snippetctl url snippet-list
  $ snippetctl url snippet-detail id=5
  $ curl "http://localhost:8000$(snippetctl url snippet-detail id=5)"`

/** `url`: prints the path of a named route. Opens no database. */
export function addUrl(program: Command, context: CliContext): void {
  program
    .command('url')
    .description('print the path of a route')
    .argument('<name>', 'the name of a route, as `snippetctl routes` lists it')
    .argument('[key=value...]', 'a value for each parameter of its path')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, pairs: readonly string[], options: UrlOptions) =>
      context.finish(await printUrl(context, name, pairs, options)),
    )
}

async function printUrl(
  context: CliContext,
  name: string,
  pairs: readonly string[],
  options: UrlOptions,
): Promise<ExitCode> {
  const given = readPairs(pairs)
  const { app } = await requireApplication(context, options)
  const path = reverse(app, { command: 'url', name, given })
  context.out.data(options.json ? JSON.stringify({ schemaVersion: 1, name, path }) : path)
  return 0
}
