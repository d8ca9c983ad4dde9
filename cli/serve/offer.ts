import type { Writable } from 'node:stream'

/** Bytes that may wait for a slow reader. */
const MOST_WAITING = 1024 * 1024
const NEWLINE = 10

/** Lines that may be lost, because what writes them must go on without a reader. */
export interface Offer {
  /** Writes text of whole lines at once, or counts them as lost. */
  write(lines: string | Uint8Array): void
  /** How many lines were lost so far. */
  readonly lost: () => number
  /** Is called when lines are written again, with the number of those that were lost in between. */
  onFlow(listener: (lost: number) => void): void
}

/** Offers lines to a stream for as long as somebody reads it, and not so slowly that memory fills with what waits. */
export function offerTo(stream: Writable): Offer {
  let listener = (_lost: number): void => {}
  let total = 0
  let lostNow = 0
  const flow = () => {
    const lost = lostNow
    lostNow = 0
    listener(lost)
  }
  return {
    write: (lines) => {
      if (lostNow === 0 && stream.writable && stream.writableLength <= MOST_WAITING) {
        stream.write(lines)
        return
      }
      // Not before everything that waits is written, or every other line would be lost.
      if (lostNow === 0) stream.once('drain', flow)
      const count = countLines(lines)
      lostNow += count
      total += count
    },
    lost: () => total,
    onFlow: (given) => {
      listener = given
    },
  }
}

function countLines(lines: string | Uint8Array): number {
  const bytes = typeof lines === 'string' ? Buffer.from(lines) : lines
  return bytes.reduce((count, byte) => (byte === NEWLINE ? count + 1 : count), 0)
}
