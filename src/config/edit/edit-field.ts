import type { Json } from '../../foundation/json.js'
import { membersOf } from '../schema/yaml-shape.js'
import type { ConfigDocument } from '../yaml/document.js'
import { findValue, type Path } from '../yaml/located.js'
import { commentLines } from './comment-lines.js'
import { editConfig } from './edit.js'
import { insertLines, isFlow, lineBefore, replaceValue, spanOf } from './lines.js'
import { formatValue } from './format-value.js'

/** A field of a model in a configuration. */
interface FieldAddress {
  readonly model: string
  readonly field: string
}

/** A field, or a relation over several fields. */
type SettingsAddress = FieldAddress | { readonly model: string; readonly relation: string }

/** A setting and its value; undefined removes it. */
export interface Setting {
  readonly key: string
  readonly value: Json | undefined
}

/**
 * Sets or removes a setting of a field or relation, and leaves every other character as it is.
 * @returns undefined if the field or relation does not exist, or its text has no room for the setting
 */
export function setSetting(text: string, file: string, place: SettingsAddress, setting: Setting): string | undefined {
  return editConfig({ text, file }, (body, document) => {
    const rest = 'field' in place ? ['fields', place.field] : ['relations', place.relation]
    const path = ['models', place.model, ...rest]
    const keys = membersOf(findValue(document.value, path)).map(([key]) => key)
    if (keys.length === 0) return undefined
    const isThere = keys.includes(setting.key)
    if (setting.value === undefined) return isThere ? remove(body, document, { path, keys, key: setting.key }) : body
    const spelled = formatValue(setting.value)
    if (!isThere) return insert(body, document, { path, last: keys.at(-1) ?? '', added: `${setting.key}: ${spelled}` })
    return replaceValue(body, document, [...path, setting.key], spelled)
  })
}

/**
 * Turns a field into a comment that starts with a reason, and leaves every other character as it is.
 * @returns undefined if the field is not there, or shares a line with something else
 */
export function commentField(text: string, file: string, place: FieldAddress, reason: string): string | undefined {
  return editConfig({ text, file }, (body, document) => {
    const path = ['models', place.model, 'fields', place.field]
    if (findValue(document.value, path) === undefined) return undefined
    const from = document.locate(path, 'key').start.offset
    return commentLines(body, { from, to: spanOf(body, document, path).to, lead: /^ *$/, reason })
  })
}

interface Removed {
  readonly path: Path
  readonly keys: readonly string[]
  readonly key: string
}

/** The rest of a line after a member: perhaps a comma, and a comment. */
const REST = /^( *,)? *(?:#[^\n]*|\r)?(?:\n|$)/

/** With its lines and their comments, or with the adjacent comma if it shares its line. */
function remove(text: string, document: ConfigDocument, { path, keys, key }: Removed): string | undefined {
  const start = document.locate([...path, key], 'key').start.offset
  const { to } = spanOf(text, document, [...path, key])
  const before = lineBefore(text, start)
  const after = text.slice(to)
  const isInBraces = isFlow(text, document, path)
  const previous = keys[keys.indexOf(key) - 1]
  const isLast = key === keys.at(-1)
  if (isInBraces && isLast && previous === undefined) return undefined
  const [rest, comma] = /^ *$/.test(before) ? (REST.exec(after) ?? []) : []
  const isAlone = rest !== undefined && (!isInBraces || isLast || comma !== undefined)
  if (isAlone) return text.slice(0, start - before.length) + after.slice(rest.length)
  if (!isInBraces) return undefined
  const separator = /^ *, */.exec(after)?.[0]
  if (separator !== undefined) return text.slice(0, start) + after.slice(separator.length)
  if (!isLast || previous === undefined) return undefined
  const end = spanOf(text, document, [...path, previous]).to
  // A comment may follow the comma.
  return text.slice(0, text.slice(end, start).includes('\n') ? start : end) + after
}

interface Inserted {
  readonly path: Path
  readonly last: string
  readonly added: string
}

/** After the last setting, on its line within braces, else on a line of its own. */
function insert(text: string, document: ConfigDocument, { path, last, added }: Inserted): string | undefined {
  const { to } = spanOf(text, document, [...path, last])
  if (isFlow(text, document, path)) return `${text.slice(0, to)}, ${added}${text.slice(to)}`
  const start = document.locate([...path, last], 'key').start.offset
  const indent = lineBefore(text, start)
  return /^ *$/.test(indent) ? insertLines(text, to, () => `${indent}${added}`) : undefined
}
