import type { ConfigDocument } from '../yaml/document.js'
import type { Path, Span } from '../yaml/located.js'

/** The place of a value, without the space after it. */
export function spanOf(text: string, document: ConfigDocument, path: Path): Span {
  const { start, end } = document.locate(path, 'value')
  return { from: start.offset, to: text.slice(0, end.offset).trimEnd().length }
}

/**
 * Turns the lines of a part into a comment that starts with a reason.
 * @param lead the text that may be in front of the part on its line
 * @returns undefined if the part shares a line with something else
 */
export function commentLines(
  text: string,
  { from, to, lead, reason }: Span & { readonly lead: RegExp; readonly reason: string },
): string | undefined {
  const start = text.lastIndexOf('\n', from - 1) + 1
  const end = text.indexOf('\n', to) < 0 ? text.length : text.indexOf('\n', to)
  const before = text.slice(start, from)
  if (!lead.test(before) || !/^\s*(?:#[^\n]*)?$/.test(text.slice(to, end))) return undefined
  const indent = /^ */.exec(before)?.[0] ?? ''
  const lines = text.slice(start, end).split('\n')
  const commented = lines.map((line) => (line.trim() === '' ? line : `${indent}# ${line.slice(indent.length)}`))
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  return `${text.slice(0, start)}${indent}# ${reason}:${lineEnd}${commented.join('\n')}${text.slice(end)}`
}
