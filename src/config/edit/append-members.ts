import { readConfig } from '../yaml/document.js'
import { findValue } from '../yaml/located.js'
import { membersOf } from '../schema/yaml-shape.js'

/**
 * Writes members at the end of a mapping at the top of a configuration, and leaves every other character as it is.
 * @param members one block each: the key at the start of the first line, indented by two spaces below
 * @returns undefined if the file is not a configuration, or writes the mapping on one line
 */
export const appendMembers = (
  text: string,
  file: string,
  { key, members }: { readonly key: string; readonly members: readonly string[] },
): string | undefined => {
  const document = readConfig(new TextEncoder().encode(text), file)
  if (Array.isArray(document)) return undefined
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  const block = (indent: string) =>
    members
      .join('\n')
      .split('\n')
      .map((line) => (line === '' ? lineEnd : `${indent}${line}${lineEnd}`))
      .join('')
  const given = findValue(document.value, [key])
  if (given === undefined) {
    const start = text.replace(/\s*$/, '')
    return `${start}${start === '' ? '' : lineEnd}${lineEnd}${key}:${lineEnd}${block('  ')}`
  }
  const last = membersOf(given).at(-1)?.[0]
  if (last === undefined) return undefined
  const shift = text.startsWith('\ufeff') ? 1 : 0
  const at = document.locate([key, last], 'key').start.offset + shift
  const indent = text.slice(text.lastIndexOf('\n', at - 1) + 1, at)
  if (!/^ +$/.test(indent)) return undefined
  const end = text.slice(0, document.locate([key, last], 'value').end.offset + shift).trimEnd().length
  const newline = text.indexOf('\n', end)
  const place = newline < 0 ? text.length : newline + 1
  const gap = newline < 0 ? lineEnd : ''
  const rest = text.slice(place)
  const added = rest.trim() === '' || rest.startsWith(lineEnd) ? block(indent).trimEnd() + lineEnd : block(indent)
  return `${text.slice(0, place)}${gap}${lineEnd}${added}${rest}`
}
