import { type Exchange, isSettled } from './exchange.js'

/** Watches exchanges that are not answered at once. */
export interface Deadlines {
  start(exchange: Exchange): void
  stop(exchange: Exchange): void
}

/** The deadline is checked this often within its time. */
const CHECKS = 40

/**
 * Calls `expire` for an exchange in which nothing has been sent `timeout` milliseconds after it was started, or after its body arrived: a slow
 * body is the client's time. One interval watches them all, because a timer for each costs more than the rest of a small request.
 */
export function createDeadlines(timeout: number, expire: (exchange: Exchange) => void): Deadlines {
  const dueTimes = new Map<Exchange, number>()
  let interval: NodeJS.Timeout | undefined

  const check = () => {
    const now = performance.now()
    for (const [exchange, due] of dueTimes) {
      if (isSettled(exchange)) dueTimes.delete(exchange)
      else if (exchange.failBody) dueTimes.set(exchange, now + timeout)
      // An answer in the midst of a commit might say the opposite of what comes of it.
      else if (now >= due && exchange.commits === 0) {
        dueTimes.delete(exchange)
        exchange.expired = true
        expire(exchange)
      }
    }
    if (dueTimes.size > 0) return
    clearInterval(interval)
    interval = undefined
  }

  return {
    start(exchange) {
      dueTimes.set(exchange, performance.now() + timeout)
      interval ??= setInterval(check, timeout / CHECKS).unref()
    },
    stop: (exchange) => void dueTimes.delete(exchange),
  }
}
