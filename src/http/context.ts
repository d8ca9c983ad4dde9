import { hash } from 'node:crypto'
import type { Answers, Asked } from '../db/records/answers.js'
import type { InternalTransactionOptions, TransactionOptions } from '../db/database.js'
import type { Store } from '../db/records/store.js'
import type { JsonBody } from '../json-body.js'
import type { ModelSpec } from '../config/spec.js'
import type { Id, Row, Scopes } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import { narrowScope, spellScopes } from '../resource/scope.js'
import { readBody } from './server/body.js'
import type { Deadlines } from './server/deadlines.js'
import { EXCHANGE, type Exchange } from './server/exchange.js'
import { once } from './middleware/idempotency.js'
import type { Later, Task } from './after-commit.js'
import {
  inTransactions,
  isUnknown,
  limitTransaction,
  refuseLate,
  type Transactional,
  watchStores,
  withRequest,
} from './outcomes.js'
import type { PublicUrl } from './public-url.js'
import type { BodyPolicy, Context, Reply, Transaction } from './route.js'
import type { Params } from './route-table.js'
import { queueKeyOf } from './queue-key.js'

/** Where handlers find records; inside a transaction, those of the transaction. */
export interface Records {
  store(resource: Resource, scopes?: Scopes): Store<Row>
  documents(resource: Resource, scopes?: Scopes): Store<string, Uint8Array>
  /** @throws Error naming the nearest resource when there is none of that name */
  readonly modelOf: (resource: string) => ModelSpec
  readonly graph: Context['graph']
  /** @throws Error where no resource keeps any */
  answers(): Answers
  transaction<T>(work: (records: Records) => Promise<T>, options?: InternalTransactionOptions): Promise<T>
  /** Whether anything was sent that does more than read; in a transaction alone. */
  readonly hasWritten?: () => boolean
  /** The same, for requests that take what a replica has; undefined when there is none. */
  readonly reading?: Records | undefined
}

/** What every request's context has in common. */
export interface Surroundings {
  readonly records: Records
  readonly reverse: Context['reverse']
  readonly publicUrl: PublicUrl
  readonly runLater: Later['run']
  /** Sees to it that the transactions of an exchange end. */
  readonly watch: Deadlines['watch']
  readonly enforce: Deadlines['enforce']
  /** Milliseconds that a transaction after a commit may take. */
  readonly handlerTimeout: number
}

/** Makes what a handler sees of a request. */
export function makeContext(exchange: Exchange, params: Params, surroundings: Surroundings): Context {
  const { request, requestId, search } = exchange
  let reading: Promise<JsonBody> | undefined
  let scopes: Scopes | undefined
  let watching: ReturnType<typeof watchStores> | undefined
  const watched = () => (watching ??= watchStores(exchange, surroundings.enforce))
  const bind = <Item, Items>(store: Store<Item, Items>, kind: Kind, transactional: Transactional<Item, Id, Row>) => {
    if (kind === 'inside') return store
    return kind === 'request' ? watched()(store, transactional) : inTransactions(store, transactional)
  }
  const alone = <T>(records: Records, kind: Kind, work: (context: Transaction) => Promise<T>): Promise<T> =>
    transact(records, { work, options: undefined, kind })
  const around = (records: Records, kind: Kind): Context =>
    Object.freeze<Context & { readonly [EXCHANGE]: Exchange }>({
      [EXCHANGE]: exchange,
      method: request.method ?? '',
      requestId,
      trace: exchange.trace,
      params,
      search,
      headers: request.headers,
      // A stream gives its bytes once, so the first policy decides.
      body: (policy) => (reading ??= startReading(exchange, policy)),
      store: (resource) =>
        bind(records.store(resource, scopes), kind, {
          resource,
          createMany: (rows) => alone(records, kind, ({ store }) => store(resource).createMany(rows)),
        }),
      documents: (resource) =>
        isGeneratedRead(exchange)
          ? records.documents(resource, scopes)
          : bind(records.documents(resource, scopes), kind, {
              resource,
              createMany: (rows) => alone(records, kind, ({ documents }) => documents(resource).createMany(rows)),
            }),
      graph: (resource, ids, relations) => (scopes ? refuseGraph() : records.graph(resource, ids, relations)),
      scope: (resource, conditions) => {
        scopes = narrowScope(scopes, records.modelOf(resource), conditions)
      },
      transaction: (work, options) => transact(records, { work, options, kind }),
      publicUrl: () => surroundings.publicUrl(request),
      reverse: surroundings.reverse,
    })
  const transact: Transact = async (records, { work, options, kind }) => {
    if (kind !== 'later') refuseLate(exchange, surroundings.enforce)
    let tasks: Task[] = []
    let written = false
    const limit = kind === 'later' ? limitTransaction(surroundings.handlerTimeout) : withRequest(exchange, surroundings)
    try {
      const result = await records.transaction(
        async (inside) => {
          // It may be run again from its start.
          tasks = []
          limit.commits(false)
          const own = within(around(inside, 'inside'), { records: inside, scopes: () => scopes, tasks, options })
          const result = await work(own)
          written = inside.hasWritten?.() ?? true
          limit.commits(true)
          return result
        },
        { ...options, queueKey: queueKeyOf(exchange.route, params), signal: limit.signal, enforce: limit.enforce },
      )
      if (written) limit.done()
      // What follows a commit takes the time that it takes.
      if (tasks.length > 0) void surroundings.runLater(exchange, Object.freeze(tasks), around(records, 'later'))
      return result
    } catch (error) {
      if (isUnknown(error)) limit.done()
      throw error
    } finally {
      limit.end()
    }
  }
  return around(recordsFor(exchange, surroundings.records), 'request')
}

function refuseGraph(): never {
  throw new Error('`graph` reads related records without a scope, and this request has one; read them by `store`')
}

/** Whose context it is: of a request, of a transaction, or of what follows a commit. */
type Kind = 'request' | 'inside' | 'later'

interface Work<T> {
  readonly work: (context: Transaction) => Promise<T>
  readonly options: TransactionOptions | undefined
  readonly kind: Kind
}

type Transact = <T>(records: Records, work: Work<T>) => Promise<T>

interface Inside {
  readonly records: Records
  readonly scopes: () => Scopes | undefined
  readonly tasks: Task[]
  readonly options: TransactionOptions | undefined
}

/** Whether none but generated code answers it, which writes nothing then. */
function isGeneratedRead({ request: { method }, route }: Exchange): boolean {
  return (
    (method === 'GET' || method === 'HEAD') &&
    route?.generated !== undefined &&
    route.place === undefined &&
    route.uses === undefined
  )
}

/** A transaction in a transaction is a part of it. */
function within(context: Context, { records, scopes, tasks, options }: Inside): Transaction {
  const transaction: Transaction = Object.freeze({
    ...context,
    async transaction<T>(work: (context: Transaction) => Promise<T>, wanted?: TransactionOptions) {
      if (wanted?.isolation !== undefined && wanted.isolation !== options?.isolation) {
        throw new Error(
          `a transaction cannot become ${wanted.isolation} within another; ask for it where that one begins`,
        )
      }
      return work(transaction)
    },
    afterCommit: (work: Task) => void tasks.push(work),
    once: async (asked: Asked, work: () => Promise<Reply>) =>
      once(records.answers(), askedWithin(scopes(), asked), work),
  })
  return transaction
}

/** Within each scope, keys are keys of their own. A space keeps them apart from the keys that clients send. */
function askedWithin(scopes: Scopes | undefined, asked: Asked): Asked {
  if (scopes === undefined) return asked
  return { ...asked, key: ` ${hash('sha256', `${spellScopes(scopes)}\n${asked.key}`, 'base64url')}` }
}

const PRIMARY = /(?:^|,)\s*read\s*=\s*"?primary"?\s*(?:[;,]|$)/i

/** Who changes something must not read what is older, and neither who has just done so and says it (RFC 7240). */
function recordsFor({ request, route }: Exchange, records: Records): Records {
  if (!records.reading || route?.method !== 'GET') return records
  const { prefer } = request.headers
  return typeof prefer === 'string' && PRIMARY.test(prefer) ? records : records.reading
}

/** A handler may leave a body unread, or answer before it is complete: that it was bad then concerns nobody. */
function startReading(exchange: Exchange, policy: BodyPolicy): Promise<JsonBody> {
  const reading = readBody(exchange, policy)
  reading.catch(() => {})
  return reading
}
