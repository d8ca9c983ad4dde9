import type { ConfigDocument } from '../yaml/document.js'
import { findValue } from '../yaml/located.js'
import { membersOf } from '../schema/yaml-shape.js'
import { editConfig } from './edit.js'
import { isFlow, lineBefore, lineEndOf, spanOf } from './lines.js'

/** Members to write at the end of a mapping at the top of a configuration. */
interface Addition {
  /** The key of the mapping. */
  readonly key: string
  /** One block each: the key at the start of the first line, indented by two spaces below. */
  readonly members: readonly string[]
}

/**
 * Writes members at the ends of mappings at the top of a configuration, and leaves every other character as it is.
 * @returns undefined if the file is not a configuration, or one of the mappings, or all of it, is in flow style
 */
export function appendMembers(text: string, file: string, additions: readonly Addition[]): string | undefined {
  return editConfig({ text, file }, (all, document) => {
    const end = documentEnd(all, document)
    const extended = append(all.slice(0, end), document, additions)
    return extended === undefined ? undefined : extended + all.slice(end)
  })
}

/** The offset of the line `...`, if there is one, or else the end of the text. */
function documentEnd(text: string, document: ConfigDocument): number {
  const { to } = spanOf(text, document, [])
  const found = text.slice(to).search(/^\.\.\.(?!\S)/m)
  return found < 0 ? text.length : to + found
}

function append(text: string, document: ConfigDocument, additions: readonly Addition[]): string | undefined {
  if (isFlow(text, document, [])) return undefined
  const isThere = ({ key }: Addition) => findValue(document.value, [key]) !== undefined
  const found = additions.filter(isThere).map((addition) => ({ addition, end: endOf(text, document, addition) }))
  if (!found.every(({ end }) => end !== undefined)) return undefined
  const extended = found
    .toSorted((one, other) => (other.end?.at ?? 0) - (one.end?.at ?? 0))
    .reduce((before, { addition, end }) => (end ? insert(before, end, addition) : before), text)
  return additions.filter((addition) => !isThere(addition)).reduce(appendMapping, extended)
}

function blockOf({ members }: Addition, indent: string, lineEnd: string): string {
  const lines = members.join('\n').split('\n')
  return lines.map((line) => (line === '' ? lineEnd : `${indent}${line}${lineEnd}`)).join('')
}

/** Writes the mapping at the end of the file. */
function appendMapping(text: string, addition: Addition): string {
  const lineEnd = lineEndOf(text)
  const start = text.trimEnd()
  const gap = start === '' ? '' : lineEnd + lineEnd
  return `${start}${gap}${addition.key}:${lineEnd}${blockOf(addition, '  ', lineEnd)}`
}

/** The place after the last member of a mapping. */
interface MappingEnd {
  readonly at: number
  readonly indent: string
  /** Whether the last line has no end. */
  readonly isOpen: boolean
}

/** Returns undefined for a mapping without a line for each member. */
function endOf(text: string, document: ConfigDocument, { key }: Addition): MappingEnd | undefined {
  const last = membersOf(findValue(document.value, [key])).at(-1)?.[0]
  if (last === undefined) return undefined
  if (isFlow(text, document, [key])) return undefined
  const start = document.locate([key, last], 'key').start.offset
  const indent = lineBefore(text, start)
  if (!/^ +$/.test(indent)) return undefined
  const end = text.slice(0, document.locate([key, last], 'value').end.offset).trimEnd().length
  const newline = text.indexOf('\n', end)
  return { at: newline < 0 ? text.length : newline + 1, indent, isOpen: newline < 0 }
}

function insert(text: string, { at, indent, isOpen }: MappingEnd, addition: Addition): string {
  const lineEnd = lineEndOf(text)
  const rest = text.slice(at)
  const block = blockOf(addition, indent, lineEnd)
  const added = rest.trim() === '' || rest.startsWith(lineEnd) ? block.trimEnd() + lineEnd : block
  return `${text.slice(0, at)}${isOpen ? lineEnd : ''}${lineEnd}${added}${rest}`
}
