/**
 * The plugin API: everything a plugin or a TypeScript migration can import from `snippetctl`. `docs/plugin-api.md` is generated from
 * this file. Tests of a project import `snippetctl/testing` instead.
 */

/**
 * The type of a plugin's default export: a function that registers routes, hooks and actions before the application serves.
 * @example
 * const plugin: Plugin = (app) => {
 *   app.route('GET', '/ping/', 'ping', () => ({ status: 200, body: 'pong' }))
 * }
 * export default plugin
 */
export type { Plugin } from './http/registrations/plugin.js'

/**
 * The argument of a plugin. Pass it on to split a large plugin into functions.
 * @example
 * export function addReports(app: PluginApp): void {
 *   const books = app.resource('book')
 *   app.route('GET', '/reports/longest/', 'longest', () => ({ status: 200, body: books.members }))
 * }
 */
export type { PluginApp } from './http/registrations/plugin.js'

/**
 * One request, as handlers see it. It gives access to the records of every resource.
 * @example
 * const userAgent = (context: Context): string => String(context.headers['user-agent'] ?? 'unknown')
 */
export type { Context } from './http/route.js'

/**
 * The context inside `context.transaction` and in hooks. Its stores share one transaction.
 * @example
 * const onCommit = (context: Transaction, notify: () => void): void => context.afterCommit(notify)
 */
export type { Transaction } from './http/route.js'

/**
 * A function that takes a request and returns its reply. Throw a `Problem` to reject the request.
 * @example
 * const ping: Handler = ({ requestId }) => ({ status: 200, body: { requestId } })
 */
export type { Handler } from './http/route.js'

/**
 * A response: a status and at most one of `body`, `text` and `stream`.
 * @example
 * const seeOther = (location: string): Reply => ({ status: 303, headers: { location } })
 */
export type { Reply } from './http/route.js'

/**
 * The rules by which `context.body` accepts a request body: its media types, its size, and whether it may be an array.
 * @example
 * const policy: BodyPolicy = { mediaTypes: ['application/json'], optional: false, limit: 100_000 }
 */
export type { BodyPolicy } from './http/route.js'

/**
 * The body that `context.body` returns: a JSON object with the value of each member and its exact text, or the objects of an array in `items`.
 * @example
 * const quantity = (body: JsonBody): string => (body.keys.includes('quantity') ? body.source('quantity') : '1')
 */
export type { JsonBody } from './foundation/json-body.js'

/**
 * An error response. Throw it from a handler, a hook or an action; its `type` decides the status.
 * @example
 * const requireTitle = (title: string): void => {
 *   if (title === '') throw new Problem('conflict', 'The title is empty')
 * }
 */
export { PluginProblem as Problem } from './foundation/problem.js'

/**
 * The types of problems. The type determines the status.
 * @example
 * const typeOf = (locked: boolean): ProblemType => (locked ? 'conflict' : 'not_found')
 */
export type { ProblemType } from './foundation/problem.js'

/**
 * An error of one field of a body. The message is a whole sentence; by convention, it begins with the field's label.
 * @example
 * const empty: FieldError = { field: 'title', message: 'Title must not be empty' }
 */
export type { FieldError } from './foundation/problem.js'

/**
 * Renders the body of every error below a path. Register it with `app.problems`.
 * @example
 * const legacy: ProblemRenderer = (problem) => ({ error: problem.message })
 */
export type { ProblemRenderer } from './http/route.js'

/**
 * A resource of `resources.yaml`, compiled: it parses ids, bodies and query strings by the rules of the file.
 * @example
 * const isId = (books: Resource, text: string): boolean => books.parseId(text) !== undefined
 */
export type { Resource } from './resource/resource.js'

/**
 * The records of a resource. `context.store(resource)` returns one.
 * @example
 * const titleOf = async (books: Store<Row>, id: Id) => (await books.retrieve(id))?.['title']
 */
export type { Store } from './db/records/store.js'

/**
 * The value of a primary key: a bigint, a number or a string, depending on the field's type; for a key of several fields, an object with their values.
 * @example
 * const isFirst = (id: Id): boolean => id === 1n
 */
export type { Id } from './resource/plan.js'

/**
 * A record as an object with a member for each field, if no types are generated for the application.
 * @example
 * const titles = (books: readonly Row[]) => books.map((book) => String(book['title']))
 */
export type { Row } from './resource/plan.js'

/**
 * The query parameters of a list as an object, for `resource.parseList`.
 * @example
 * const newest: ListParameters = { ordering: ['-created_at'], page_size: 10 }
 */
export type { ListParameters } from './resource/query.js'

/**
 * Any JSON value.
 * @example
 * const empty: Json = { items: [], next: null }
 */
export type { Json } from './foundation/json.js'

/**
 * A JSON Schema (2020-12), for settings and for descriptions of routes.
 * @example
 * const percentage: JsonSchema = { type: 'integer', minimum: 0, maximum: 100 }
 */
export type { JsonSchema } from './foundation/json.js'

/**
 * The value of a `json` field with its exact digits. Construct one to store numbers that JavaScript would round.
 * @example
 * const exact = new JsonText('{"total": 12345678901234567890}')
 */
export { JsonText } from './fields/spelling/json-text.js'

/**
 * An operation besides the generated ones, on a record or on the whole resource. Register it with `app.action`.
 * @example
 * const archive: Action = {
 *   summary: 'Archive',
 *   handle({ record }) {
 *     if (record['lent']) throw new Problem('conflict', 'The book is lent')
 *   },
 * }
 */
export type { Action } from './http/registrations/action.js'

/**
 * A function that wraps the handlers of routes: it can respond itself, or change the reply of `next()`. Register it with `app.use`.
 * @example
 * const tag: Middleware = async (_context, next) => {
 *   const reply = await next()
 *   return { ...reply, headers: { ...reply.headers, 'X-Served-By': 'library' } }
 * }
 */
export type { Middleware } from './http/route.js'

/**
 * A value that middleware sets for a request, and that handlers read. `app.value` makes one.
 * @example
 * const isTenant = (tenant: Value<number>, context: Context): boolean => tenant.get(context) !== undefined
 */
export type { Value } from './http/registrations/request-value.js'

/**
 * Functions that run before and after the writes of a resource. Register them with `app.hooks`.
 * @example
 * const trimmed: Hooks<{ readonly title: string }> = {
 *   beforeCreate: ({ values }) => ({ title: values.title?.trim() ?? '' }),
 * }
 */
export type { Hooks } from './http/registrations/hooks.js'

/**
 * The argument of the hook `afterCommit`: a write that has been committed.
 * @example
 * const line = ({ operation, id }: Committed<Row>): string => `${operation} ${id}`
 */
export type { Committed } from './http/registrations/hooks.js'

/**
 * The function that computes a field declared under `computed`. Register it with `app.compute`.
 * @example
 * const fullName: Computation<{ readonly first: string; readonly last: string }> = ({ first, last }) => `${first} ${last}`
 */
export type { Computation } from './resource/computed.js'

/**
 * A function that replaces a generated operation; `generated()` runs the operation itself. Register it with `app.replace`.
 * @example
 * const keepFirst: Replacement<'destroy'> = async ({ id, generated }) => {
 *   if (id === 1n) throw new Problem('conflict', 'The first book stays')
 *   return generated()
 * }
 */
export type { Replacement } from './http/registrations/replacement.js'

/**
 * The description of a hand-written route in the OpenAPI document.
 * @example
 * const described: OperationDescription = { summary: 'Ping', responses: { 200: { description: 'The service is up' } } }
 */
export type { OperationDescription } from './http/operation-description.js'

/**
 * The description of one status in an `OperationDescription`.
 * @example
 * const found: ResponseDescription = { description: 'The titles', schema: { type: 'array', items: { type: 'string' } } }
 */
export type { ResponseDescription } from './http/operation-description.js'

/**
 * The description of a query parameter or a header in an `OperationDescription`.
 * @example
 * const limit: ValueDescription = { description: 'How many titles', schema: { type: 'integer', maximum: 100 } }
 */
export type { ValueDescription } from './http/operation-description.js'

/**
 * The connection that a TypeScript migration works through. Values are the text that PostgreSQL prints and reads.
 * @example
 * export async function up(connection: Connection): Promise<void> {
 *   await connection.query({ text: 'update books set lent = $1', values: ['false'] })
 * }
 */
export type { Connection } from './db/database.js'

/**
 * The caller of a request that a mounted router receives, as `context.identity` has it; undefined without a credential.
 * @example
 * const ownerOf = (request: Parameters<typeof callerOf>[0]): string => callerOf(request)?.subject ?? 'nobody'
 */
export { callerOf } from './http/registrations/caller-of.js'

/**
 * The types of one application. `snippetctl types` writes a file that adds them to this interface.
 * @example
 * type IsTyped = Application extends { readonly resources: unknown } ? true : false
 */
// A star, because the types that are generated can only merge with an interface that is exported this way.
export type * from './resource/application.js'

/**
 * The names of the resources of the application; any string if no types are generated.
 * @example
 * const audited: readonly ResourceName[] = ['book']
 */
export type { ResourceName } from './resource/typed.js'

/**
 * A stored record of a resource, including private fields.
 * @example
 * const label = (book: RecordOf<'book'>): string => String(book['title'])
 */
export type { RecordOf } from './resource/typed.js'

/**
 * The values that `store.create` takes.
 * @example
 * const dune: InsertOf<'book'> = { title: 'Dune' }
 */
export type { InsertOf } from './resource/typed.js'

/**
 * The values that `store.update` takes.
 * @example
 * const lent: ChangeOf<'book'> = { lent: true }
 */
export type { ChangeOf } from './resource/typed.js'
