import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  continues,
  type Cursor,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  scanScalar,
  scanString,
  skipSpace,
  take,
} from './json-scanner.js'
import { Problem } from './problem.js'

const CLOSING: ReadonlyMap<number, number> = new Map([
  [OPEN_BRACE, CLOSE_BRACE],
  [OPEN_BRACKET, CLOSE_BRACKET],
])

/**
 * Finds the first mistake in a text that is not valid JSON, of any size and depth. The place is in the line of the mistake: strings cannot contain line
 * ends, so the start of an invalid string is in the same line.
 */
export function findJsonMistake(text: string): number {
  const cursor: Cursor = { text, at: 0, depth: 0, members: 0 }
  try {
    scanText(cursor)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
  }
  return cursor.at
}

/** A loop, because deep nesting would exhaust the stack. */
function scanText(cursor: Cursor): void {
  const { text } = cursor
  const closing: number[] = []
  for (;;) {
    skipSpace(cursor)
    if (closing.at(-1) === CLOSE_BRACE) skipKey(cursor)
    const close = CLOSING.get(text.charCodeAt(cursor.at))
    if (close !== undefined) {
      cursor.at += 1
      skipSpace(cursor)
      if (text.charCodeAt(cursor.at) !== close) {
        closing.push(close)
        continue
      }
      cursor.at += 1
    } else if (text.charCodeAt(cursor.at) === QUOTE) scanString(cursor)
    else scanScalar(cursor)
    while (!continues(cursor)) {
      const end = closing.pop()
      if (end === undefined) return
      take(cursor, end)
    }
    if (closing.length === 0) return
  }
}

function skipKey(cursor: Cursor): void {
  scanString(cursor)
  skipSpace(cursor)
  take(cursor, COLON)
  skipSpace(cursor)
}
