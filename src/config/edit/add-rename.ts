import type { ConfigDocument } from '../yaml/document.js'
import { editConfig, modelTables } from './edit.js'
import { findValue, type Path } from '../yaml/located.js'
import { leadingTable } from '../../fields/table-name.js'
import { show, suggest } from '../words.js'
import { membersOf } from '../schema/yaml-shape.js'
import { formatValue } from './format-value.js'
import { indentOf, isFlow, keyStart, lineEndOf } from './lines.js'

/** A rename that cannot be written into a configuration: the reason, and what would be right. */
export interface RenameRejection {
  readonly message: string
  readonly help: readonly string[]
}

/** The place of a rename: the mapping, and the key next to which it is written. */
interface RenamePlace {
  readonly mapping: Path
  readonly anchor: string
  readonly from: string
}

/**
 * Writes a rename into the text of a configuration as `renamed_from`, and leaves every other character as it is.
 * @param rename `books.size:pages` if the field is now called `pages`, `books:volumes` for a table
 */
export function declareRename(text: string, file: string, rename: string): string | RenameRejection {
  return (
    editConfig({ text, file }, (body, document) => declare(body, document, rename)) ?? {
      message: `${file} cannot be read`,
      help: ['run: snippetctl check'],
    }
  )
}

function declare(text: string, document: ConfigDocument, rename: string): string | RenameRejection {
  const names = splitRename(rename, document)
  if (names === undefined) {
    const help = ['table.old:new for a field, old:new for a table']
    return { message: `${show(rename)} is not a valid rename`, help }
  }
  const { table, column, to } = names
  const place = column === undefined ? placeOfTable(document, table, to) : placeOfField(document, { table, column, to })
  return 'message' in place ? place : insert(text, document, place)
}

interface RenameNames {
  readonly table: string
  /** The former column; undefined if the table is renamed. */
  readonly column?: string
  readonly to: string
}

/** Names in PostgreSQL may contain dots and colons, so a table of the configuration that the text starts with decides where its name ends. */
function splitRename(rename: string, document: ConfigDocument): RenameNames | undefined {
  const colon = rename.lastIndexOf(':')
  const from = rename.slice(0, Math.max(0, colon))
  const to = rename.slice(colon + 1)
  const known = modelTables(document)
    .map(({ table }) => table)
    .filter((table) => from.startsWith(`${table}.`))
  const end =
    known.length > 0 ? Math.max(...known.map(({ length }) => length)) : from.indexOf('.', leadingTable(from).length)
  const [table, column] = end < 0 ? [from] : [from.slice(0, end), from.slice(end + 1)]
  return table === '' || column === '' || to === '' ? undefined : { table: table, to, ...(column && { column }) }
}

function placeOfTable(document: ConfigDocument, from: string, to: string): RenamePlace | RenameRejection {
  const models = modelTables(document)
  const tables = models.map(({ table }) => table)
  const found = models.find(({ table }) => table === to)
  if (!found) return { message: `no model has the table ${show(to)}`, help: suggest(to, tables, 'table') }
  const mapping = ['models', found.model]
  const anchor = findValue(document.value, [...mapping, 'table']) === undefined ? 'fields' : 'table'
  return freeOf(document, { mapping, anchor, from })
}

function placeOfField(
  document: ConfigDocument,
  { table, column, to }: { readonly table: string; readonly column: string; readonly to: string },
): RenamePlace | RenameRejection {
  const models = modelTables(document)
  const tables = models.map((each) => each.table)
  const found = models.find((each) => each.table === table)
  if (!found) return { message: `no model has the table ${show(table)}`, help: suggest(table, tables, 'table') }
  const fields = ['models', found.model, 'fields']
  const names = membersOf(findValue(document.value, fields)).map(([name]) => name)
  if (!names.includes(to)) {
    const message = `the model ${show(found.model)} has no field ${show(to)}`
    const first = names.includes(column) ? [`first rename the field in the file: ${column} becomes ${to}`] : []
    return { message, help: [...first, ...suggest(to, names, 'field')] }
  }
  return freeOf(document, { mapping: [...fields, to], anchor: 'type', from: column })
}

function freeOf(document: ConfigDocument, place: RenamePlace): RenamePlace | RenameRejection {
  const { mapping, from } = place
  const known = findValue(document.value, [...mapping, 'renamed_from'])
  if (known !== undefined) {
    return { message: `${mapping.join('.')} has \`renamed_from\` already`, help: ['change it there'] }
  }
  const isField = mapping.length > 2
  const owner = isField ? mapping.slice(0, 2) : []
  const dropped = findValue(document.value, [...owner, 'dropped'])
  if (!Array.isArray(dropped) || !dropped.includes(from)) return place
  const message = `\`${[...owner, 'dropped'].join('.')}\` lists ${show(from)}, and a rename keeps its ${isField ? 'values' : 'rows'}`
  return { message, help: [`to rename it, remove ${show(from)} from \`dropped\``] }
}

/** Before the anchor, where no comment can be in the way; on its line within braces, else on a line of its own. */
function insert(text: string, document: ConfigDocument, { mapping, anchor, from }: RenamePlace): string {
  const at = keyStart(text, document, [...mapping, anchor])
  const end = isFlow(text, document, mapping) ? ', ' : lineEndOf(text) + indentOf(text, at)
  return `${text.slice(0, at)}renamed_from: ${formatValue(from)}${end}${text.slice(at)}`
}
