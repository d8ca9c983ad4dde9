import type { Span } from '../yaml/located.js'
import { lineBefore, lineEndOf } from './lines.js'

/**
 * Turns the lines of a part into a comment that starts with a reason.
 * @param lead the text that may be in front of the part on its line
 * @returns undefined if the part shares a line with something else
 */
export function commentLines(
  text: string,
  { from, to, lead, reason }: Span & { readonly lead: RegExp; readonly reason: string },
): string | undefined {
  const before = lineBefore(text, from)
  const start = from - before.length
  const end = text.indexOf('\n', to) < 0 ? text.length : text.indexOf('\n', to)
  if (!lead.test(before) || !/^\s*(?:#[^\n]*)?$/.test(text.slice(to, end))) return undefined
  const indent = /^ */.exec(before)?.[0] ?? ''
  const lines = text.slice(start, end).split('\n')
  const commented = lines.map((line) => (line.trim() === '' ? line : `${indent}# ${line.slice(indent.length)}`))
  return `${text.slice(0, start)}${indent}# ${reason}:${lineEndOf(text)}${commented.join('\n')}${text.slice(end)}`
}
