/** What was learned about a prepared statement from its latest executions. */
export interface Latency {
  /** How many executions in a row were quick. */
  streak: number
  /** How many must be before the statement counts as quick. */
  needed: number
  /** Milliseconds that it takes a pipelined connection, and bytes of its rows, moving averages. */
  cost: number
  bytes: number
}

/** Learns, by the names of prepared statements, whether others may wait behind them on a pipelined connection. */
export interface LatencyTracker {
  of(name: string): Latency
}

/** Executions that take longer, in ms, are not quick. */
const QUICK_MS = 15
/** A larger answer keeps those behind it waiting while it is transferred, however quickly its rows are found. */
const MAX_BYTES = 32 * 1024
const WARM_UP_COUNT = 8
/** Each time that a quick statement turns out to be slow, it must prove itself for this many times longer. */
const BACKOFF_FACTOR = 4
const MAX_NEEDED = 512
/** Names change over time; beyond this number, everything is learned again. */
const MAX_NAMES = 5_000
const WEIGHT = 1 / 8
/** Milliseconds that a statement is expected to take before anything is known about it. */
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

/** Records an execution on a pipelined connection. Only there its time is its own: on others it includes what ran at the same time. */
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
  // The first executions tell nothing: connections are made, statements are parsed.
  if (latency.streak >= latency.needed) latency.needed = Math.min(latency.needed * BACKOFF_FACTOR, MAX_NEEDED)
  latency.streak = 0
}
