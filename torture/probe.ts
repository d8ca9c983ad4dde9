import cluster from 'node:cluster'
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { readdirSync } from 'node:fs'

/** The state of a process. Times are in ms, sizes in bytes. */
export interface Reading {
  /** After garbage was collected. */
  readonly heap: number
  readonly rss: number
  /** The largest heap, with buffers outside of it, since the last reading. */
  readonly peak: number
  readonly loop: { readonly p99: number; readonly max: number }
  /** 503 responses since the last reading: their number, and the time from the request's head to the end of the response. */
  readonly rejected: { readonly count: number; readonly p99: number }
  readonly descriptors: number
  readonly resources: number
  /** Names that something has added to the prototype of all objects. */
  readonly polluted: readonly string[]
}

/** An instruction for a process: to report its state, or to let the nth call to the database fail. */
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

const arrivals = new WeakMap<IncomingMessage, number>()
let rejections: number[] = []

interface Exchanged {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

function noteRejection({ request, response }: Exchanged): void {
  if (response.statusCode === 503) rejections.push(performance.now() - (arrivals.get(request) ?? 0))
}

function takeRejections(): Reading['rejected'] {
  const times = rejections.sort((a, b) => a - b)
  rejections = []
  return { count: times.length, p99: times[Math.floor(times.length * 0.99)] ?? 0 }
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

/** Whether this call, to that port, is the one that fails. */
function fails(port: unknown): boolean {
  if (failing === 0 || Number(port) !== database || ++calls !== failing) return false
  failed = true
  return true
}

const { write, connect } = Socket.prototype
Socket.prototype.write = function (this: Socket, ...args: unknown[]): boolean {
  if (!fails(this.remotePort)) return Reflect.apply(write, this, args) as boolean
  this.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'write' }))
  return false
}
Socket.prototype.connect = function (this: Socket, ...args: unknown[]): Socket {
  const [target] = args.flat()
  const port = typeof target === 'object' && target !== null && 'port' in target ? target.port : target
  if (!fails(port)) return Reflect.apply(connect, this, args) as Socket
  const rejected = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' })
  process.nextTick(() => this.destroy(rejected))
  return this
}

if (process.send && cluster.isPrimary) {
  delays.enable()
  setInterval(sample, 2).unref()
  subscribe('http.server.request.start', (message) => {
    arrivals.set((message as Exchanged).request, performance.now())
  })
  subscribe('http.server.response.finish', (message) => noteRejection(message as Exchanged))
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
      rejected: takeRejections(),
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
