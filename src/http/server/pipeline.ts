import type { Socket } from 'node:net'
import { breakOff } from './connection.js'
import type { Connection, Parked } from './exchange.js'
import type { Limits } from './limits.js'

/** Requests that clients send before earlier ones are answered: a few of a connection are worked on, the rest wait. */
export interface Pipeline {
  /** Whether another request of the connection may start. */
  admits(connection: Connection): boolean
  /** Has a request start later, and reads no more from its client until it has. */
  park(connection: Connection, socket: Socket, request: Parked): void
  /** Counts a request that has started, after it was added to those of its connection. */
  started(connection: Connection): void
  /** Counts a request that has ended, after it was taken from those of its connection. */
  ended(connection: Connection): void
  /** Starts what may start now. */
  proceed(connection: Connection, socket: Socket): void
}

/** A connection gets no further answer while its client has left so many bytes of earlier ones unread. */
const MOST_UNREAD = 256 * 1024
/** Node parses what has arrived before it stops reading, so what waits is bounded over all connections too. */
const MOST_PARKED = 8_192
/** Connections that go on in one turn of the event loop: requests that are rejected at once would otherwise follow one another without an end. */
const MAX_PROCEEDING_AT_ONCE = 8

export function createPipeline(limits: Limits): Pipeline {
  let parked = 0
  let pipelined = 0
  const parking = new Map<Connection, Socket>()
  const proceeding = new Map<Connection, Socket>()
  let scheduled = false

  const hasRoom = ({ underWay, unread }: Connection): boolean =>
    // The first of each connection may always start, so that none depends on another.
    underWay.length === 0 ||
    (underWay.length < limits.inProgress && pipelined < limits.pipelined && unread < MOST_UNREAD)

  const drop = (connection: Connection): void => {
    const dropped = connection.waiting.splice(0)
    parked -= dropped.length
    parking.delete(connection)
    for (const request of dropped) request.drop()
  }

  const proceedNow = (connection: Connection, socket: Socket): void => {
    const { waiting } = connection
    while (waiting.length > 0 && hasRoom(connection)) {
      // Nobody could be told what came of it.
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

  /** Cuts the connection that has the most parked: those that have few must not pay for it. */
  const cutGreediest = (): void => {
    let most: Connection | undefined
    for (const connection of parking.keys())
      if (!most || connection.waiting.length > most.waiting.length) most = connection
    if (!most) return
    parking.get(most)?.destroy()
    drop(most)
  }

  return {
    admits: (connection) => connection.waiting.length === 0 && hasRoom(connection),
    park(connection, socket, request) {
      // The request that is the last of its connection ends it, so that those behind it are never answered.
      if (connection.count + connection.waiting.length >= limits.requestsPerConnection) return request.drop()
      if (parked >= MOST_PARKED) cutGreediest()
      if (socket.destroyed) return request.drop()
      parked += 1
      connection.waiting.push(request)
      parking.set(connection, socket)
      if (connection.paused) return
      connection.paused = true
      socket.pause()
      if (connection.isKeptPaused) return
      connection.isKeptPaused = true
      // Node resumes for the bodies of requests, which have all arrived by now.
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
