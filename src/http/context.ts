import { callerOf } from '../access/profiles.js'
import type { Store } from '../db/records/store.js'
import { type Bounds, boundsOf } from '../db/statements/rules/bounds.js'
import type { JsonBody } from '../foundation/json-body.js'
import type { Row } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import { narrowScope } from '../resource/scope.js'
import type { Acting, Surroundings } from './context-state.js'
import { EXPORT, exportList, type WithExports } from './operations/exports.js'
import { inTransactions, type Transactional, watchStores } from './outcomes.js'
import {
  ContextQueries,
  QUERIES,
  QUERY_MEMBERS,
  type QueryMembers,
  SERVICE,
  type WithQueries,
  type WithService,
} from './registrations/queries.js'
import { queueKeyOf, runQuery, transact } from './transact.js'
import { recordsFor } from './records.js'
import type { BodyPolicy, Context } from './route.js'
import type { Params } from './route-table.js'
import { readBody } from './server/body.js'
import { EXCHANGE, type Exchange } from './server/exchange.js'

/** Creates the context of a request. */
export function makeContext(exchange: Exchange, params: Params, surroundings: Surroundings): Context {
  const { identity } = exchange
  const profile = surroundings.profiles?.(identity)
  const caller = profile && callerOf(identity)
  return contextOf({
    state: {
      exchange,
      params,
      surroundings,
      profile,
      caller,
      contextOf,
      scopes: undefined,
      reading: undefined,
      watched: undefined,
    },
    records: recordsFor(exchange, surroundings.records),
    kind: 'request',
    isService: false,
  })
}

function contextOf(acting: Acting): Context {
  const { state, records, isService } = acting
  const { exchange, params, surroundings } = state
  const { request } = exchange
  // V8 creates functions slowly if it must name them after a symbol, so these get names from constants.
  const asService = () => contextOf({ ...acting, isService: true })
  const exportAs: Parts[typeof EXPORT] = (given, plan, form) => {
    const [resource, bounds] = limited(acting, given)
    const { exports } = surroundings.records
    const exporting = { exchange, exports, queueKey: queueKeyOf(exchange.route, params) }
    return exportList(exporting, { resource, plan, bounds }, form)
  }
  return Object.freeze<Parts>({
    __proto__: QUERY_MEMBERS,
    [EXCHANGE]: exchange,
    [QUERIES]: new ContextQueries(() => ({
      queries: records.queries,
      scopes: () => state.scopes,
      isLimited: state.caller !== undefined && !isService,
      run: (query, options) => runQuery(acting, query, options),
    })),
    [SERVICE]: asService,
    [EXPORT]: exportAs,
    method: request.method ?? '',
    requestId: exchange.requestId,
    trace: exchange.trace,
    identity: exchange.identity,
    params,
    search: exchange.search,
    headers: request.headers,
    // A stream can be read only once, so the first policy applies.
    body: (policy) => (state.reading ??= startReading(exchange, policy, surroundings)),
    store: (resource) => storeOf(acting, resource),
    documents: (resource) => documentsOf(acting, resource),
    scope: (resource, conditions) => {
      state.scopes = narrowScope(state.scopes, records.modelOf(resource), conditions)
    },
    transaction: (work, options) => transact(acting, (context) => work(context), options),
    publicUrl: () => surroundings.publicUrl(request),
    reverse: surroundings.reverse,
  }) as Parts & QueryMembers
}

/** The own members of a context; the others are on its prototype. */
interface Parts extends Omit<Context, keyof QueryMembers>, WithQueries, WithService, WithExports {
  readonly __proto__: QueryMembers
  readonly [EXCHANGE]: Exchange
}

/** The resource as the caller sees it, and the limits on its records. */
function limited({ state, isService }: Acting, given: Resource): readonly [Resource, Bounds | undefined] {
  const { profile, caller, scopes } = state
  if (!profile || !caller || isService) return [given, scopes && { scopes, granted: undefined }]
  const resource = profile.resource(given)
  return [resource, boundsOf(caller, resource.access, scopes)]
}

function storeOf(acting: Acting, given: Resource): Store<Row> {
  const [resource, bounds] = limited(acting, given)
  return bind(acting, acting.records.store(resource, bounds), {
    resource,
    needsTransaction: acting.records.needsTransaction,
    transact: (work) => transact(acting, ({ store }) => work(store(resource))),
  })
}

function documentsOf(acting: Acting, given: Resource): Store<string, Uint8Array> {
  const [resource, bounds] = limited(acting, given)
  const documents = acting.records.documents(resource, bounds)
  if (isGeneratedRead(acting.state.exchange)) return documents
  return bind(acting, documents, {
    resource,
    needsTransaction: acting.records.needsTransaction,
    transact: (work) => transact(acting, ({ documents }) => work(documents(resource))),
  })
}

/** Outside a transaction, changes that need several statements, or may have to be undone, run in a transaction. */
function bind<Item, Items>(
  { state, kind }: Acting,
  store: Store<Item, Items>,
  transactional: Transactional<Item, Items>,
): Store<Item, Items> {
  if (kind === 'inside') return store
  if (kind === 'later') return inTransactions(store, transactional)
  state.watched ??= watchStores(state.exchange, state.surroundings.enforce)
  return state.watched(store, transactional)
}

/** Whether generated code alone handles the request, and does not write. */
function isGeneratedRead({ request: { method }, route }: Exchange): boolean {
  return (
    (method === 'GET' || method === 'HEAD') &&
    route?.generated !== undefined &&
    route.place === undefined &&
    route.uses === undefined
  )
}

/** A handler may leave a body unread, or respond before it is complete; then nobody needs the error of a bad body. */
function startReading(exchange: Exchange, policy: BodyPolicy, { bodies }: Surroundings): Promise<JsonBody> {
  const reading = readBody(exchange, policy, bodies)
  reading.catch(() => {})
  return reading
}
