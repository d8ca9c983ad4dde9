import type { Socket } from 'node:net'
import type { Limits } from './limits.js'

/** Below this, an answer is in the hands of the operating system before its client reads it. */
const LARGE = 16 * 1024

/** How much a client had taken at a time. */
interface Mark {
  readonly at: number
  readonly taken: number
}

/**
 * Cuts connections whose clients take a large answer too slowly. It is called again and again while others wait for room, with the time at
 * which they began to. `unreadOf` gives the bytes of answers that a client has not taken.
 */
export function createHurry(
  sockets: ReadonlySet<Socket>,
  unreadOf: (socket: Socket) => number | undefined,
  { stallTimeout, stallRate }: Limits,
): (since: number) => void {
  const marks = new WeakMap<Socket, Mark>()
  return (since) => {
    const now = performance.now()
    for (const socket of sockets) {
      const { writableLength } = socket
      // An answer behind one that is not ready is not the client's to take.
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

/** Of what was written to a socket, the bytes that have left the process. Node has the handle, and its types do not. */
function takenFrom(socket: Socket): number {
  const { _handle: handle } = socket as unknown as {
    readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null
  }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
