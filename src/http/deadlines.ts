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
 * Calls `expire` for an exchange in which nothing has been sent, or that still has a transaction, `timeout` milliseconds after it was started, or
 * after its body arrived: a slow body is the client's time. One interval watches them all, because a timer for each costs more than the rest of a
 * small request.
 */
export function createDeadlines(timeout: number, expire: (exchange: Exchange) => void): Deadlines {
  const dueTimes = new Map<Exchange, number>()
  let interval: NodeJS.Timeout | undefined

  const check = () => {
    const now = performance.now()
    let late = false
    for (const [exchange, due] of dueTimes) {
      if (isOver(exchange)) dueTimes.delete(exchange)
      else if (!renew(exchange, now)) late ||= now >= due
    }
    // A process that was stopped or busy finds its timers due before it has read what came meanwhile.
    if (late) setImmediate(() => expireLate(dueTimes.keys(), now))
    if (dueTimes.size > 0) return
    clearInterval(interval)
    interval = undefined
  }

  const expireLate = (exchanges: Iterable<Exchange>, now: number) => {
    for (const exchange of exchanges) {
      if (now < (dueTimes.get(exchange) ?? Infinity) || isOver(exchange)) continue
      exchange.overdue = true
      // An answer in the midst of a commit might say the opposite of what comes of it.
      if (exchange.writes > 0) continue
      dueTimes.delete(exchange)
      exchange.expired = true
      expire(exchange)
    }
  }

  /** Whether the time of an exchange begins anew, because it waits for its body, or did when this was last asked. */
  const renew = (exchange: Exchange, now: number): boolean => {
    if (!exchange.readsBody || isSettled(exchange)) return false
    exchange.readsBody = exchange.failBody !== undefined
    dueTimes.set(exchange, now + timeout)
    return true
  }

  const start = (exchange: Exchange) => {
    dueTimes.set(exchange, performance.now() + timeout)
    interval ??= setInterval(check, timeout / CHECKS).unref()
  }
  return {
    start,
    watch: (exchange) => {
      if (!dueTimes.has(exchange)) start(exchange)
    },
    enforce: (exchange) => {
      const due = dueTimes.get(exchange)
      if (due === undefined) return
      const now = performance.now()
      if (now >= due && !renew(exchange, now)) expireLate([exchange], now)
    },
    stop: (exchange) => {
      if (exchange.transactions === 0) dueTimes.delete(exchange)
    },
  }
}

/** A client that has gone, or a handler that did not wait for its transaction, ends no transaction. */
function isOver(exchange: Exchange): boolean {
  return exchange.transactions === 0 && isSettled(exchange)
}
