import type { Readable } from 'node:stream'

const NEWLINE = 10

/** Passes on what a process writes, whole lines at a time, so that several can write to one place. */
export function forwardLines(from: Readable, write: (lines: Uint8Array) => void): void {
  let begun: Buffer[] = []
  const pass = (end: Uint8Array) => {
    write(begun.length === 0 ? end : Buffer.concat([...begun, end]))
    begun = []
  }
  from.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(NEWLINE) + 1
    if (end > 0) pass(chunk.subarray(0, end))
    if (end < chunk.length) begun.push(chunk.subarray(end))
  })
  from.on('end', () => {
    if (begun.length > 0) pass(Buffer.of(NEWLINE))
  })
}
