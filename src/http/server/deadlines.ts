import { type Exchange, isSettled } from './exchange.js'

/** Watches exchanges that are not answered at once. */
export interface Deadlines {
  start(exchange: Exchange): void
  /** Watches an exchange that has a transaction, unless it is watched. */
  watch(exchange: Exchange): void
  /** Ends an exchange whose time is up, at once: code that waits for an embedded database alone leaves timers no turn. */
  enforce(exchange: Exchange): void
  /** Forgets an exchange, unless a transaction of it is under way, which has to end. */
  stop(exchange: Exchange): void
}

/** The deadline is checked this often within its time. */
const CHECKS = 40

/**
 * Calls `expire` for an exchange that has sent nothing, or that still has a transaction, `timeout` milliseconds after it started. When its
 * handler waited for the body, the time starts with the end of the body, because a slow body is the client's fault. One interval watches all
 * exchanges: a timer for each would cost more than the rest of a small request.
 */
export function createDeadlines(timeout: number, expire: (exchange: Exchange) => void): Deadlines {
  const startTimes = new Map<Exchange, number>()
  let interval: NodeJS.Timeout | undefined

  const isLate = (exchange: Exchange, now: number): boolean => {
    // A client that is still sending the body takes its own time.
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
    // A process that was stopped or busy finds its timers due before it has read what came meanwhile.
    if (late) setImmediate(() => expireLate(startTimes.keys(), now))
    if (startTimes.size > 0) return
    clearInterval(interval)
    interval = undefined
  }

  const expireLate = (exchanges: Iterable<Exchange>, now: number) => {
    for (const exchange of exchanges) {
      if (!isLate(exchange, now) || isOver(exchange)) continue
      exchange.overdue = true
      // An answer in the midst of a commit might say the opposite of what comes of it.
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

/** A client that has gone, or a handler that did not wait for its transaction, ends no transaction. */
function isOver(exchange: Exchange): boolean {
  return exchange.transactions === 0 && isSettled(exchange)
}
