import { membersOf } from '../schema/yaml-shape.js'
import type { ConfigDocument } from '../yaml/document.js'
import { findValue, type Path } from '../yaml/located.js'
import { formatValue } from './format-value.js'
import { indentOf, insertLines, isFlow, keyStart } from './lines.js'

/** A member to add to a mapping. */
interface Member {
  /** The place of the mapping, which has members. */
  readonly path: Path
  readonly key: string
  /** Formats the value, given the indentation and line end of the mapping's members; undefined if the mapping is within braces. */
  readonly format: (block: Block | undefined) => string
}

/** The form of a mapping with a line for each member. */
export interface Block {
  readonly indent: string
  readonly lineEnd: string
}

/** Writes a member after the last one of a mapping, on the same line within braces, else on a line of its own. */
export function appendMember(text: string, document: ConfigDocument, { path, key, format }: Member): string {
  const last = membersOf(findValue(document.value, path)).at(-1)?.[0] ?? ''
  const end = text.slice(0, document.locate([...path, last], 'value').end.offset).trimEnd().length
  const name = formatValue(key)
  if (isFlow(text, document, path)) return `${text.slice(0, end)}, ${name}: ${format(undefined)}${text.slice(end)}`
  const indent = indentOf(text, keyStart(text, document, [...path, last]))
  return insertLines(text, end, (lineEnd) =>
    `${indent}${name}: ${format({ indent, lineEnd })}`.replace(/: (?=\r?\n)/, ':'),
  )
}
