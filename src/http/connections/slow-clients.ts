import type { Socket } from 'node:net'
import type { Limits } from './limits.js'

/** A smaller response fits in the buffers of the operating system. */
const LARGE = 16 * 1024

/** How much a client had read at a point in time. */
interface Mark {
  readonly at: number
  readonly taken: number
}

/** The time between two runs of the check, in ms. */
export const CHECK_INTERVAL_MS = 250

/**
 * Returns a check that closes connections whose clients read a large response too slowly. It runs repeatedly while others wait for room; `since` is
 * when they began to wait.
 * @param socketsNow the connections that may be closed
 * @param unreadOf the bytes of responses that a client has not read
 */
export function createSlowClientCheck(
  socketsNow: () => Iterable<Socket>,
  unreadOf: (socket: Socket) => number | undefined,
  { stallTimeout, stallRate }: Limits,
): (since: number) => void {
  const marks = new WeakMap<Socket, Mark>()
  return (since) => {
    const now = performance.now()
    for (const socket of socketsNow()) {
      const { writableLength } = socket
      // The client cannot read a response that waits for an earlier one.
      if (writableLength === 0 || Math.max(writableLength, unreadOf(socket) ?? 0) <= LARGE) {
        marks.delete(socket)
        continue
      }
      const mark = marks.get(socket)
      if (mark && mark.at >= since && now - mark.at < stallTimeout) continue
      const taken = takenFrom(socket)
      const isSlow = mark && mark.at >= since && taken - mark.taken < ((now - mark.at) / 1000) * stallRate
      if (isSlow) socket.destroy()
      else marks.set(socket, { at: now, taken })
    }
  }
}

/** Bytes written to a socket that have left the process. Node has the handle, but its types do not. */
function takenFrom(socket: Socket): number {
  const { _handle: handle } = socket as unknown as {
    readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null
  }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
