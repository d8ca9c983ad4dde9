import { connect, type Socket } from 'node:net'
import { languageOf } from './rows.js'
import { quantile } from './statistics.js'
import { fill, type RequestSpec } from './works.js'
import { createReader } from './wire.js'

/** Requests of one kind for a period of time. */
export interface Drive {
  readonly port: number
  readonly spec: RequestSpec
  /** Ids are drawn from 1 to this number. */
  readonly rows: number
  readonly connections: number
  readonly milliseconds: number
  /** The pause between a response and the next request. */
  readonly pause?: number
}

/** The result. Times are in ms. */
export interface Driven {
  readonly requests: number
  /** Responses other than 200 and 201, by status; `cut` counts connections that ended midway. */
  readonly failures: Readonly<Record<string, number>>
  readonly elapsed: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Keeps a number of requests in progress, each on its own kept connection, until the time is over. */
export async function drive(task: Drive): Promise<Driven> {
  const times: number[] = []
  const failures: Record<string, number> = {}
  const next = requestMaker(task)
  const started = performance.now()
  const end = started + task.milliseconds
  const count = (status: string) => {
    failures[status] = (failures[status] ?? 0) + 1
  }
  const lanes = Array.from({ length: task.connections }, () => driveLane({ task, next, end, times, count }))
  await Promise.all(lanes)
  const elapsed = performance.now() - started
  const sorted = Float64Array.from(times).sort()
  return {
    requests: times.length,
    failures,
    elapsed,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    max: sorted.at(-1) ?? 0,
  }
}

interface Lane {
  readonly task: Drive
  readonly next: () => string
  readonly end: number
  readonly times: number[]
  readonly count: (status: string) => void
}

/** Sends one request after another. Reconnects if the server closes the connection after a response. */
function driveLane({ task, next, end, times, count }: Lane): Promise<void> {
  return new Promise((resolve, reject) => {
    let socket: Socket
    let sent = 0
    let waiting = false
    const send = () => {
      if (performance.now() >= end) {
        socket.destroy()
        return resolve()
      }
      sent = performance.now()
      waiting = true
      socket.write(next())
    }
    const answered = (status: number, last: boolean) => {
      times.push(performance.now() - sent)
      waiting = false
      if (status !== 200 && status !== 201) count(String(status))
      if (last) open()
      else if (task.pause) setTimeout(send, task.pause)
      else send()
    }
    const open = () => {
      const read = createReader(answered)
      socket?.destroy()
      const fresh = connect({ port: task.port, host: '127.0.0.1', noDelay: true })
      socket = fresh
      fresh.on('connect', send)
      fresh.on('data', read)
      fresh.on('error', reject)
      fresh.on('close', () => {
        if (fresh !== socket || performance.now() >= end) return
        if (waiting) count('cut')
        open()
      })
    }
    open()
  })
}

/** Creates the text of requests. Ids follow a fixed sequence, so that every contestant gets the same requests. */
function requestMaker({ port, spec, rows }: Drive): () => string {
  const { method, path, body, authorization } = spec
  const credential = authorization === undefined ? '' : `Authorization: ${authorization}\r\n`
  let drawn = 12_345
  return () => {
    drawn = (Math.imul(drawn, 1_103_515_245) + 12_345) >>> 0
    const id = 1 + (drawn % rows)
    const head = `${method} ${fill(path, id, languageOf(id))} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${credential}`
    if (body === undefined) return `${head}\r\n`
    const text = fill(body, id, languageOf(id))
    return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  }
}
