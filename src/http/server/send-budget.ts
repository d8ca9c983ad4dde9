import { Problem } from '../../problem.js'
import type { Limits } from './limits.js'

/**
 * Bounds the memory that answers take in this process, from the moment the database is asked for them until their clients have read them.
 * Reading from it costs a comparison while there is room.
 */
export interface SendBudget {
  /** No list reserves more, so that some always run side by side. */
  readonly largestShare: number
  /**
   * Takes room for an answer of about this size before the database is asked; `release` gives it back. Returns undefined when there is room,
   * and otherwise a promise that resolves once there is.
   * @throws Problem `unavailable`, by the promise, when there was none for too long
   */
  reserve(bytes: number): Promise<void> | undefined
  release(bytes: number): void
  /** Counts an answer that is there and waits for its client. It is never refused; `release` gives its room back. */
  hold(bytes: number): void
  /** Calls `hurry` again and again while answers wait for room, with the time at which the first of them began to. */
  onPressure(hurry: (since: number) => void): void
}

/** Answers this small, such as a few long records, have some room of their own, so that slow readers of large ones do not keep them waiting. */
const SMALL = 128 * 1024
const RESERVED_SHARE = 1 / 4
/** Lists that always fit at once. */
const SHARES = 16
const CHECK_INTERVAL_MS = 250
/** Lists that are rejected at once: of hundreds that have waited for as long, the rest follow after other requests had their turn. */
const MAX_REJECTED_AT_ONCE = 16

interface Waiting {
  readonly bytes: number
  readonly until: number
  readonly admit: () => void
  readonly reject: (problem: Problem) => void
}

export function createSendBudget({ sendBytes, sendTimeout }: Limits): SendBudget {
  let held = 0
  let heldBySmall = 0
  const waiting: Waiting[] = []
  let timer: NodeJS.Timeout | undefined
  let since = 0
  let hurry: (since: number) => void = () => {}

  /** One answer always fits, however large it is. */
  const fits = (bytes: number): boolean =>
    held === 0 || held + bytes <= sendBytes || (bytes <= SMALL && heldBySmall + bytes <= sendBytes * RESERVED_SHARE)

  const hold = (bytes: number): void => {
    held += bytes
    if (bytes <= SMALL) heldBySmall += bytes
  }

  const admit = (): void => {
    while (waiting[0] && fits(waiting[0].bytes)) {
      const next = waiting.shift()
      hold(next?.bytes ?? 0)
      next?.admit()
    }
    if (waiting.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /** Rejects those that have waited for too long. They wait in the order in which they came. */
  const rejectLate = (): void => {
    const now = performance.now()
    const firstInTime = waiting.findIndex(({ until }) => until > now)
    const late = waiting.splice(0, Math.min(MAX_REJECTED_AT_ONCE, firstInTime < 0 ? waiting.length : firstInTime))
    for (const { reject } of late)
      reject(
        new Problem('unavailable', 'too many answers wait for their clients to read them', {
          headers: { 'Retry-After': '1' },
        }),
      )
    if (late.length === MAX_REJECTED_AT_ONCE) setImmediate(rejectLate)
  }

  const check = (): void => {
    rejectLate()
    admit()
    if (waiting.length > 0) hurry(since)
  }

  return {
    largestShare: sendBytes / SHARES,
    reserve(bytes) {
      if (fits(bytes) && (waiting.length === 0 || bytes <= SMALL)) {
        hold(bytes)
        return undefined
      }
      if (timer === undefined) {
        since = performance.now()
        timer = setInterval(check, CHECK_INTERVAL_MS).unref()
      }
      return new Promise((resolve, reject) => {
        waiting.push({ bytes, until: performance.now() + sendTimeout, admit: resolve, reject })
      })
    },
    release(bytes) {
      held -= bytes
      if (bytes <= SMALL) heldBySmall -= bytes
      if (waiting.length > 0) admit()
    },
    hold,
    onPressure(callback) {
      hurry = callback
    },
  }
}
