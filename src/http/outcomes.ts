import type { Store } from '../db/store.js'
import { Problem } from '../problem.js'
import type { Exchange } from './exchange.js'

/** How long a transaction may take, and what its request has to know of it. */
interface Limit {
  readonly signal: AbortSignal
  /** The transaction is about to be committed, or no longer is. */
  commits(commits: boolean): void
  /** It is committed, or may be. */
  done(): void
  end(): void
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
export function withRequest(exchange: Exchange, { watch }: { readonly watch: (exchange: Exchange) => void }): Limit {
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
  const timer = setTimeout(() => ending.abort(reason), milliseconds).unref()
  return { signal: ending.signal, commits() {}, done() {}, end: () => clearTimeout(timer) }
}

type Write<Given extends readonly unknown[], Result> = (...given: Given) => Promise<Result>

/** A store whose writes, outside of a transaction, its request waits for past its deadline: what was sent may be done. */
export function watchWrites<Item, Items, Key, Insert, Change>(
  exchange: Exchange,
  store: Store<Item, Items, Key, Insert, Change>,
): Store<Item, Items, Key, Insert, Change> {
  const watch =
    <Given extends readonly unknown[], Result>(write: Write<Given, Result>): Write<Given, Result> =>
    async (...given) => {
      if (exchange.expired) throw answeredBefore()
      exchange.writes += 1
      try {
        const result = await write(...given)
        exchange.stored = true
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
    create: watch(store.create),
    createMany: watch(store.createMany),
    update: watch(store.update),
    destroy: watch(store.destroy),
    destroyMany: watch(store.destroyMany),
    take: watch(store.take),
  }
}
