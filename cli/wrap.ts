import { stripVTControlCharacters } from 'node:util'
import { displayWidth } from '../src/internal.js'

/** The minimum width of continued lines, without their indent. */
const MIN_ROOM = 24

/** A source line in the excerpt of a diagnostic, whose carets count its characters. */
const EXCERPT = /^\s*\d* *\|/

/**
 * Wraps each line at spaces, never inside words; longer words stay whole. Continued lines are indented: under the last column if the line
 * has columns, else by two more spaces than the line.
 * @param width in columns
 */
export function wrapText(text: string, width: number): string {
  return text
    .split('\n')
    .map((line) => wrapLine(line, width))
    .join('\n')
}

function wrapLine(line: string, width: number): string {
  const plain = stripVTControlCharacters(line)
  if (displayWidth(plain) <= width || EXCERPT.test(plain)) return line
  const indent = ' '.repeat(indentOf(plain, width))
  const lines: string[] = []
  let current = ''
  for (const piece of line.match(/ +|[^ ]+/g) ?? []) {
    const isTooLong = displayWidth(current + piece) > width
    if (isTooLong && !piece.startsWith(' ') && current.trim() !== '') {
      lines.push(current.trimEnd())
      current = indent
    }
    // In a table that is too wide, two blanks separate the columns of continued lines.
    current += lines.length > 0 && piece.startsWith('  ') ? '  ' : piece
  }
  return [...lines, current].join('\n')
}

/** Returns the indent of continued lines. */
function indentOf(plain: string, width: number): number {
  const own = plain.length - plain.trimStart().length
  const gaps = [...plain.slice(own).matchAll(/ {2,}/g)]
  const columns = gaps.map(({ index, 0: gap }) => displayWidth(plain.slice(0, own + index + gap.length)))
  return columns.findLast((column) => width - column >= MIN_ROOM) ?? own + 2
}
