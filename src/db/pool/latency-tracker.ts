/** What was learned about a prepared statement from its latest executions. */
export interface Latency {
  /** How many executions in a row were quick. */
  streak: number
  /** How many quick executions in a row the statement needs before it counts as quick. */
  needed: number
  /** Moving averages: the milliseconds that an execution occupies a pipelined connection, and the bytes of its rows. */
  cost: number
  bytes: number
}

/** Learns which prepared statements are fast enough to pipeline. Keyed by statement name. */
export interface LatencyTracker {
  of(name: string): Latency
}

/** Slower executions, in ms, are not quick. */
const QUICK_MS = 15
/** A larger result delays those behind it while it is transferred, however fast its rows are found. */
const MAX_BYTES = 32 * 1024
const WARM_UP_COUNT = 8
/** A quick statement that turns out to be slow needs this many times more quick executions. */
const BACKOFF_FACTOR = 4
const MAX_NEEDED = 512
/** Names change over time; beyond this number, everything is learned again. */
const MAX_NAMES = 5_000
const WEIGHT = 1 / 8
/** The expected latency, in ms, of a statement that has not run yet. */
const UNKNOWN_MS = 1

export function createLatencyTracker(): LatencyTracker {
  const latencies = new Map<string, Latency>()
  return {
    of(name) {
      const known = latencies.get(name)
      if (known) return known
      if (latencies.size >= MAX_NAMES) latencies.clear()
      const latency: Latency = { streak: 0, needed: WARM_UP_COUNT, cost: UNKNOWN_MS, bytes: 0 }
      latencies.set(name, latency)
      return latency
    },
  }
}

export function isQuick({ streak, needed, bytes }: Latency): boolean {
  return streak >= needed && bytes < MAX_BYTES
}

export function isLarge({ bytes }: Latency): boolean {
  return bytes >= MAX_BYTES
}

/** Records an execution on a pipelined connection. Only there is the time its own; elsewhere it includes statements that ran at the same time. */
export function recordPipelined(latency: Latency, time: number, bytes: number): void {
  latency.cost += (time - latency.cost) * WEIGHT
  record(latency, time, bytes)
}

export function record(latency: Latency, time: number, bytes: number): void {
  latency.bytes += (bytes - latency.bytes) * WEIGHT
  if (time <= QUICK_MS) latency.streak += 1
  else recordFailure(latency)
}

/** Records an execution that failed or took far too long. */
export function recordFailure(latency: Latency): void {
  // The first executions are slow anyway: connections are opened and statements parsed.
  if (latency.streak >= latency.needed) latency.needed = Math.min(latency.needed * BACKOFF_FACTOR, MAX_NEEDED)
  latency.streak = 0
}
