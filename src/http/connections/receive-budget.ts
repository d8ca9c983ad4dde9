import { Problem } from '../../foundation/problem.js'
import type { Limits } from './limits.js'
import { createRoom } from './room.js'
import { CHECK_INTERVAL_MS } from './slow-clients.js'

/** Bounds the memory of request bodies, from their first bytes until their handlers have ended and their responses have been sent. */
export interface ReceiveBudget {
  /** Counts a body of at most this many bytes. `reject` is called if others need its room while it arrives too slowly. */
  begin(maxBytes: number, reject: (problem: Problem) => void): ReceivedBody
  /** Calls `hurry` repeatedly for a while after a body found no room, with the time since when room is wanted. */
  onPressure(hurry: (since: number) => void): void
}

export interface ReceivedBody {
  /** Takes room for the body as far as it has come, `bytes`, after each chunk. Returns a problem if too little room is left. */
  take(bytes: number, chunk: number): Problem | undefined
  /** The bytes of room that the body has. */
  held(): number
  /** The body has arrived as a whole, and keeps its room. */
  complete(): void
  /** Returns the room; may be called twice. */
  release(): void
}

/** Bodies up to this size are not counted: the limit of connections bounds them. */
const UNCOUNTED = 4 * 1024
const FREE: ReceivedBody = { take: () => undefined, held: () => 0, complete() {}, release() {} }

interface Counted {
  readonly reject: (problem: Problem) => void
  held: number
  /** The `performance.now()` of the latest bytes. */
  latest: number
  /** The `performance.now()` since when `arrived` bytes have come; a new period begins after `receiveStall`. */
  since: number
  arrived: number
  /** Whether too few bytes came in the period before. */
  wasSlow: boolean
}

export function createReceiveBudget({ receiveBytes, receiveStall, stallTimeout, stallRate }: Limits): ReceiveBudget {
  const room = createRoom(receiveBytes)
  /** The bodies that are not complete, in the order in which they began. */
  const arriving = new Set<Counted>()

  let pressing: NodeJS.Timeout | undefined
  let hurry: (since: number) => void = () => {}

  const hold = (body: Counted, bytes: number): void => {
    room.hold(bytes, body.held)
    body.held = bytes
  }

  const measure = (body: Counted, chunk: number): void => {
    const now = performance.now()
    const period = now - body.since
    if (period >= receiveStall) {
      body.wasSlow = body.held > 0 && body.arrived < (period / 1000) * stallRate
      body.since = now
      body.arrived = 0
    }
    body.arrived += chunk
    body.latest = now
  }

  const release = (body: Counted): void => {
    arriving.delete(body)
    hold(body, 0)
  }

  /** Rejects slow bodies until `asking` has room for this many bytes. */
  const rejectSlow = (asking: Counted, bytes: number): void => {
    const now = performance.now()
    for (const body of arriving) {
      if (room.fits(bytes, asking.held)) return
      if (body === asking || (now - body.latest < receiveStall && !body.wasSlow)) continue
      release(body)
      body.reject(noRoom())
    }
  }

  /** Bodies keep their room until their clients have read the responses, so those who do not read have to be found. */
  const press = (): void => {
    const since = performance.now()
    pressing ??= setInterval(() => {
      hurry(since)
      if (performance.now() - since < stallTimeout + 4 * CHECK_INTERVAL_MS) return
      clearInterval(pressing)
      pressing = undefined
    }, CHECK_INTERVAL_MS).unref()
  }

  return {
    begin(maxBytes, reject) {
      if (maxBytes <= UNCOUNTED) return FREE
      const body: Counted = { reject, held: 0, latest: 0, since: 0, arrived: 0, wasSlow: false }
      return {
        take(bytes, chunk) {
          if (bytes <= UNCOUNTED) return undefined
          measure(body, chunk)
          if (bytes === body.held) return undefined
          if (!room.fits(bytes, body.held)) rejectSlow(body, bytes)
          if (!room.fits(bytes, body.held)) {
            press()
            return noRoom()
          }
          hold(body, bytes)
          arriving.add(body)
          return undefined
        },
        held: () => body.held,
        complete: () => void arriving.delete(body),
        release: () => release(body),
      }
    },
    onPressure(callback) {
      hurry = callback
    },
  }
}

function noRoom(): Problem {
  return new Problem('unavailable', 'too many large bodies are arriving or being processed', {
    headers: { 'Retry-After': '1' },
  })
}
