import type { Writable } from 'node:stream'

const MAX_BUFFERED_BYTES = 1024 * 1024
const NEWLINE = 10

/** Writes lines without ever waiting: lines are dropped when the reader is gone or too slow. */
export interface LossyWriter {
  /** Writes whole lines, or counts them as dropped. */
  write(lines: string | Uint8Array): void
  /** The number of dropped lines so far. */
  readonly dropped: () => number
  /** Sets the listener that is called when writing resumes, with the number of lines dropped meanwhile. */
  onDrain(listener: (dropped: number) => void): void
}

export function createLossyWriter(stream: Writable): LossyWriter {
  let listener = (_dropped: number): void => {}
  let total = 0
  let pending = 0
  const resume = () => {
    const dropped = pending
    pending = 0
    listener(dropped)
  }
  return {
    write: (lines) => {
      if (pending === 0 && stream.writable && stream.writableLength <= MAX_BUFFERED_BYTES) {
        stream.write(lines)
        return
      }
      // Resumes only once the buffer is empty; otherwise it would drop every other line.
      if (pending === 0) stream.once('drain', resume)
      const count = countLines(lines)
      pending += count
      total += count
    },
    dropped: () => total,
    onDrain: (given) => {
      listener = given
    },
  }
}

function countLines(lines: string | Uint8Array): number {
  const bytes = typeof lines === 'string' ? Buffer.from(lines) : lines
  return bytes.reduce((count, byte) => (byte === NEWLINE ? count + 1 : count), 0)
}
