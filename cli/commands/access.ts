import { type Command, Option } from 'commander'
import { readConfig } from '../../src/internal.js'
import { type Application, type CliContext, type CommonOptions, requireApplication } from '../context.js'
import { type ExitCode, Failure } from '../failure.js'
import { scratchOption } from '../migrate/scratch.js'
import { compareAccess } from '../project/access/access-diff.js'
import { explainRequest } from '../project/access/access-request.js'
import { type LineOf, linesIn, matrixJson, printMatrix, type RouteAccess } from '../project/access/access-text.js'
import { verifyAccess } from '../project/access/access-verify.js'
import { readsOnly } from '../lost-connection.js'

interface AccessOptions extends CommonOptions {
  readonly json?: true
  readonly as?: string
  readonly data?: string
  readonly database?: true
  readonly diff?: string
  readonly allowWider?: readonly string[]
  readonly verify?: true
  readonly scratch?: string
}

const EXAMPLES = `
Examples:
  $ snippetctl access                                     the grants of each resource, with their lines
  $ snippetctl access --as '{"sub":"ann","roles":["member"]}' PATCH /api/tasks/5/ --data '{"title":"x"}'
  $ snippetctl access --as '{"sub":"ann","roles":["member"]}' GET /api/tasks/5/ --database
  $ snippetctl access --diff old.yaml                     fails if access is wider than in another file
  $ snippetctl access --verify                            sends requests of each kind of caller, in a scratch database

Exit code 1: the request is denied, access is wider, or a response is not as the rules say.`

/** `access`: prints who may do what, or why a request is allowed or denied. */
export function addAccess(program: Command, context: CliContext): void {
  readsOnly(program.command('access'))
    .description('show who may do what, and why a request is allowed or denied')
    .argument('[method]', 'with --as: the method of a request')
    .argument('[path]', 'with --as: its path')
    .addOption(new Option('--as <identity>', 'explain a request of a caller: its subject, roles and claims as JSON'))
    .option('--data <json>', 'the body of the request')
    .option('--database', 'read the stored record from the database')
    .option('--diff <file>', 'compare with this older configuration; fail if access is wider')
    .option('--allow-wider <names...>', 'with --diff: what may be wider, such as task.list:member')
    .option(
      '--verify',
      'serve on a scratch database with a record for each condition, and compare the responses with the rules',
    )
    .addOption(scratchOption())
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (method: string | undefined, path: string | undefined, options: AccessOptions) =>
      context.finish(await showAccess(context, { method, path }, options)),
    )
}

interface Arguments {
  readonly method: string | undefined
  readonly path: string | undefined
}

async function showAccess(context: CliContext, { method, path }: Arguments, options: AccessOptions): Promise<ExitCode> {
  if (options.diff !== undefined) return compareAccess(context, { ...options, diff: options.diff })
  const loaded = await requireApplication(context, options)
  if (loaded.spec.auth === undefined) {
    throw new Failure(2, 'the configuration has no `auth`: everybody may do everything', [
      'snippetctl explain auth: how callers sign in',
    ])
  }
  const lineOf = linesOf(loaded)
  if (options.as !== undefined) {
    if (method === undefined || path === undefined)
      throw new Failure(2, '--as needs a method and a path: GET /api/tasks/5/')
    return explainRequest(context, loaded, { ...options, as: options.as, method, path, lineOf })
  }
  if (options.verify) return verifyAccess(context, loaded, { ...options, lineOf })
  if (method !== undefined) throw new Failure(2, 'a method and a path need --as')
  const routes = otherRoutes(loaded, lineOf)
  if (options.json) context.out.data(JSON.stringify(matrixJson(loaded.spec, lineOf, routes)))
  else printMatrix(context.out, loaded.spec, lineOf, routes)
  return 0
}

/** Finds the lines of keys in the configuration. */
function linesOf({ source, spec }: Application): LineOf {
  const document = readConfig(Buffer.from(source), spec.file)
  if ('locate' in document) return linesIn(document)
  throw new Error('the configuration passed its checks, yet it cannot be read')
}

/** The routes of plugins and the built-in routes, which `auth.routes` grants. */
function otherRoutes({ app, spec }: Application, lineOf: LineOf): readonly RouteAccess[] {
  const named = spec.auth?.routes ?? {}
  const own = [...app.routes].filter((route) => !route.generated && !route.action).map(({ name }) => name)
  const names = new Set([...Object.keys(named), ...own, ...app.mounts.map(({ path }) => path)])
  return [...names].map((name) => ({
    name,
    to: named[name] ?? [],
    line: Object.hasOwn(named, name) ? lineOf(['auth', 'routes', name]) : undefined,
  }))
}
