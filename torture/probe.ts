import cluster from 'node:cluster'
import { Socket } from 'node:net'
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

/** What a process is told: to look at itself, or to let the call of this number to the database fail. */
export type Instruction = { readonly read: true } | { readonly failAt: number; readonly port: number }

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

let calls = 0
let failing = 0
let database = 0
let failed = false

/** Answers whether a call has failed since the last time. */
function breakCalls({ failAt, port }: { readonly failAt: number; readonly port: number }): boolean {
  const before = failed
  calls = 0
  failing = failAt
  database = port
  failed = false
  return before
}

const { write } = Socket.prototype
Socket.prototype.write = function (this: Socket, ...args: unknown[]): boolean {
  if (failing === 0 || this.remotePort !== database || ++calls !== failing)
    return Reflect.apply(write, this, args) as boolean
  failed = true
  this.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'write' }))
  return false
}

if (process.send && cluster.isPrimary) {
  delays.enable()
  setInterval(sample, 2).unref()
  process.on('message', (message: Instruction) => {
    if ('failAt' in message) return void process.send?.(breakCalls(message))
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
    // Past the pause that the collection made.
    setTimeout(() => delays.reset(), 5 * INTERVAL).unref()
    peak = 0
  })
  // The channel must not keep the program alive.
  process.channel?.unref()
}
