import type { ConfigDocument } from '../yaml/document.js'
import { editConfig, modelTables } from './edit.js'
import { findValue, type Path } from '../yaml/located.js'
import { membersOf } from '../schema/yaml-shape.js'

/** A field to add to the model of a table. */
interface UndeclaredField {
  readonly table: string
  readonly name: string
  /** The settings of the field, in braces after its name. */
  readonly settings: readonly string[]
}

/**
 * Writes a field at the end of the model of a table, and leaves every other character as it is.
 * @returns undefined if the file has no model for the table, or the model has a field of this name
 */
export const addField = (text: string, file: string, { table, name, settings }: UndeclaredField): string | undefined =>
  editConfig({ text, file }, (body, document) => {
    const found = modelTables(document).find((each) => each.table === table)
    const spelled = `{ ${settings.join(', ')} }`
    const fields = found && findValue(document.value, ['models', found.model, 'fields'])
    if (!found || membersOf(fields).some(([key]) => key === name)) return undefined
    return append(body, document, { fields: ['models', found.model, 'fields'], key: name, spelled })
  })

interface Field {
  /** The place of the insertion. */
  readonly fields: Path
  readonly key: string
  readonly spelled: string
}

/** After the last field, on its line within braces, else on a line of its own. */
const append = (text: string, document: ConfigDocument, { fields, key, spelled }: Field): string => {
  const last = membersOf(findValue(document.value, fields)).at(-1)?.[0] ?? ''
  const end = text.slice(0, document.locate([...fields, last], 'value').end.offset).trimEnd().length
  const start = document.locate([...fields, last], 'key').start.offset
  const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
  if (!/^ *$/.test(before)) return `${text.slice(0, end)}, ${key}: ${spelled}${text.slice(end)}`
  const newline = text.indexOf('\n', end)
  const isWindows = text[newline - 1] === '\r'
  const at = newline < 0 ? text.length : isWindows ? newline - 1 : newline
  return `${text.slice(0, at)}${isWindows ? '\r\n' : '\n'}${before}${key}: ${spelled}${text.slice(at)}`
}
