import type { Diagnostic, Position, Range } from '../diagnostic.js'
import type { DiagnosticCode } from '../diagnostic-codes.js'
import { LINE_END, linesOf } from './lines.js'

/** The text of a configuration, with the line and column of each offset. */
export interface SourceText {
  readonly file: string
  readonly text: string
  readonly lines: readonly string[]
  /** The range between two offsets; offsets outside the text are moved to its nearest end. */
  range(from: number, to: number): Range
}

/** Numbers the lines of a text. */
export function createSourceText(file: string, text: string): SourceText {
  const lines = linesOf(text)
  const starts = [0, ...[...text.matchAll(LINE_END)].map((end) => end.index + end[0].length)]
  // Characters above U+FFFF take two units; counting them once keeps columns cheap on a line of a megabyte.
  const pairs = [...text.matchAll(/[\u{10000}-\u{10ffff}]/gu)].map((pair) => pair.index)
  const position = (wanted: number): Position => {
    const offset = Math.max(0, Math.min(wanted, text.length))
    const index = countUpTo(starts, offset) - 1
    const start = starts[index] ?? 0
    const end = Math.min(offset, start + (lines[index]?.length ?? 0))
    const double = countUpTo(pairs, end - 1) - countUpTo(pairs, start - 1)
    return { line: index + 1, column: end - start - double + 1, offset }
  }
  return {
    file,
    text,
    lines,
    range: (from, to) => ({ start: position(from), end: position(Math.max(from, to)) }),
  }
}

/** Counts how many of the ascending numbers are at most `limit`. */
function countUpTo(numbers: readonly number[], limit: number): number {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? 0) <= limit) low = middle + 1
    else high = middle
  }
  return low
}

export interface TextError {
  readonly code: DiagnosticCode
  readonly from: number
  readonly to: number
  readonly message: string
  readonly label?: string
  readonly help?: readonly string[]
}

/** An error about a part of the text. */
export function textDiagnostic(source: SourceText, { from, to, help = [], ...rest }: TextError): Diagnostic {
  return {
    severity: 'error',
    ...rest,
    file: source.file,
    range: source.range(from, to),
    help,
  }
}
