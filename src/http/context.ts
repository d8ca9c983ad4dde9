import type { KeyedRequest } from '../db/records/stored-responses.js'
import type { QueueKey, TransactionOptions } from '../db/database.js'
import type { Store } from '../db/records/store.js'
import type { JsonBody } from '../json-body.js'
import { callerOf, type Profiles } from '../access/profiles.js'
import { type Bounds, boundsOf } from '../db/statements/bounds.js'
import type { Id, Row, Scopes } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import { narrowScope } from '../resource/scope.js'
import { readBody } from './server/body.js'
import type { Deadlines } from './server/deadlines.js'
import { EXCHANGE, type Exchange } from './server/exchange.js'
import { once } from './middleware/idempotency.js'
import type { AfterCommit, Task } from './after-commit.js'
import { EXPORT, exportList, type WithExports } from './exports.js'
import { askedBy, fingerprintOf, formatOwner } from './key-owner.js'
import {
  inTransactions,
  isUnknown,
  limitTransaction,
  rejectLate,
  type Transactional,
  watchStores,
  withRequest,
} from './outcomes.js'
import type { PublicUrl } from './public-url.js'
import {
  ContextQueries,
  deriveContext,
  namedInLog,
  QUERIES,
  QUERY_MEMBERS,
  type QueryMembers,
  type RecordQueries,
  SERVICE,
  type WithQueries,
  type WithService,
} from './queries.js'
import { type Records, recordsFor } from './records.js'
import type { BodyPolicy, Context, Reply, Transaction } from './route.js'
import type { Params } from './route-table.js'
import { queueKeyOf } from './queue-key.js'

/** The parts that the contexts of all requests share. */
export interface Surroundings {
  readonly records: Records
  readonly reverse: Context['reverse']
  readonly publicUrl: PublicUrl
  /** The rights of callers; undefined without `auth`. */
  readonly profiles?: Profiles | undefined
  readonly runAfterCommit: AfterCommit['run']
  /** Ends the transactions of a request in time. */
  readonly watch: Deadlines['watch']
  readonly enforce: Deadlines['enforce']
  /** The time limit of a transaction after a commit, in ms. */
  readonly handlerTimeout: number
}

/** Creates the context of a request. */
export function makeContext(exchange: Exchange, params: Params, surroundings: Surroundings): Context {
  const { request, requestId, search } = exchange
  let reading: Promise<JsonBody> | undefined
  const { identity } = exchange
  const profile = surroundings.profiles?.(identity)
  const caller = profile && callerOf(identity)
  let scopes: Scopes | undefined
  let watching: ReturnType<typeof watchStores> | undefined
  const watched = () => (watching ??= watchStores(exchange, surroundings.enforce))
  const bind = <Item, Items>(store: Store<Item, Items>, kind: Kind, transactional: Transactional<Item, Id, Row>) => {
    if (kind === 'inside') return store
    return kind === 'request' ? watched()(store, transactional) : inTransactions(store, transactional)
  }
  const alone = <T>(records: Records, way: Way, work: (context: Transaction) => Promise<T>): Promise<T> =>
    transact(records, { work, options: undefined, ...way })
  /** The resource as the caller sees it, and the limits on its records. */
  const limited = (given: Resource, { isService }: Way): readonly [Resource, Bounds | undefined] => {
    if (!profile || !caller || isService) return [given, scopes && { scopes, granted: undefined }]
    const resource = profile.resource(given)
    return [resource, boundsOf(caller, resource.access, scopes)]
  }
  /** Changes outside of a transaction have one of their own: it ends with the request, and its outcome is known. */
  const runQuery = (records: Records, way: Way): RecordQueries['run'] => {
    const { kind } = way
    return (query, options) =>
      namedInLog(exchange, query, () => {
        const run = (inside: Records) => inside.queries.run(query, options)
        if (kind === 'inside') return run(records)
        if (options.kind === 'write')
          return transact(records, { work: (_, inside) => run(inside), options: undefined, ...way })
        return readWithin(kind, (limits) => records.queries.run(query, { ...options, ...limits }))
      })
  }
  const readWithin = async <T>(
    kind: Kind,
    read: (limits: { readonly queueKey: QueueKey; readonly signal: AbortSignal }) => Promise<T>,
  ): Promise<T> => {
    const limit = limitFor(kind)
    try {
      return await read({ queueKey: queueKeyOf(exchange.route, params), signal: limit.signal })
    } finally {
      limit.end()
    }
  }
  const limitFor = (kind: Kind) => {
    if (kind === 'later') return limitTransaction(surroundings.handlerTimeout)
    rejectLate(exchange, surroundings.enforce)
    return withRequest(exchange, surroundings)
  }
  const around = (records: Records, way: Way): Context => {
    const { kind, isService } = way
    const storeOf = (given: Resource) => {
      const [resource, bounds] = limited(given, way)
      return bind(records.store(resource, bounds), kind, {
        resource,
        createMany: (rows) => alone(records, way, ({ store }) => store(resource).createMany(rows)),
      })
    }
    const documentsOf = (given: Resource) => {
      const [resource, bounds] = limited(given, way)
      const documents = records.documents(resource, bounds)
      if (isGeneratedRead(exchange)) return documents
      return bind(documents, kind, {
        resource,
        createMany: (rows) => alone(records, way, ({ documents }) => documents(resource).createMany(rows)),
      })
    }
    return Object.freeze<Parts>({
      __proto__: QUERY_MEMBERS,
      [EXCHANGE]: exchange,
      [QUERIES]: new ContextQueries(() => ({
        queries: records.queries,
        scopes: () => scopes,
        isLimited: caller !== undefined && !isService,
        run: runQuery(records, way),
      })),
      [SERVICE]: () => around(records, { kind, isService: true }),
      [EXPORT]: (given, plan, form) => {
        const [resource, bounds] = limited(given, way)
        const { exports } = surroundings.records
        const exporting = { exchange, exports, queueKey: queueKeyOf(exchange.route, params) }
        return exportList(exporting, { resource, plan, bounds }, form)
      },
      method: request.method ?? '',
      requestId,
      trace: exchange.trace,
      identity,
      params,
      search,
      headers: request.headers,
      // A stream can be read only once, so the first policy applies.
      body: (policy) => (reading ??= startReading(exchange, policy)),
      store: storeOf,
      documents: documentsOf,
      scope: (resource, conditions) => {
        scopes = narrowScope(scopes, records.modelOf(resource), conditions)
      },
      transaction: (work, options) => transact(records, { work: (context) => work(context), options, ...way }),
      publicUrl: () => surroundings.publicUrl(request),
      reverse: surroundings.reverse,
    }) as Parts & QueryMembers
  }
  const transact: Transact = async (records, { work, options, kind, isService }) => {
    let tasks: Task[] = []
    let written = false
    const limit = limitFor(kind)
    try {
      const result = await records.transaction(
        async (inside) => {
          // The transaction may be run again from its start.
          tasks = []
          limit.commits(false)
          const own = within(around(inside, { kind: 'inside', isService }), {
            records: inside,
            owner: () => formatOwner(scopes, identity),
            rights: async () => profile && fingerprintOf(profile, identity, inside.memberships),
            tasks,
            options,
          })
          const result = await work(own, inside)
          written = inside.hasWritten?.() ?? true
          limit.commits(true)
          return result
        },
        { ...options, queueKey: queueKeyOf(exchange.route, params), signal: limit.signal, enforce: limit.enforce },
      )
      if (written) limit.done()
      // After-commit tasks have no deadline. A replica may not have the transaction yet.
      if (tasks.length > 0)
        void surroundings.runAfterCommit(
          exchange,
          Object.freeze(tasks),
          around(surroundings.records, { kind: 'later', isService }),
        )
      return result
    } catch (error) {
      if (isUnknown(error)) limit.done()
      throw error
    } finally {
      limit.end()
    }
  }
  return around(recordsFor(exchange, surroundings.records), { kind: 'request', isService: false })
}

/** The own members of a context; the others are on its prototype. */
interface Parts extends Omit<Context, keyof QueryMembers>, WithQueries, WithService, WithExports {
  readonly __proto__: QueryMembers
  readonly [EXCHANGE]: Exchange
}

/** The owner of a context: a request, a transaction, or an after-commit task. */
type Kind = 'request' | 'inside' | 'later'

/** How a context acts. */
interface Way {
  readonly kind: Kind
  /** Whether it acts for the service, which nothing limits, instead of the caller. */
  readonly isService: boolean
}

interface TransactionWork<T> extends Way {
  readonly work: (context: Transaction, inside: Records) => Promise<T>
  readonly options: TransactionOptions | undefined
}

type Transact = <T>(records: Records, work: TransactionWork<T>) => Promise<T>

interface Inside {
  readonly records: Records
  /** See `formatOwner`. */
  readonly owner: () => string | undefined
  /** See `fingerprintOf`. */
  readonly rights: () => Promise<string | undefined>
  readonly tasks: Task[]
  readonly options: TransactionOptions | undefined
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

/** A nested transaction is part of the outer one. */
function within(context: Context, { records, owner, rights, tasks, options }: Inside): Transaction {
  const transaction: Transaction = deriveContext(context, {
    async transaction<T>(work: (context: Transaction) => Promise<T>, wanted?: TransactionOptions) {
      if (wanted?.isolation !== undefined && wanted.isolation !== options?.isolation) {
        throw new Error(
          `a nested transaction cannot become ${wanted.isolation}; set the isolation of the outer transaction`,
        )
      }
      return work(transaction)
    },
    afterCommit: (work: Task) => void tasks.push(work),
    once: async (asked: KeyedRequest, work: () => Promise<Reply>) =>
      once(records.answers(), async () => askedBy(owner(), asked, await rights()), work),
  })
  return transaction
}

/** A handler may leave a body unread, or respond before it is complete; then nobody needs the error of a bad body. */
function startReading(exchange: Exchange, policy: BodyPolicy): Promise<JsonBody> {
  const reading = readBody(exchange, policy)
  reading.catch(() => {})
  return reading
}
