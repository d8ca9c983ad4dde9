import { appendMember } from './append-member.js'
import { editConfig, modelTables } from './edit.js'
import { findValue } from '../yaml/located.js'
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
export function addField(text: string, file: string, { table, name, settings }: UndeclaredField): string | undefined {
  return editConfig({ text, file }, (body, document) => {
    const found = modelTables(document).find((each) => each.table === table)
    const spelled = `{ ${settings.join(', ')} }`
    const fields = found && findValue(document.value, ['models', found.model, 'fields'])
    if (!found || membersOf(fields).some(([key]) => key === name)) return undefined
    return appendMember(body, document, { path: ['models', found.model, 'fields'], key: name, format: () => spelled })
  })
}
