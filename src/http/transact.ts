import { inspect } from 'node:util'
import type { KeyedRequest } from '../db/records/stored-responses.js'
import { ISOLATIONS, type Result, type TransactionOptions, type QueueKey } from '../db/database.js'
import type { QueryOptions } from '../db/queries/compile-queries.js'
import type { Query } from '../db/queries/query-knex.js'
import type { Task } from './registrations/after-commit.js'
import { type Acting, ATTEMPT, type WithAttempts } from './context-state.js'
import { askedBy, fingerprintOf, formatOwner } from './key-owner.js'
import { once } from './middleware/idempotency.js'
import { guardByRequest, guardByTime, isUnknown, rejectLate, type TransactionGuard } from './outcomes.js'
import { deriveContext, namedInLog } from './registrations/queries.js'
import type { Records } from './records.js'
import type { Reply, Transaction, Route } from './route.js'
import type { FieldSpec } from '../config/spec.js'
import type { Params } from './route-table.js'

type TransactionWork<T> = (context: Transaction, inside: Records) => Promise<T>

/** Runs work in a transaction that ends with its request, and starts the after-commit tasks. */
export async function transact<T>(acting: Acting, work: TransactionWork<T>, options?: TransactionOptions): Promise<T> {
  requireIsolation(options?.isolation)
  const { exchange, params, surroundings, contextOf } = acting.state
  let tasks: Task[] = []
  let written = false
  const guard = guardFor(acting)
  try {
    const result = await acting.records.transaction(
      async (records) => {
        // The transaction may be run again from its start.
        Object.freeze(tasks)
        tasks = []
        guard.setCommitting(false)
        const result = await work(within({ ...acting, records, kind: 'inside' }, tasks, options), records)
        written = records.hasWritten?.() ?? true
        guard.setCommitting(true)
        return result
      },
      { ...options, queueKey: queueKeyOf(exchange.route, params), signal: guard.signal, enforce: guard.enforce },
    )
    if (written) guard.done()
    if (tasks.length > 0) {
      // After-commit tasks have no deadline. A replica may not have the transaction yet.
      const later = contextOf({ ...acting, records: surroundings.records, kind: 'later' })
      void surroundings.runAfterCommit(exchange, tasks, later)
    }
    return result
  } catch (error) {
    if (isUnknown(error)) guard.done()
    throw error
  } finally {
    // Nobody would run what is added later.
    Object.freeze(tasks)
    guard.end()
  }
}

/** With an unknown isolation no transaction would begin, and each change would be committed by itself. */
function requireIsolation(given: unknown): void {
  if (given === undefined || ISOLATIONS.some((each) => each === given)) return
  throw new Error(
    `a transaction has the isolation ${inspect(given, { depth: 0 })}; it must be ${ISOLATIONS.join(' or ')}, or left out for read committed`,
  )
}

/** A nested transaction is part of the outer one. */
function within(acting: Acting, tasks: Task[], options: TransactionOptions | undefined): Transaction {
  const { state, records } = acting
  const { profile, exchange } = state
  const { identity } = exchange
  const own: Pick<Transaction, 'transaction' | 'afterCommit' | 'once'> & WithAttempts = {
    async transaction<T>(work: (context: Transaction) => Promise<T>, wanted?: TransactionOptions) {
      if (wanted?.isolation !== undefined && wanted.isolation !== options?.isolation) {
        throw new Error(
          `a nested transaction cannot become ${wanted.isolation}; set the isolation of the outer transaction`,
        )
      }
      return work(transaction)
    },
    afterCommit(work: Task) {
      if (Object.isFrozen(tasks))
        throw new Error('afterCommit was called after the transaction, or the generated operation, had ended')
      tasks.push(work)
    },
    [ATTEMPT]: (work) => attemptIn(acting, tasks, (inner, own) => work(within(inner, own, options))),
    once: async (asked: KeyedRequest, work: () => Promise<Reply>) =>
      once(
        records.answers(),
        async () => {
          const owner = formatOwner(state.scopes, identity)
          return askedBy(owner, asked, profile && (await fingerprintOf(profile, identity, records.memberships)))
        },
        work,
      ),
  }
  const transaction: Transaction = deriveContext(state.contextOf(acting), own)
  return transaction
}

/** Runs work in a transaction, whose error undoes its changes and drops its after-commit tasks. */
async function attemptIn<T>(
  acting: Acting,
  tasks: Task[],
  work: (acting: Acting, tasks: Task[]) => Promise<T>,
): Promise<T> {
  const { attempt } = acting.records
  if (!attempt) return work(acting, tasks)
  const own: Task[] = []
  try {
    const result = await attempt((records) => work({ ...acting, records }, own))
    tasks.push(...own)
    return result
  } finally {
    // Nobody would run what is added later.
    Object.freeze(own)
  }
}

/** Runs a query of a plugin. A change outside a transaction gets its own, which ends with the request and has a known outcome. */
export function runQuery(acting: Acting, query: Query, options: QueryOptions): Promise<Result> {
  const { state, records, kind } = acting
  const { exchange, params } = state
  return namedInLog(exchange, query, async () => {
    if (kind === 'inside') return records.queries.run(query, options)
    if (options.kind === 'write') return transact(acting, (_, inside) => inside.queries.run(query, options))
    const guard = guardFor(acting)
    try {
      const queueKey = queueKeyOf(exchange.route, params)
      return await records.queries.run(query, { ...options, queueKey, signal: guard.signal })
    } finally {
      guard.end()
    }
  })
}

function guardFor({ kind, state: { exchange, surroundings } }: Acting): TransactionGuard {
  if (kind === 'later') return guardByTime(surroundings.handlerTimeout)
  rejectLate(exchange, surroundings.enforce)
  return guardByRequest(exchange, surroundings)
}

/** The key of a request's transactions in the fair queue: the resource of its route, and the record if the route changes just one. */
export function queueKeyOf(route: Route | undefined, params: Params): QueueKey {
  if (!route) return {}
  const { generated, action } = route
  const resource = generated?.resource ?? action?.resource
  const name = `${route.method} ${route.name}`
  if (!resource) return { resource: name, name }
  const { table, key } = resource.spec.model
  return { resource: table, name, record: recordOf(key, params) }
}

/** The record that a path names, as a text; undefined for the path of a list. */
function recordOf(key: readonly FieldSpec[], params: Params): string | undefined {
  const [first, ...others] = key
  if (first === undefined || others.length === 0) return first && params[first.name]
  const parts = key.map(({ name }) => params[name])
  return parts.includes(undefined) ? undefined : parts.join('/')
}
