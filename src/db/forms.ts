import type { FieldSpec } from '../config/spec.js'
import { identifier, literal } from '../fields/sql-literal.js'
import { type Cell, readCell } from '../fields/cell.js'
import { detailName, type Links } from '../resource/links.js'
import type { Row } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import { type PageShape, rowPage, textPage } from './page.js'

/** How records leave the database: what is selected, and what is made of the cells. */
export interface Form<Item, Items> {
  /** SQL expressions over the columns of the resource's table. */
  readonly select: readonly string[]
  read(cells: readonly Cell[]): Item
  /** The entity tag of a record, of the type `bytea`; undefined where the form has none. */
  readonly tag?: string
  readonly page: PageShape<Items>
}

/** A column as it is selected: its wire form. */
export function wireColumn(field: FieldSpec): string {
  const column = identifier(field.column)
  return field.type.select?.(column) ?? column
}

/** The text of a column, as `readCell` and files of records take it. */
export function cellColumn(field: FieldSpec): string {
  return `(${wireColumn(field)})::text`
}

/** Records as handlers see them: every stored field by name, private ones too. */
export function rowForm(resource: Resource): Form<Row, readonly Row[]> {
  const { fields } = resource.spec.model
  const read = (cells: readonly Cell[]): Row =>
    Object.fromEntries(fields.map((field, index) => [field.name, readCell(field, cells[index])]))
  return {
    select: fields.map(cellColumn),
    read,
    page: rowPage(read),
  }
}

/** No column is named so: the name of a column would mean its value, not the whole record. */
const DOCUMENT = identifier('@')

/** One JSON text of some members, each a name with the SQL expression of its value. */
export function documentColumn(members: readonly (readonly [name: string, expression: string])[]): string {
  const columns = members.map(([name, expression]) => `${expression} as ${identifier(name)}`)
  return `(select row_to_json(${DOCUMENT})::text from (select ${columns.join(', ')}) ${DOCUMENT})`
}

/** Records as clients see them, JSON texts; a page of them is the text of one array, in UTF-8. PostgreSQL builds it, so that no digit is lost. */
export function documentForm(resource: Resource, links: Links): Form<string, Uint8Array> {
  const { url, links: linked, name, model } = resource.spec
  const members = resource.shown.map((field) => {
    const route = linked[field.name]
    return [field.name, route === undefined ? wireColumn(field) : linkColumn(field, route, links)] as const
  })
  const all = url ? [['url', linkColumn(model.primaryKey, detailName(name), links)] as const, ...members] : members
  const document = documentColumn(all)
  return {
    select: [document],
    read: ([text]) => text ?? 'null',
    tag: `sha256(convert_to(${document}, 'UTF8'))`,
    page: textPage,
  }
}

/** The link to a record, built where the id is: keys are types whose text needs no escaping in a path. */
function linkColumn(field: FieldSpec, route: string, links: Links): string {
  const template = links.template(route)
  if (!template) throw new Error(`no route named ${route} takes one parameter`)
  const [prefix, suffix] = template.map(literal)
  return `${prefix} || ${identifier(field.column)} || ${suffix}`
}
