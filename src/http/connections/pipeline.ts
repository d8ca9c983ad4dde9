import type { Socket } from 'node:net'
import { breakOff } from './connection.js'
import { SAFE } from '../headers/origin-check.js'
import type { Connection, Parked } from '../server/exchange.js'
import type { Limits } from './limits.js'

/** Limits pipelined requests: a few of each connection are processed at once, the rest wait. */
export interface Pipeline {
  /** Whether another request of the connection may start, by its method. */
  admits(connection: Connection, method: string): boolean
  /** Parks a request, and pauses reading from its client until it starts. */
  park(connection: Connection, socket: Socket, request: Parked): void
  /** Counts a request that has started, after it was added to its connection. */
  started(connection: Connection): void
  /** Counts a request that has ended, after it was removed from its connection. */
  ended(connection: Connection): void
  /** Starts the parked requests that may start now. */
  proceed(connection: Connection, socket: Socket): void
}

/** A connection gets no further responses while its client has more than this many unread bytes. */
const MAX_UNREAD = 256 * 1024
/** Node parses all received bytes before reading pauses, so the number of parked requests is bounded over all connections, too. */
const MAX_PARKED = 8_192
/** Connections that continue in one turn of the event loop: requests that are rejected immediately could otherwise follow each other endlessly. */
const MAX_PROCEEDING_AT_ONCE = 8

export function createPipeline(limits: Limits): Pipeline {
  let parked = 0
  let pipelined = 0
  const parking = new Map<Connection, Socket>()
  const proceeding = new Map<Connection, Socket>()
  let scheduled = false

  const hasRoom = ({ underWay, unread }: Connection, method = ''): boolean => {
    const [first] = underWay
    // The first request of a connection may always start, so that connections do not depend on each other.
    if (!first) return true
    // Only safe requests may run side by side: others see what was changed before them (RFC 9112, 9.3.2).
    if (!SAFE.has(method) || !SAFE.has(first.request.method ?? '')) return false
    return underWay.length < limits.inProgress && pipelined < limits.pipelined && unread < MAX_UNREAD
  }

  const drop = (connection: Connection): void => {
    const dropped = connection.waiting.splice(0)
    parked -= dropped.length
    parking.delete(connection)
    for (const request of dropped) request.drop()
  }

  const proceedNow = (connection: Connection, socket: Socket): void => {
    const { waiting } = connection
    while (waiting.length > 0 && hasRoom(connection, waiting[0]?.method)) {
      // The request could not be answered.
      if (socket.destroyed || (connection.closing && !connection.broken)) return drop(connection)
      parked -= 1
      waiting.shift()?.start()
    }
    if (waiting.length > 0 || !connection.paused) return
    parking.delete(connection)
    connection.paused = false
    const { broken } = connection
    connection.broken = undefined
    if (broken) {
      connection.closing = false
      breakOff(connection, socket, broken, limits)
    }
    socket.resume()
  }

  const proceedAll = (): void => {
    let turns = MAX_PROCEEDING_AT_ONCE
    for (const [connection, socket] of proceeding) {
      if (turns === 0) break
      turns -= 1
      proceeding.delete(connection)
      proceedNow(connection, socket)
    }
    scheduled = proceeding.size > 0
    if (scheduled) setImmediate(proceedAll)
  }

  const proceed = (connection: Connection, socket: Socket): void => {
    if (connection.waiting.length === 0 || socket.destroyed) return proceedNow(connection, socket)
    proceeding.set(connection, socket)
    if (scheduled) return
    scheduled = true
    setImmediate(proceedAll)
  }

  /** Closes the connection with the most parked requests, so that others do not pay for it. */
  const cutGreediest = (): void => {
    let most: Connection | undefined
    for (const connection of parking.keys())
      if (!most || connection.waiting.length > most.waiting.length) most = connection
    if (!most) return
    parking.get(most)?.destroy()
    drop(most)
  }

  return {
    admits: (connection, method) => connection.waiting.length === 0 && hasRoom(connection, method),
    park(connection, socket, request) {
      // The last request that a connection may have closes it, so later ones are never answered.
      if (connection.count + connection.waiting.length >= limits.requestsPerConnection) return request.drop()
      if (parked >= MAX_PARKED) cutGreediest()
      if (socket.destroyed) return request.drop()
      parked += 1
      connection.waiting.push(request)
      parking.set(connection, socket)
      if (connection.paused) return
      connection.paused = true
      socket.pause()
      if (connection.isKeptPaused) return
      connection.isKeptPaused = true
      // Node resumes reading for the bodies of requests, which are complete by now.
      socket.on('resume', () => {
        if (connection.paused) socket.pause()
      })
    },
    started({ underWay }) {
      if (underWay.length > 1) pipelined += 1
    },
    ended({ underWay }) {
      if (underWay.length > 0) pipelined -= 1
    },
    proceed,
  }
}
