import { rowsPerStatement, type Store, type Stored } from '../db/records/store.js'
import { Problem } from '../problem.js'
import type { Resource } from '../resource/resource.js'
import type { Deadlines } from './server/deadlines.js'
import type { Exchange } from './server/exchange.js'

/** How long a transaction may take, and what its request has to know of it. */
interface Limit {
  readonly signal: AbortSignal
  /** Gives the signal if it is time. */
  enforce(): void
  /** The transaction is about to be committed, or no longer is. */
  commits(commits: boolean): void
  /** It is committed, or may be. */
  done(): void
  end(): void
}

/** Ends an exchange whose time is up. Timers have no turn while an embedded database answers one statement after the other. */
export type Enforce = Deadlines['enforce']

/** @throws Problem `timeout` when nothing more may be begun: what is stored after an answer would contradict it */
export function refuseLate(exchange: Exchange, enforce: Enforce): void {
  enforce(exchange)
  const { expired, overdue, ending } = exchange
  if (expired) throw ending?.signal.reason ?? answeredBefore()
  if (overdue) throw new Problem('timeout', 'the time of the request was up', { headers: { 'Retry-After': '1' } })
}

/** What code of a plugin is told that has not ended with its request. */
export function answeredBefore(): Problem {
  return new Problem('timeout', 'the request was answered before its transaction ended')
}

/** Whether nobody knows if a change was made. */
export function isUnknown(error: unknown): boolean {
  return error instanceof Problem && error.type === 'outcome_unknown'
}

/** A transaction ends with its request, answered or not: it is told of commits, because no answer may contradict one. */
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

/** A transaction that no request waits for has a time of its own. */
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

type Write<Given extends readonly unknown[], Result> = (...given: Given) => Promise<Result>

/** Whether something was changed, by what a write was given and what came of it. */
type HasChanged<Given extends readonly unknown[], Result> = (result: Result, ...given: Given) => boolean

/** Creates records in a transaction of their own. */
export interface Transactional<Item, Key, Insert> {
  readonly resource: Resource
  createMany(rows: readonly Insert[]): Promise<readonly Stored<Item, Key>[]>
}

/** Gives a store that creates more records than one statement can in a transaction, which ends at a deadline. */
export function inTransactions<Item, Items, Key, Insert, Change>(
  store: Store<Item, Items, Key, Insert, Change>,
  { resource, createMany }: Transactional<Item, Key, Insert>,
): Store<Item, Items, Key, Insert, Change> {
  const most = rowsPerStatement(resource.spec.model)
  return { ...store, createMany: (rows) => (rows.length > most ? createMany(rows) : store.createMany(rows)) }
}

/** Gives a store whose writes, outside of a transaction, its request waits for past its deadline: what was sent may be done. */
export function watchStores(exchange: Exchange, enforce: Enforce) {
  const known = new Map<object, unknown>()
  return <Item, Items, Key, Insert, Change extends object>(
    store: Store<Item, Items, Key, Insert, Change>,
    transactional: Transactional<Item, Key, Insert>,
  ): Store<Item, Items, Key, Insert, Change> => {
    const found = known.get(store) as typeof store | undefined
    if (found) return found
    const watched = inTransactions(watchWrites(exchange, enforce, store), transactional)
    known.set(store, watched)
    return watched
  }
}

function watchWrites<Item, Items, Key, Insert, Change extends object>(
  exchange: Exchange,
  enforce: Enforce,
  store: Store<Item, Items, Key, Insert, Change>,
): Store<Item, Items, Key, Insert, Change> {
  const watch =
    <Given extends readonly unknown[], Result>(
      write: Write<Given, Result>,
      hasChanged: HasChanged<Given, Result>,
    ): Write<Given, Result> =>
    async (...given) => {
      refuseLate(exchange, enforce)
      exchange.writes += 1
      try {
        const result = await write(...given)
        if (hasChanged(result, ...given)) exchange.stored = true
        return result
      } catch (error) {
        if (isUnknown(error)) exchange.stored = true
        throw error
      } finally {
        exchange.writes -= 1
      }
    }
  return {
    ...store,
    create: watch(store.create, () => true),
    createMany: watch(store.createMany, (made) => made.length > 0),
    update: watch(store.update, (item, _id, row) => item !== undefined && Object.keys(row).length > 0),
    destroy: watch(store.destroy, (destroyed) => destroyed),
    destroyMany: watch(store.destroyMany, (count) => count > 0),
    take: watch(store.take, (item) => item !== undefined),
  }
}
