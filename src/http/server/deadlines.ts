import { type Exchange, isSettled } from './exchange.js'

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
  const startTimes = new Map<Exchange, number>()
  let interval: NodeJS.Timeout | undefined

  const isLate = (exchange: Exchange, now: number): boolean => {
    // While the body arrives, the request timeout applies instead.
    if (exchange.failBody && !isSettled(exchange)) return false
    return now >= Math.max(startTimes.get(exchange) ?? Infinity, exchange.bodyEnded) + timeout
  }

  const check = () => {
    const now = performance.now()
    let late = false
    for (const exchange of startTimes.keys()) {
      if (isOver(exchange)) startTimes.delete(exchange)
      else late ||= isLate(exchange, now)
    }
    // After a pause, timers fire before the input that arrived meanwhile is read.
    if (late) setImmediate(() => expireLate(startTimes.keys(), now))
    if (startTimes.size > 0) return
    clearInterval(interval)
    interval = undefined
  }

  const expireLate = (exchanges: Iterable<Exchange>, now: number) => {
    for (const exchange of exchanges) {
      if (!isLate(exchange, now) || isOver(exchange)) continue
      exchange.overdue = true
      // A response during a commit could contradict its outcome.
      if (exchange.writes > 0) continue
      startTimes.delete(exchange)
      exchange.expired = true
      expire(exchange)
    }
  }

  const start = (exchange: Exchange) => {
    startTimes.set(exchange, performance.now())
    interval ??= setInterval(check, timeout / CHECKS).unref()
  }
  return {
    start,
    watch: (exchange) => {
      if (!startTimes.has(exchange)) start(exchange)
    },
    enforce: (exchange) => {
      if (!startTimes.has(exchange)) return
      const now = performance.now()
      if (isLate(exchange, now)) expireLate([exchange], now)
    },
    stop: (exchange) => {
      if (exchange.transactions === 0) startTimes.delete(exchange)
    },
  }
}

/** Transactions continue if the client leaves, or if the handler does not wait for them. */
function isOver(exchange: Exchange): boolean {
  return exchange.transactions === 0 && isSettled(exchange)
}
