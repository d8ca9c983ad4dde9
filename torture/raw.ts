import { connect } from 'node:net'
import { createAnswerReader, type RawAnswer } from './answers.js'

/** The response to some bytes. */
export interface Exchanged {
  readonly answers: readonly RawAnswer[]
  /** Bytes after the last complete response. */
  readonly rest: string
  readonly closed: boolean
  /** Milliseconds until the last of them. */
  readonly time: number
}

interface Wishes {
  /** The method, which determines whether a response has a body. */
  readonly method: string
  /** Milliseconds after which nothing more is waited for. */
  readonly patience: number
  /** Milliseconds after which the sending half is closed, for bytes that may be half a request. */
  readonly endAfter?: number
}

/** Sends raw bytes on a new connection, and reads until one response is complete and the server sends nothing more. */
export function exchange(port: number, bytes: Buffer, { method, patience, endAfter }: Wishes): Promise<Exchanged> {
  return new Promise((resolve) => {
    const started = performance.now()
    const reader = createAnswerReader(method)
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true })
    let last = started
    const finish = (closed: boolean) => {
      clearTimeout(timer)
      clearTimeout(ender)
      socket.destroy()
      resolve({ answers: reader.answers, rest: reader.rest(), closed, time: last - started })
    }
    const timer = setTimeout(() => finish(false), patience)
    const ender = endAfter === undefined ? undefined : setTimeout(() => socket.end(), endAfter)
    socket.on('data', (piece) => {
      last = performance.now()
      reader.read(piece)
      if (endAfter === undefined && reader.answers.some(({ status }) => status >= 200)) setImmediate(finish, false)
    })
    socket.on('error', () => undefined)
    socket.on('end', () => {
      last = performance.now()
      finish(true)
    })
    socket.on('close', () => finish(true))
    socket.write(bytes)
  })
}
