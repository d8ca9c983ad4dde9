import type { ConfigDocument } from '../yaml/document.js'
import type { Path, Span } from '../yaml/located.js'

/** The span of a value, without the whitespace after it. */
export function spanOf(text: string, document: ConfigDocument, path: Path): Span {
  const { start, end } = document.locate(path, 'value')
  return { from: start.offset, to: text.slice(0, end.offset).trimEnd().length }
}

/** Whether a mapping is written in braces. */
export function isFlow(text: string, document: ConfigDocument, path: Path): boolean {
  return text[document.locate(path, 'value').start.offset] === '{'
}

/** Replaces a value, and leaves every other character as it is. */
export function replaceValue(text: string, document: ConfigDocument, path: Path, value: string): string {
  const { from, to } = spanOf(text, document, path)
  return text.slice(0, from) + value + text.slice(to)
}

/** The text before an offset, on its line. */
export function lineBefore(text: string, offset: number): string {
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
}

/** The offset of a key, or of the `?` before it. */
export function keyStart(text: string, document: ConfigDocument, path: Path): number {
  const start = document.locate(path, 'key').start.offset
  const before = lineBefore(text, start).trimEnd()
  return before.endsWith('?') ? text.lastIndexOf('?', start - 1) : start
}

/** Spaces as far as an offset is from the start of its line. */
export function indentOf(text: string, offset: number): string {
  return ' '.repeat(lineBefore(text, offset).length)
}

/** The line end of a file: `\r\n` if it has one. */
export function lineEndOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

/**
 * Inserts lines below the line that contains an offset.
 * @param format returns the lines, without a line end after the last one; it receives the line end to use between them
 */
export function insertLines(text: string, offset: number, format: (lineEnd: string) => string): string {
  const newline = text.indexOf('\n', offset)
  const lineEnd = newline < 0 ? lineEndOf(text) : text[newline - 1] === '\r' ? '\r\n' : '\n'
  const at = newline < 0 ? text.length : newline + 1 - lineEnd.length
  return `${text.slice(0, at)}${lineEnd}${format(lineEnd)}${text.slice(at)}`
}
