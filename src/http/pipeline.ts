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
  /** Starts what may start now. */
  proceed(connection: Connection, socket: Socket): void
}

/** A connection gets no further answer while its client has left so many bytes of earlier ones unread. */
const MOST_UNREAD = 256 * 1024
/** Node parses what has arrived before it stops reading, so what waits is bounded over all connections too. */
const MOST_PARKED = 8_192

export function createPipeline(limits: Limits): Pipeline {
  let parked = 0

  const hasRoom = ({ underWay, unread }: Connection): boolean =>
    underWay.length === 0 || (underWay.length < limits.inProgress && unread < MOST_UNREAD)

  const drop = (connection: Connection): void => {
    const dropped = connection.waiting.splice(0)
    parked -= dropped.length
    for (const request of dropped) request.drop()
  }

  const proceed = (connection: Connection, socket: Socket): void => {
    const { waiting } = connection
    while (waiting.length > 0 && hasRoom(connection)) {
      // Nobody could be told what came of it.
      if (socket.destroyed || (connection.closing && !connection.broken)) return drop(connection)
      parked -= 1
      waiting.shift()?.start()
    }
    if (waiting.length > 0 || !connection.paused) return
    connection.paused = false
    const { broken } = connection
    connection.broken = undefined
    if (broken) {
      connection.closing = false
      breakOff(connection, socket, broken, limits)
    }
    socket.resume()
  }

  return {
    admits: (connection) => connection.waiting.length === 0 && hasRoom(connection),
    park(connection, socket, request) {
      if (parked >= MOST_PARKED) {
        request.drop()
        socket.destroy()
        return
      }
      parked += 1
      connection.waiting.push(request)
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
    proceed,
  }
}
