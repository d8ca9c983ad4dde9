import type { Change, SkippedRows } from '../db/records/skipped-rows.js'
import { splitRows, type Store } from '../db/records/store.js'
import { Problem } from '../foundation/problem.js'
import type { Resource } from '../resource/resource.js'
import type { Deadlines } from './connections/deadlines.js'
import type { Exchange } from './server/exchange.js'

/** Ends a transaction at its deadline, and tracks how far it has got, because the response must not contradict it. */
export interface TransactionGuard {
  readonly signal: AbortSignal
  /** Aborts the signal if the deadline has passed. */
  enforce(): void
  /** Records whether the transaction is being committed. */
  setCommitting(committing: boolean): void
  /** Records that the transaction is committed, or may be. */
  done(): void
  end(): void
}

/** Ends an exchange that exceeds its deadline. Timers do not fire while an embedded database answers one statement after another. */
export type Enforce = Deadlines['enforce']

/** @throws Problem `timeout` after the deadline, because a later write would contradict the response */
export function rejectLate(exchange: Exchange, enforce: Enforce): void {
  enforce(exchange)
  const { expired, overdue, ending } = exchange
  if (expired) throw ending?.signal.reason ?? requestEnded()
  if (overdue) throw new Problem('timeout', 'the request exceeded its time limit', { headers: { 'Retry-After': '1' } })
}

/** The error for plugin code that is still running after its request has ended. */
export function requestEnded(): Problem {
  return new Problem('timeout', 'the request ended before its transaction')
}

/** Whether the outcome of a write is unknown. */
export function isUnknown(error: unknown): boolean {
  return error instanceof Problem && error.type === 'outcome_unknown'
}

/** Binds a transaction to the deadline of its request. */
export function guardByRequest(
  exchange: Exchange,
  { watch, enforce }: Pick<Deadlines, 'watch' | 'enforce'>,
): TransactionGuard {
  const { signal } = (exchange.ending ??= new AbortController())
  let counted = false
  const setCommitting = (committing: boolean) => {
    if (committing !== counted) exchange.writes += committing ? 1 : -1
    counted = committing
  }
  exchange.transactions += 1
  watch(exchange)
  return {
    signal,
    enforce: () => enforce(exchange),
    setCommitting,
    done: () => {
      exchange.stored = true
    },
    end: () => {
      setCommitting(false)
      exchange.transactions -= 1
    },
  }
}

/** Limits a transaction that no request waits for. */
export function guardByTime(milliseconds: number): TransactionGuard {
  const ending = new AbortController()
  const reason = new Problem('timeout', `a transaction after a commit took longer than ${milliseconds / 1000} seconds`)
  const due = performance.now() + milliseconds
  const timer = setTimeout(() => ending.abort(reason), milliseconds).unref()
  const enforce = () => {
    if (performance.now() >= due) ending.abort(reason)
  }
  return { signal: ending.signal, enforce, setCommitting() {}, done() {}, end: () => clearTimeout(timer) }
}

/** Changes records in a transaction of its own. */
export interface Transactional<Item, Items> {
  readonly resource: Resource
  readonly needsTransaction: SkippedRows['needsTransaction']
  transact<Result>(work: (store: Store<Item, Items>) => Promise<Result>): Promise<Result>
}

/** Returns a store that runs a change in a transaction with a deadline if a single statement is not enough. */
export function inTransactions<Item, Items>(
  store: Store<Item, Items>,
  transactional: Transactional<Item, Items>,
): Store<Item, Items> {
  return { ...store, ...changesBy(store, transactional, (change) => change()) }
}

type Changes<Item> = Pick<Store<Item>, 'create' | 'createMany' | 'update' | 'destroy' | 'destroyMany' | 'take'>

/** Runs a change outside a transaction. `hasChanged` tells from the result whether it changed anything. */
type Alone = <Result>(change: () => Promise<Result>, hasChanged: (result: Result) => boolean) => Promise<Result>

/** Changes records in a transaction if they need several statements, or if triggers need it. */
function changesBy<Item, Items>(
  store: Store<Item, Items>,
  { resource, needsTransaction, transact }: Transactional<Item, Items>,
  alone: Alone,
): Changes<Item> {
  const { model } = resource.spec
  const by = async <Result>(
    kind: Change,
    change: (store: Store<Item, Items>) => Promise<Result>,
    hasChanged: (result: Result) => boolean,
    statements = 1,
  ): Promise<Result> =>
    statements > 1 || (await needsTransaction(model, kind)) ? transact(change) : alone(() => change(store), hasChanged)
  return {
    create: (row) => by('insert', (store) => store.create(row), isThere),
    createMany: (rows) => by('insert', (store) => store.createMany(rows), isNotEmpty, splitRows(model, rows).length),
    update: (id, row, only) =>
      by(
        'update',
        (store) => store.update(id, row, only),
        (item) => item !== undefined && Object.keys(row).length > 0,
      ),
    destroy: (id, only) => by('delete', (store) => store.destroy(id, only), Boolean),
    destroyMany: (ids) => by('delete', (store) => store.destroyMany(ids), isPositive),
    take: (id, only) => by('delete', (store) => store.take(id, only), isThere),
  }
}

/**
 * Wraps stores so that a request waits for its writes outside a transaction even past its deadline, because a statement that has been sent may still
 * take effect.
 */
export function watchStores(exchange: Exchange, enforce: Enforce) {
  // Most requests use a single store, so only the last one is kept.
  let last: object | undefined
  let lastWatched: unknown
  return <Item, Items>(store: Store<Item, Items>, transactional: Transactional<Item, Items>): Store<Item, Items> => {
    if (last === store) return lastWatched as typeof store
    const watched = watchWrites({ exchange, enforce }, store, transactional)
    last = store
    lastWatched = watched
    return watched
  }
}

interface Watch {
  readonly exchange: Exchange
  readonly enforce: Enforce
}

function watchWrites<Item, Items>(
  watch: Watch,
  store: Store<Item, Items>,
  transactional: Transactional<Item, Items>,
): Store<Item, Items> {
  const changes = changesBy(store, transactional, (change, hasChanged) => watched(watch, change, hasChanged))
  // Written out without a spread, because it runs for every request that writes.
  return {
    list: store.list,
    batches: store.batches,
    retrieve: store.retrieve,
    retrieveMany: store.retrieveMany,
    lock: store.lock,
    mayRun: store.mayRun,
    covering: store.covering,
    lockMany: store.lockMany,
    create: changes.create,
    createMany: changes.createMany,
    update: changes.update,
    destroy: changes.destroy,
    destroyMany: changes.destroyMany,
    take: changes.take,
  }
}

/** Runs a write. `hasChanged` tells from the result whether it changed anything. */
async function watched<Result>(
  { exchange, enforce }: Watch,
  write: () => Promise<Result>,
  hasChanged: (result: Result) => boolean,
): Promise<Result> {
  rejectLate(exchange, enforce)
  exchange.writes += 1
  try {
    const result = await write()
    if (hasChanged(result)) exchange.stored = true
    return result
  } catch (error) {
    if (isUnknown(error)) exchange.stored = true
    throw error
  } finally {
    exchange.writes -= 1
  }
}

function isThere(result: unknown): boolean {
  return result !== undefined
}

function isPositive(count: number): boolean {
  return count > 0
}

function isNotEmpty({ length }: readonly unknown[]): boolean {
  return length > 0
}
