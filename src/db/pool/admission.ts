import { Problem } from '../../problem.js'

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
  /** How many places the line has now. */
  places(): number
  /** Counts a refusal, and returns it. */
  refuse(): Problem
  /** Notes that the line does not move because nobody in it may go on, which tells nothing about its speed. */
  rest(): void
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
 * @param isFull whether a line of this length moves no faster for one more
 */
export function createAdmission(connections: number, isFull = longerThan(connections)): Admission {
  const least = leastOf(connections)
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
    wasShort = !isFull(entered - left)
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

  function refuse(): Problem {
    refused += 1
    return new Problem('unavailable', 'The database has too much to do', { headers: { 'Retry-After': '1' } })
  }

  return {
    enter: () => {
      if (entered - left >= places) throw refuse()
      push()
    },
    push,
    leave: () => {
      left += 1
      if (!isFull(entered - left)) wasShort = true
    },
    places: () => places,
    refuse,
    rest: () => {
      wasShort = true
    },
    refused: () => refused,
  }
}

function leastOf(connections: number): number {
  return Math.max(LEAST, LEAST_EACH * connections)
}

/** Whether a line is long enough to keep all connections busy, where several statements are sent on each of them. */
function longerThan(connections: number): (length: number) => boolean {
  const full = leastOf(connections)
  return (length) => length >= full
}
