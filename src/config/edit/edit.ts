import { type ConfigDocument, readConfig } from '../yaml/document.js'
import { findValue } from '../yaml/located.js'
import { membersOf } from '../schema/yaml-shape.js'

/**
 * Passes the text of a configuration and its parsed content to an editing function. A byte order mark at the start of the file is not part of the
 * text, and stays.
 * @returns the result of `edit`; undefined if the configuration cannot be read
 */
export function editConfig<Edited>(
  { text, file }: { readonly text: string; readonly file: string },
  edit: (text: string, document: ConfigDocument) => string | Edited,
): string | Edited | undefined {
  const document = readConfig(new TextEncoder().encode(text), file)
  if (Array.isArray(document)) return undefined
  const start = text.startsWith('\ufeff') ? 1 : 0
  // Editing functions know LF and CRLF. All offsets stay the same.
  const hasLoneReturns = text.includes('\r') && !text.includes('\n')
  const edited = edit(hasLoneReturns ? text.slice(start).replaceAll('\r', '\n') : text.slice(start), document)
  if (typeof edited !== 'string') return edited
  return text.slice(0, start) + (hasLoneReturns ? edited.replaceAll('\n', '\r') : edited)
}

/** Lists each model with its table. The configuration may be invalid. */
export function modelTables({ value }: ConfigDocument): readonly { readonly model: string; readonly table: string }[] {
  return membersOf(findValue(value, ['models'])).map(([model, settings]) => {
    const table = findValue(settings, ['table'])
    return { model, table: typeof table === 'string' ? table : model }
  })
}
