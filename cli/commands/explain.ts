import type { Command } from 'commander'
import {
  type App,
  encodeSegment,
  type Explanation,
  explainRead,
  type ModelSpec,
  Problem,
  type Read,
  type Resource,
  resourceAt,
} from '../../src/internal.js'
import { type CliContext, type CommonOptions, requireApplication } from '../context.js'
import { onExistingDatabase } from '../database/database.js'
import { explainWord } from '../project/explain-words.js'
import { type ExitCode, Failure } from '../failure.js'
import { printExplanation, toJson } from '../project/explanation.js'
import { parametersOf, readPairs, reverse, routesOf } from '../reverse.js'
import { requireSchema } from '../serve/schema.js'
import { readsOnly } from '../lost-connection.js'

interface ExplainOptions extends CommonOptions {
  readonly json?: true
}

interface Arguments {
  readonly name: string
  readonly given: readonly string[]
}

/** A GET request, as `explain` needs it. */
interface Request {
  readonly resource: Resource
  readonly read: Read
  /** The path with the query string. */
  readonly path: string
}

const EXAMPLES = `
Examples:
  $ snippetctl explain snippet-list
  $ snippetctl explain snippet-list 'language=python&ordering=-created_at'
  $ snippetctl explain snippet-detail id=5 --json
  $ snippetctl explain book-detail id=5 'fields=title&expand=author'
  $ snippetctl explain SC301                             what the code of a diagnostic means
  $ snippetctl explain resources.pagination              what a key of the configuration means

The statement of a route runs in a read-only transaction, on the database that serve would use.`

/** `explain`: prints the statement of a GET request and its query plan, or the meaning of a code or a key. */
export function addExplain(program: Command, context: CliContext): void {
  readsOnly(program.command('explain'))
    .description('show the SQL of a request, its plan, indexes and rows; or explain a diagnostic code or a key')
    .argument(
      '<name>',
      'a generated route, as `snippetctl routes` lists it; a diagnostic code such as SC301; or the path of a key',
    )
    .argument('[parameters...]', 'key=value for each parameter of the path; and the query string')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, given: readonly string[], options: ExplainOptions) =>
      context.finish(await explain(context, name, given, options)),
    )
}

async function explain(
  context: CliContext,
  name: string,
  given: readonly string[],
  options: ExplainOptions,
): Promise<ExitCode> {
  if (given.length === 0 && explainWord(context, name, options.json === true)) return 0
  const { app, spec } = await requireApplication(context, options)
  const request = parseRequest(app, { name, given })
  const { resource, read, path } = request
  const explanation = await onExistingDatabase(context, spec, async (database, migrations) => {
    await requireSchema(spec, database, migrations)
    return explainRead({ resource, links: app.routes, read }, database)
  })
  print(context, options, { name, path, model: resource.spec.model, explanation })
  return 0
}

interface Printed {
  readonly name: string
  readonly path: string
  readonly model: ModelSpec
  readonly explanation: Explanation
}

function print({ out }: CliContext, { json }: ExplainOptions, { name, path, model, explanation }: Printed): void {
  if (json) out.data(JSON.stringify({ schemaVersion: 1, name, method: 'GET', path, ...toJson(explanation, model) }))
  else printExplanation(out, explanation, { path, model })
}

/** @throws Failure 1 if there is no such route, 2 if the route has nothing to explain or the request is invalid */
function parseRequest(app: App, { name, given }: Arguments): Request {
  const command = 'explain'
  const parameters = parametersOf(app, name)
  const routes = routesOf(app, name)
  const [first] = routes
  const resource = first && resourceAt(first)
  if (resource === undefined) {
    const known = [...app.routes].filter((route) => route.method === 'GET' && resourceAt(route))
    throw new Failure(2, `\`${name}\` belongs to the ${first?.source}, and only the plugin knows its statements`, [
      `the generated routes that read are: ${known.map((route) => route.name).join(', ') || 'none'}`,
    ])
  }
  if (!routes.some(({ method }) => method === 'GET')) {
    const methods = routes.map(({ method }) => method).join(', ')
    throw new Failure(2, `\`${name}\` only supports ${methods}, and \`explain\` never runs requests that write`)
  }
  if (parameters.length > 0) {
    const isOfPath = (pair: string) => !resource.selectable || parameters.some((key) => pair.startsWith(`${key}=`))
    const pairs = readPairs(given.filter(isOfPath))
    const path = reverse(app, { command, name, given: pairs })
    const segments = resource.key.parameters.map((name) => encodeSegment(pairs.get(name) ?? '') ?? '')
    const id = resource.parseId(segments.join('/'))
    if (id === undefined) throw new Error(`${path} has no id`)
    const query = queryOf(
      'a record',
      given.filter((pair) => !isOfPath(pair)),
    )
    const selection = asClient(() => resource.parseSelection(query))
    return { resource, read: { id, selection }, path: withQuery(path, query) }
  }
  return list(resource, reverse(app, { command, name, given: new Map() }), given)
}

function list(resource: Resource, path: string, given: readonly string[]): Request {
  const query = queryOf('a list', given)
  const { plan } = asClient(() => resource.parseList(query))
  return { resource, read: { plan }, path: withQuery(path, query) }
}

function withQuery(path: string, query: string): string {
  return query === '' ? path : `${path}?${query}`
}

function queryOf(what: string, given: readonly string[]): string {
  const [query = '', second] = given.map((each) => each.replace(/^\?/, ''))
  if (second === undefined) return query
  throw new Failure(2, `${what} takes one query string; \`${second}\` is a second one`, [
    `join them: '${given.join('&')}'`,
  ])
}

/** @throws Failure 2 with the error message that a client would get */
function asClient<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof Problem) throw new Failure(2, error.message, [], error)
    throw error
  }
}
