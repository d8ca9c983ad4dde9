import type { ConfigDocument } from '../yaml/document.js'
import type { Path, Span } from '../yaml/located.js'

/** The place of a value, without the space after it. */
export function spanOf(text: string, document: ConfigDocument, path: Path): Span {
  const { start, end } = document.locate(path, 'value')
  return { from: start.offset, to: text.slice(0, end.offset).trimEnd().length }
}

/** Replaces a value, and leaves every other character as it is. */
export function replaceValue(text: string, document: ConfigDocument, path: Path, value: string): string {
  const { from, to } = spanOf(text, document, path)
  return text.slice(0, from) + value + text.slice(to)
}

/** The text in front of a place, on its line. */
export function lineBefore(text: string, place: number): string {
  return text.slice(text.lastIndexOf('\n', place - 1) + 1, place)
}

/** The line end of a file: `\r\n` if it has one. */
export function lineEndOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

/**
 * Writes lines below the line that contains a place.
 * @param format returns the lines, without a line end after the last one; it receives the line end to use between them
 */
export function appendLine(text: string, place: number, format: (lineEnd: string) => string): string {
  const newline = text.indexOf('\n', place)
  const lineEnd = newline < 0 ? lineEndOf(text) : text[newline - 1] === '\r' ? '\r\n' : '\n'
  const at = newline < 0 ? text.length : newline + 1 - lineEnd.length
  return `${text.slice(0, at)}${lineEnd}${format(lineEnd)}${text.slice(at)}`
}
