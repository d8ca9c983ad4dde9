import { Problem } from '../problem.js'

/** Bounds how many statements wait in one line, and counts those that may not. */
export interface Admission {
  /**
   * Takes a place; who has one calls `leave` once.
   * @throws Problem `unavailable` when the line is full
   */
  enter(): void
  /** Takes a place in a line that is full, too. */
  push(): void
  leave(): void
  /** How many were refused. */
  refused(): number
}

/** A line may be as long as what leaves it in so many milliseconds. */
const WORTH = 500
/** However fast it is, it has at most so many places, and however slow, so many for each connection. */
const MOST = 1_000
const LEAST = 16
const LEAST_EACH = 4
/** Milliseconds between two looks at its speed. A look weighs as much as each before it, and this at least. */
const BETWEEN = 50
const WEIGHT = 1 / 8
/** Milliseconds for which a speed is remembered when nothing was to be learnt about it. */
const MEMORY = 5_000
const UNKNOWN = MOST / WORTH

/**
 * Length alone tells little: a hundred in a line are nothing to a database that answers them in ten milliseconds. So a line has as many places
 * as are worth waiting for, by the speed at which it moved while it was never empty. Who comes only compares two counts.
 * @param full how many are in a line that moves no faster for one more; where each of them waits for a connection, one is
 */
export function createAdmission(connections: number, full = Math.max(LEAST, LEAST_EACH * connections)): Admission {
  const least = Math.max(LEAST, LEAST_EACH * connections)
  let entered = 0
  let left = 0
  let refused = 0
  let places = MOST
  /** Of those that leave in a millisecond. */
  let speed = UNKNOWN
  let looks = 0
  /** When something was learnt last. */
  let learnt = Number.NEGATIVE_INFINITY
  /** A line that was short for a part of the time tells who came, not who could have left. */
  let wasShort = true
  let last: { readonly time: number; readonly left: number } | undefined
  let timer: NodeJS.Timeout | undefined

  function setSpeed(now: number): void {
    speed = now
    places = Math.round(Math.min(MOST, Math.max(least, speed * WORTH)))
  }

  function look(): void {
    const time = performance.now()
    if (last && !wasShort) {
      looks += 1
      learnt = time
      setSpeed(speed + ((left - last.left) / (time - last.time) - speed) * Math.max(WEIGHT, 1 / (looks + 1)))
    }
    wasShort = entered - left < full
    last = { time, left }
    if (left < entered) return
    clearInterval(timer)
    timer = undefined
    last = undefined
  }

  function watch(): NodeJS.Timeout {
    if (performance.now() - learnt > MEMORY) {
      looks = 0
      setSpeed(UNKNOWN)
    }
    return setInterval(look, BETWEEN).unref()
  }

  function push(): void {
    timer ??= watch()
    entered += 1
  }

  return {
    enter: () => {
      if (entered - left >= places) {
        refused += 1
        throw new Problem('unavailable', 'The database has too much to do', { headers: { 'Retry-After': '1' } })
      }
      push()
    },
    push,
    leave: () => {
      left += 1
      if (entered - left < full) wasShort = true
    },
    refused: () => refused,
  }
}
