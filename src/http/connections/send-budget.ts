import { Problem } from '../../foundation/problem.js'
import type { Limits } from './limits.js'
import { createRoom, SMALL } from './room.js'
import { CHECK_INTERVAL_MS } from './slow-clients.js'

/** Bounds the memory of responses, from the query until the client has read them. While there is room, reserving it costs one comparison. */
export interface SendBudget {
  /** The largest reservation, so that several lists can always run at once. */
  readonly largestShare: number
  /**
   * Reserves room for a response of about this size before the database is queried; `release` returns it. Returns undefined if there is room,
   * otherwise a promise that resolves when there is.
   * @throws Problem `unavailable`, by the promise, if that takes too long
   */
  reserve(bytes: number): Promise<void> | undefined
  release(bytes: number): void
  /** Counts a response that waits for its client. It is never rejected; `release` returns its room. */
  hold(bytes: number): void
  /** Calls `hurry` repeatedly while responses wait for room, with the time since when they wait. */
  onPressure(hurry: (since: number) => void): void
}

/** The number of lists that always fit at once. */
const SHARES = 16
/** How many late lists are rejected in one go; the others follow after other requests had a turn. */
const MAX_REJECTED_AT_ONCE = 16

interface Waiting {
  readonly bytes: number
  readonly until: number
  readonly admit: () => void
  readonly reject: (problem: Problem) => void
}

export function createSendBudget({ sendBytes, sendTimeout }: Limits): SendBudget {
  const room = createRoom(sendBytes)
  const waiting: Waiting[] = []
  let timer: NodeJS.Timeout | undefined
  let since = 0
  let hurry: (since: number) => void = () => {}

  const admit = (): void => {
    while (waiting[0] && room.fits(waiting[0].bytes)) {
      const next = waiting.shift()
      room.hold(next?.bytes ?? 0)
      next?.admit()
    }
    if (waiting.length > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /** Rejects lists that have waited too long; they wait in order of arrival. */
  const rejectLate = (): void => {
    const now = performance.now()
    const firstInTime = waiting.findIndex(({ until }) => until > now)
    const late = waiting.splice(0, Math.min(MAX_REJECTED_AT_ONCE, firstInTime < 0 ? waiting.length : firstInTime))
    for (const { reject } of late)
      reject(
        new Problem('unavailable', 'too many responses are waiting for clients to read them', {
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
      if (room.fits(bytes) && (waiting.length === 0 || bytes <= SMALL)) {
        room.hold(bytes)
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
      room.hold(0, bytes)
      if (waiting.length > 0) admit()
    },
    hold: (bytes) => room.hold(bytes),
    onPressure(callback) {
      hurry = callback
    },
  }
}
