import { readJsonBody } from '../foundation/json-body.js'
import { Problem } from '../foundation/problem.js'
import type { EntryOrError } from './record.js'

const NEWLINE = 10
const BLANKS = [9, 13, 32]
/** The maximum length of a line: a record must fit in memory several times. */
const MAX_LINE_LENGTH = 64 * 1024 * 1024

/** Reads a file with one JSON object per line; blank lines are skipped. */
export async function* ndjsonRecords(bytes: AsyncIterable<Uint8Array>): AsyncIterable<EntryOrError> {
  let line = 0
  for await (const text of linesOf(bytes)) {
    line += 1
    if (text.length > MAX_LINE_LENGTH) {
      yield { error: { line, message: `the line has more than ${MAX_LINE_LENGTH} bytes` } }
      return
    }
    if (!text.every((byte) => BLANKS.includes(byte))) yield readRecord(text, line)
  }
}

/** Parses the JSON text of a record, or returns its error. */
export function readRecord(text: Uint8Array, line: number): EntryOrError {
  try {
    return { line, body: readJsonBody(text) }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const message = error.message
      .replace(/^the body/, 'the record')
      .replace(/ at line 1, column (\d+)$/, ' at column $1')
    return { error: { line, message } }
  }
}

/** The lines of a piece of a file, each with its line feed. */
export function* linesIn(bytes: Uint8Array): Iterable<Uint8Array> {
  let from = 0
  while (from < bytes.length) {
    const end = bytes.indexOf(NEWLINE, from) + 1 || bytes.length
    yield bytes.subarray(from, end)
    from = end
  }
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  let begun: Buffer[] = []
  let length = 0
  for await (const chunk of bytes) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const part = Buffer.from(chunk.subarray(from, end))
      yield begun.length === 0 ? part : Buffer.concat([...begun, part])
      begun = []
      length = 0
      from = end + 1
    }
    if (from === chunk.length) continue
    begun.push(Buffer.from(chunk.subarray(from)))
    length += chunk.length - from
    if (length > MAX_LINE_LENGTH) break
  }
  if (begun.length > 0) yield Buffer.concat(begun)
}
