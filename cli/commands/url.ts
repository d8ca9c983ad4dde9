import type { Command } from 'commander'
import type { App } from '../../src/index.js'
import { type CliContext, type CommonOptions, requireApplication } from '../context.js'
import { type ExitCode, Failure } from '../failure.js'
import { similarHelp } from '../similar.js'

interface UrlOptions extends CommonOptions {
  readonly json?: true
}

const EXAMPLES = `
Examples:
  $ snippetctl url snippet-list
  $ snippetctl url snippet-detail id=5
  $ curl "http://localhost:8000$(snippetctl url snippet-detail id=5)"`

/** `url`: the path of a named route, and nothing else on stdout. Opens no database. */
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
  const path = reverse(app, name, given)
  context.out.line(options.json ? JSON.stringify({ schemaVersion: 1, name, path }) : path)
  return 0
}

function readPairs(pairs: readonly string[]): ReadonlyMap<string, string> {
  const given = new Map<string, string>()
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    const key = pair.slice(0, at)
    if (at < 1) throw new Failure(2, `\`${pair}\` is not a parameter`, ['write it as key=value: id=5'])
    if (given.has(key)) throw new Failure(2, `the parameter \`${key}\` is given twice`)
    given.set(key, pair.slice(at + 1))
  }
  return given
}

function reverse(app: App, name: string, given: ReadonlyMap<string, string>): string {
  const wanted = app.routes.parameters(name)
  if (wanted === undefined) {
    const help = similarHelp(name, app.routes.names(), { singular: 'route', plural: 'routes' })
    throw new Failure(1, `no route is named \`${name}\``, help)
  }
  const resource = resourceOf(app, name)
  const kind = resource?.spec.model.primaryKey.type.name ?? 'value'
  const usage = ['snippetctl url', name, ...wanted.map((key) => `${key}=<${kind}>`)].join(' ')
  const refuse = (message: string) => new Failure(2, message, [usage])

  const missing = wanted.find((key) => !given.has(key))
  if (missing !== undefined) throw refuse(`\`${name}\` needs a value for \`${missing}\``)
  for (const [key, value] of given) {
    if (!wanted.includes(key)) throw refuse(`\`${name}\` has no parameter \`${key}\``)
    if (resource?.parseId(value) === undefined && resource !== undefined) {
      throw refuse(`\`${value}\` is no ${kind} as it is written in a URL, and \`${key}\` of \`${name}\` is one`)
    }
  }
  const path = app.routes.reverse(name, Object.fromEntries(given))
  if (path === undefined)
    throw refuse(`no URL of \`${name}\` has ${[...given].map((pair) => pair.join('=')).join(' ')}`)
  return path
}

/** The resource whose generated route this is; undefined for a plugin's, whose parameter may be any segment. */
function resourceOf(app: App, name: string) {
  const route = [...app.routes].find((candidate) => candidate.name === name)
  return app.resources.find(({ spec }) => route?.source === `resource ${spec.name}`)
}
