import { membersOf } from '../schema/yaml-shape.js'
import type { ConfigDocument } from '../yaml/document.js'
import { findValue } from '../yaml/located.js'
import { appendMember, type Block } from './append-member.js'
import { commentLines } from './comment-lines.js'
import { editConfig } from './edit.js'
import { insertLines, lineBefore, replaceValue, spanOf } from './lines.js'

/**
 * Appends an index to the indexes of a model, and leaves every other character as it is.
 * @param spelled the index as a flow sequence or mapping: `[title, id]`
 * @returns undefined if the file has no such model
 */
export function addIndex(text: string, file: string, model: string, spelled: string): string | undefined {
  return editConfig({ text, file }, (body, document) => {
    const path = ['models', model, 'indexes']
    const given = findValue(document.value, path)
    if (Array.isArray(given) && given.length === 0) return replaceValue(body, document, path, `[${spelled}]`)
    if (!Array.isArray(given)) {
      const isThere = membersOf(findValue(document.value, ['models', model])).length > 0 && given === undefined
      return isThere
        ? addMember(body, document, { model, key: 'indexes', line: `- ${spelled}`, flow: `[${spelled}]` })
        : undefined
    }
    const last = spanOf(body, document, [...path, given.length - 1])
    const before = lineBefore(body, last.from)
    const item = /^( *)- +$/.exec(before)
    if (!item) return `${body.slice(0, last.to)}, ${spelled}${body.slice(last.to)}`
    return insertLines(body, last.to, () => `${item[1]}- ${spelled}`)
  })
}

/**
 * Turns an index of a model into a comment that starts with a reason, and leaves every other character as it is.
 * @returns undefined if the index is not there, or shares a line with something else
 */
export function commentIndex(
  text: string,
  file: string,
  { model, at, reason }: { readonly model: string; readonly at: number; readonly reason: string },
): string | undefined {
  return editConfig({ text, file }, (body, document) => {
    const path = ['models', model, 'indexes']
    const given = findValue(document.value, path)
    if (!Array.isArray(given) || given.length <= at) return undefined
    const isOnly = given.length === 1
    const { from, to } = spanOf(body, document, isOnly ? path : [...path, at])
    const start = isOnly ? document.locate(path, 'key').start.offset : from
    return commentLines(body, { from: start, to, lead: isOnly ? /^ *$/ : /^ *- +$/, reason })
  })
}

/**
 * Appends a relation over several fields to the relations of a model, and leaves every other character as it is.
 * @param spelled its name and settings: `editor: { model: person, fields: [a, b] }`
 * @returns undefined if the file has no such model
 */
export function addRelation(text: string, file: string, model: string, spelled: string): string | undefined {
  return editConfig({ text, file }, (body, document) => {
    const path = ['models', model, 'relations']
    const given = findValue(document.value, path)
    const [, key = '', settings = ''] = /^(\w+): (.*)$/.exec(spelled) ?? []
    if (membersOf(given).length > 0) return appendMember(body, document, { path, key, format: () => settings })
    if (given !== undefined) return replaceValue(body, document, path, `{ ${spelled} }`)
    if (membersOf(findValue(document.value, ['models', model])).length === 0) return undefined
    return addMember(body, document, { model, key: 'relations', line: spelled, flow: `{ ${spelled} }` })
  })
}

interface NewMember {
  readonly model: string
  readonly key: string
  /** The line of its value below the key. */
  readonly line: string
  /** Its value within braces. */
  readonly flow: string
}

function addMember(text: string, document: ConfigDocument, { model, key, line, flow }: NewMember): string {
  const format = (block: Block | undefined) => (block ? `${block.lineEnd}${block.indent}  ${line}` : flow)
  return appendMember(text, document, { path: ['models', model], key, format })
}
