import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { readdirSync } from 'node:fs'

/** What a process says of itself. Times are milliseconds, sizes bytes. */
export interface Reading {
  /** After garbage was collected. */
  readonly heap: number
  readonly rss: number
  /** The largest heap, with buffers outside of it, since the last reading. */
  readonly peak: number
  readonly loop: { readonly p99: number; readonly max: number }
  readonly descriptors: number
  readonly resources: number
  /** Names that something has added to the prototype of all objects. */
  readonly polluted: readonly string[]
}

// Loaded into the process under test before the program, and by nothing in the program itself.
const INTERVAL = 10
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const delays = monitorEventLoopDelay({ resolution: INTERVAL })
let peak = 0

function sample(): void {
  const { heapUsed, external } = process.memoryUsage()
  peak = Math.max(peak, heapUsed + external)
}

if (process.send) {
  delays.enable()
  setInterval(sample, 2).unref()
  process.on('message', (message) => {
    if (message !== 'read') return
    const { p99, max } = { p99: delays.percentile(99) / 1e6, max: delays.max / 1e6 }
    const highest = peak
    collect()
    const { heapUsed, external, rss } = process.memoryUsage()
    const polluted: string[] = []
    for (const name in {}) polluted.push(name)
    const reading: Reading = {
      heap: heapUsed + external,
      rss,
      peak: highest,
      // The timer's own interval is in every delay.
      loop: { p99: Math.max(0, p99 - INTERVAL), max: Math.max(0, max - INTERVAL) },
      descriptors: readdirSync('/proc/self/fd').length,
      resources: process.getActiveResourcesInfo().length,
      polluted,
    }
    process.send?.(reading)
    delays.reset()
    peak = 0
  })
  // The channel must not keep the program alive.
  process.channel?.unref()
}
