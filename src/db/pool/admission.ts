import { Problem } from '../../foundation/problem.js'

/** A load shedder: bounds the queue of statements and counts the rejected ones. */
export interface Admission {
  /**
   * Acquires a slot; every acquired slot must be released once.
   * @throws Problem `unavailable` if the queue is full
   */
  acquire(): void
  /** Acquires a slot even if the queue is full. */
  acquireUnchecked(): void
  release(): void
  /** The current limit of the queue. */
  limit(): number
  /** Counts a rejection and returns its problem. */
  reject(): Problem
  /** Excludes the current sample: the queue is blocked by limits, which says nothing about the throughput. */
  skipSample(): void
  /** The number of rejections. */
  rejected(): number
}

/** The queue may hold what is processed in this time. */
const MAX_WAIT_MS = 500
/** Bounds of the limit, whatever the throughput; the minimum also depends on the number of connections. */
const MAX_LIMIT = 1_000
const MIN_LIMIT = 16
const MIN_LIMIT_PER_CONNECTION = 4
/** How often the throughput is sampled. */
const SAMPLE_INTERVAL_MS = 50
/** The weight of a new sample in the moving average; the first samples weigh more. */
const WEIGHT = 1 / 8
/** How long the throughput is remembered without a new sample. */
const MEMORY_MS = 5_000
const UNKNOWN_THROUGHPUT = MAX_LIMIT / MAX_WAIT_MS

/**
 * A fixed limit would not do: a hundred waiting statements are nothing for a database that answers them in ten milliseconds. So the limit
 * follows the throughput, measured while the queue was never empty. A new statement only compares two counts.
 * @param isFull whether a queue of this length keeps the database fully busy
 */
export function createAdmission(connections: number, isFull = longerThan(connections)): Admission {
  const minLimit = minLimitOf(connections)
  let acquired = 0
  let released = 0
  let rejected = 0
  let limit = MAX_LIMIT
  /** Statements per millisecond. */
  let throughput = UNKNOWN_THROUGHPUT
  let samples = 0
  let sampledAt = Number.NEGATIVE_INFINITY
  /** Whether the queue was short at some time in the interval: then its throughput is the rate of arrivals, not the capacity. */
  let wasShort = true
  let last = { time: 0, released: 0 }
  let timer: NodeJS.Timeout | undefined

  const setThroughput = (now: number): void => {
    throughput = now
    limit = Math.round(Math.min(MAX_LIMIT, Math.max(minLimit, throughput * MAX_WAIT_MS)))
  }

  const sample = (): void => {
    const time = performance.now()
    if (!wasShort) {
      samples += 1
      sampledAt = time
      const measured = (released - last.released) / (time - last.time)
      setThroughput(throughput + (measured - throughput) * Math.max(WEIGHT, 1 / (samples + 1)))
    }
    wasShort = !isFull(acquired - released)
    last = { time, released }
    if (released < acquired) return
    clearInterval(timer)
    timer = undefined
  }

  const startSampling = (): NodeJS.Timeout => {
    if (performance.now() - sampledAt > MEMORY_MS) {
      samples = 0
      setThroughput(UNKNOWN_THROUGHPUT)
    }
    return setInterval(sample, SAMPLE_INTERVAL_MS).unref()
  }

  const acquireUnchecked = (): void => {
    timer ??= startSampling()
    acquired += 1
  }

  const reject = (): Problem => {
    rejected += 1
    return new Problem('unavailable', 'The database is overloaded', { headers: { 'Retry-After': '1' } })
  }

  return {
    acquire: () => {
      if (acquired - released >= limit) throw reject()
      acquireUnchecked()
    },
    acquireUnchecked,
    release: () => {
      released += 1
      if (!isFull(acquired - released)) wasShort = true
    },
    limit: () => limit,
    reject,
    skipSample: () => {
      wasShort = true
    },
    rejected: () => rejected,
  }
}

function minLimitOf(connections: number): number {
  return Math.max(MIN_LIMIT, MIN_LIMIT_PER_CONNECTION * connections)
}

/** Whether a queue is long enough to keep all connections busy, if several statements are sent on each of them. */
function longerThan(connections: number): (length: number) => boolean {
  const full = minLimitOf(connections)
  return (length) => length >= full
}
