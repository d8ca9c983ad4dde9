import type { MovedRows } from '../db/records/moved-rows.js'
import { rowsPerStatement, type Store, type Stored } from '../db/records/store.js'
import { Problem } from '../foundation/problem.js'
import type { Resource } from '../resource/resource.js'
import type { Deadlines } from './connections/deadlines.js'
import type { Exchange } from './server/exchange.js'

/** The time limit of a transaction, and what its request must know about it. */
export interface Limit {
  readonly signal: AbortSignal
  /** Aborts the signal if the deadline has passed. */
  enforce(): void
  /** Tracks whether the transaction is being committed. */
  commits(commits: boolean): void
  /** The transaction is committed, or may be. */
  done(): void
  end(): void
}

/** Ends an exchange that exceeds its deadline. Timers do not fire while an embedded database answers one statement after another. */
export type Enforce = Deadlines['enforce']

/** @throws Problem `timeout` if no more work may start, because a write after the response would contradict it */
export function rejectLate(exchange: Exchange, enforce: Enforce): void {
  enforce(exchange)
  const { expired, overdue, ending } = exchange
  if (expired) throw ending?.signal.reason ?? answeredBefore()
  if (overdue) throw new Problem('timeout', 'the request exceeded its time limit', { headers: { 'Retry-After': '1' } })
}

/** The error for plugin code that is still running after its request has ended. */
export function answeredBefore(): Problem {
  return new Problem('timeout', 'the request ended before its transaction')
}

/** Whether the outcome of a write is unknown. */
export function isUnknown(error: unknown): boolean {
  return error instanceof Problem && error.type === 'outcome_unknown'
}

/** Binds a transaction to its request. It tracks commits, because the response must not contradict them. */
export function withRequest(exchange: Exchange, { watch, enforce }: Pick<Deadlines, 'watch' | 'enforce'>): Limit {
  const { signal } = (exchange.ending ??= new AbortController())
  let counted = false
  const commits = (commits: boolean) => {
    if (commits !== counted) exchange.writes += commits ? 1 : -1
    counted = commits
  }
  exchange.transactions += 1
  watch(exchange)
  return {
    signal,
    enforce: () => enforce(exchange),
    commits,
    done: () => {
      exchange.stored = true
    },
    end: () => {
      commits(false)
      exchange.transactions -= 1
    },
  }
}

/** Limits a transaction that no request waits for. */
export function limitTransaction(milliseconds: number): Limit {
  const ending = new AbortController()
  const reason = new Problem('timeout', `a transaction after a commit took longer than ${milliseconds / 1000} seconds`)
  const due = performance.now() + milliseconds
  const timer = setTimeout(() => ending.abort(reason), milliseconds).unref()
  const enforce = () => {
    if (performance.now() >= due) ending.abort(reason)
  }
  return { signal: ending.signal, enforce, commits() {}, done() {}, end: () => clearTimeout(timer) }
}

/** Creates records in a transaction of their own. */
export interface Transactional<Item, Key, Insert> {
  readonly resource: Resource
  readonly mayMove: MovedRows['mayMove']
  create(row: Insert): Promise<Stored<Item, Key>>
  createMany(rows: readonly Insert[]): Promise<readonly Stored<Item, Key>[]>
}

/** Returns a store that creates records in a transaction with a deadline where one statement outside of it must not. */
export function inTransactions<Item, Items, Key, Insert, Change>(
  store: Store<Item, Items, Key, Insert, Change>,
  transactional: Transactional<Item, Key, Insert>,
): Store<Item, Items, Key, Insert, Change> {
  return {
    ...store,
    create: (row) => {
      const alone = () => store.create(row)
      return createBy(transactional, 1, { alone, together: () => transactional.create(row) })
    },
    createMany: (rows) => {
      const alone = () => store.createMany(rows)
      return createBy(transactional, rows.length, { alone, together: () => transactional.createMany(rows) })
    },
  }
}

/** How records are created: by a statement that stands alone, or together in a transaction. */
interface Ways<Result> {
  alone(): Promise<Result>
  together(): Promise<Result>
}

/** Creates records in a transaction if they need several statements, or if a trigger may skip one of them. */
async function createBy<Result>(
  { resource, mayMove }: Pick<Transactional<unknown, never, never>, 'resource' | 'mayMove'>,
  count: number,
  { alone, together }: Ways<Result>,
): Promise<Result> {
  const { model } = resource.spec
  return count > rowsPerStatement(model) || (await mayMove(model)) ? together() : alone()
}

/**
 * Wraps stores so that a request waits for its writes outside a transaction even beyond its deadline, because a statement that was sent may take
 * effect.
 */
export function watchStores(exchange: Exchange, enforce: Enforce) {
  // Most requests use a single store, so only the last one is kept.
  let last: object | undefined
  let lastWatched: unknown
  return <Item, Items, Key, Insert, Change extends object>(
    store: Store<Item, Items, Key, Insert, Change>,
    transactional: Transactional<Item, Key, Insert>,
  ): Store<Item, Items, Key, Insert, Change> => {
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

/** Written out without a spread, because it runs for every request that writes. */
function watchWrites<Item, Items, Key, Insert, Change extends object>(
  watch: Watch,
  store: Store<Item, Items, Key, Insert, Change>,
  transactional: Transactional<Item, Key, Insert>,
): Store<Item, Items, Key, Insert, Change> {
  return {
    list: store.list,
    batches: store.batches,
    retrieve: store.retrieve,
    retrieveMany: store.retrieveMany,
    lock: store.lock,
    mayRun: store.mayRun,
    covering: store.covering,
    lockMany: store.lockMany,
    create: (row) =>
      createBy(transactional, 1, {
        alone: () => watched(watch, () => store.create(row), isThere),
        together: () => transactional.create(row),
      }),
    createMany: (rows) =>
      createBy(transactional, rows.length, {
        alone: () => watched(watch, () => store.createMany(rows), isNotEmpty),
        together: () => transactional.createMany(rows),
      }),
    update: (id, row, only) =>
      watched(
        watch,
        () => store.update(id, row, only),
        (item) => item !== undefined && Object.keys(row).length > 0,
      ),
    destroy: (id, only) => watched(watch, () => store.destroy(id, only), Boolean),
    destroyMany: (ids) => watched(watch, () => store.destroyMany(ids), isPositive),
    take: (id, only) => watched(watch, () => store.take(id, only), isThere),
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
