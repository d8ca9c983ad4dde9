import { append, createLinkedList, remove, valuesOf } from '../../foundation/linked-list.js'
import { type Exchange, isSettled, type Watched } from '../server/exchange.js'

/** Watches exchanges that are not answered immediately. */
export interface Deadlines {
  start(exchange: Exchange): void
  /** Watches an exchange that has a transaction. */
  watch(exchange: Exchange): void
  /** Ends an exchange that exceeds its deadline, immediately: code that only waits for an embedded database keeps timers from firing. */
  enforce(exchange: Exchange): void
  /** Stops watching an exchange, unless it has a transaction, which must end. */
  stop(exchange: Exchange): void
}

/** How many times the deadline is checked within its time. */
const CHECKS = 40

/**
 * Calls `expire` for an exchange that has sent nothing, or still has a transaction, `timeout` milliseconds after it started. If its handler waited
 * for the body, the time starts at the end of the body, because a slow body is the client's fault. One interval watches all exchanges: a timer for
 * each would cost more than the rest of a small request.
 */
export function createDeadlines(timeout: number, expire: (exchange: Exchange) => void): Deadlines {
  const watched = createLinkedList<Watched>()
  let interval: NodeJS.Timeout | undefined

  const isLate = ({ exchange, since }: Watched, now: number): boolean => {
    // While the body arrives, the request timeout applies instead.
    if (exchange.failBody && !isSettled(exchange)) return false
    return now >= Math.max(since, exchange.bodyEnded) + timeout
  }

  const forget = (exchange: Exchange): void => {
    exchange.watched = remove(exchange.watched)
  }

  const check = () => {
    const now = performance.now()
    let late = false
    for (const each of valuesOf(watched)) {
      if (isOver(each.exchange)) forget(each.exchange)
      else late ||= isLate(each, now)
    }
    // After a pause, timers fire before the input that arrived meanwhile is read.
    if (late) setImmediate(() => valuesOf(watched).forEach((each) => expireLate(each, now)))
    if (watched.length > 0) return
    clearInterval(interval)
    interval = undefined
  }

  const expireLate = (each: Watched, now: number) => {
    const { exchange } = each
    if (!isLate(each, now) || isOver(exchange)) return
    exchange.overdue = true
    // A response during a commit could contradict its outcome.
    if (exchange.writes > 0) return
    forget(exchange)
    exchange.expired = true
    expire(exchange)
  }

  const start = (exchange: Exchange) => {
    forget(exchange)
    exchange.watched = append(watched, { exchange, since: performance.now() })
    interval ??= setInterval(check, timeout / CHECKS).unref()
  }
  return {
    start,
    watch: (exchange) => {
      if (!exchange.watched) start(exchange)
    },
    enforce: ({ watched }) => {
      if (watched) expireLate(watched.value, performance.now())
    },
    stop: (exchange) => {
      if (exchange.transactions === 0) forget(exchange)
    },
  }
}

/** Transactions continue if the client leaves, or if the handler does not wait for them. */
function isOver(exchange: Exchange): boolean {
  return exchange.transactions === 0 && isSettled(exchange)
}
