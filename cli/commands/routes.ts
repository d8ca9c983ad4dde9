import type { Command } from 'commander'
import type { Route } from '../../src/internal.js'
import { type CliContext, type CommonOptions, requireApplication } from '../context.js'
import { type ExitCode, Failure } from '../failure.js'
import { alignColumns, count } from '../output.js'
import { similarHelp } from '../similar.js'

interface RoutesOptions extends CommonOptions {
  readonly grep?: string
  readonly method?: string
  readonly json?: true
}

const EXAMPLES = `
Examples:
  $ snippetctl routes
  $ snippetctl routes --grep detail
  $ snippetctl routes --method GET --json`

/** `routes`: lists all routes, generated and hand-written. Opens no database. */
export function addRoutes(program: Command, context: CliContext): void {
  program
    .command('routes')
    .description('list every route: its name, method, path and source')
    .option('-g, --grep <text>', 'only routes with this text in any column')
    .option('--method <method>', 'only routes of this method')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (options: RoutesOptions) => context.finish(await listRoutes(context, options)))
}

async function listRoutes(context: CliContext, options: RoutesOptions): Promise<ExitCode> {
  const { app } = await requireApplication(context, options)
  const all = [...app.routes]
  const chosen = all.filter((route) => isWanted(route, options))
  if (options.json) {
    context.out.data(JSON.stringify({ schemaVersion: 1, routes: chosen.map(toJson) }))
  } else if (chosen.length > 0) {
    printTable(context, chosen)
  }
  if (chosen.length > 0 || all.length === 0) return 0
  throw noMatch(all, options)
}

function isWanted(route: Route, { grep, method }: RoutesOptions): boolean {
  if (method !== undefined && route.method !== method.toUpperCase()) return false
  return grep === undefined || columns(route).some((cell) => cell.toLowerCase().includes(grep.toLowerCase()))
}

function columns(route: Route): readonly string[] {
  return [route.name, route.method, route.path, sourceOf(route)]
}

/** Renders the source of a route, such as `resource book` or `plugin ./plugins/library.ts:12`, with its middleware, hooks and computed fields. */
function sourceOf({ source, place, dialect, uses = [], hooks = [], computed = [] }: Route): string {
  const at = place?.()
  const added = (what: string, locators: NonNullable<Route['hooks']>) =>
    locators.length > 0 ? [`${what} ${placesOf(locators).join(' ')}`] : []
  return [
    at ? `plugin ./${at.file}:${at.line}` : source,
    ...(dialect === undefined ? [] : [dialect]),
    ...added('middleware', uses),
    ...added('hooks', hooks),
    ...added('computed', computed),
  ].join(', ')
}

function placesOf(locators: NonNullable<Route['hooks']>): readonly string[] {
  return locators.map((locate) => locate()).map((found) => (found ? `./${found.file}:${found.line}` : 'a plugin'))
}

function toJson({ name, method, path, source, dialect, place, uses, hooks, computed }: Route) {
  return {
    name,
    method,
    path,
    source,
    dialect,
    ...place?.(),
    ...(uses && { middleware: uses.map((locate) => locate() ?? {}) }),
    ...(computed && { computed: computed.map((locate) => locate() ?? {}) }),
    ...(hooks && { hooks: hooks.map((locate) => locate() ?? {}) }),
  }
}

function printTable(context: CliContext, routes: readonly Route[]): void {
  const [header = '', ...lines] = alignColumns([['NAME', 'METHOD', 'PATH', 'SOURCE'], ...routes.map(columns)])
  context.out.line(context.out.colors.dim(header))
  for (const line of lines) context.out.line(line)
  if (!context.out.terminal) return
  const plugins = routes.filter((route) => route.source.startsWith('plugin')).length
  context.out.line()
  context.out.line(`${count(routes.length, 'route')}${plugins > 0 ? `, ${plugins} from plugins` : ''}`)
}

function noMatch(all: readonly Route[], { grep, method }: RoutesOptions): Failure {
  const sought = [grep === undefined ? '' : `\`${grep}\``, method === undefined ? '' : `method \`${method}\``]
  const known = grep === undefined ? all.map((route) => route.method) : all.map((route) => route.name)
  const noun = grep === undefined ? { singular: 'method', plural: 'methods' } : { singular: 'route', plural: 'routes' }
  const help = similarHelp(grep ?? method?.toUpperCase() ?? '', known, noun)
  return new Failure(1, `no route matches ${sought.filter(Boolean).join(' and ')}`, help)
}
