import type { Readable } from 'node:stream'

const NEWLINE = 10

/** Forwards the output of a process in whole lines, so that several processes can share one stream. */
export function forwardLines(from: Readable, write: (lines: Uint8Array) => void): void {
  let partial: Buffer[] = []
  const forward = (end: Uint8Array) => {
    write(partial.length === 0 ? end : Buffer.concat([...partial, end]))
    partial = []
  }
  from.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(NEWLINE) + 1
    if (end > 0) forward(chunk.subarray(0, end))
    if (end < chunk.length) partial.push(chunk.subarray(end))
  })
  from.on('end', () => {
    if (partial.length > 0) forward(Buffer.of(NEWLINE))
  })
}
