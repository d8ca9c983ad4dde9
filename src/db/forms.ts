import { EXPANDED, type ExpansionSpec, type FieldSpec, type ResourceSpec } from '../config/spec.js'
import { identifier, literal } from '../fields/sql-literal.js'
import { type Cell, readCell } from '../fields/cell.js'
import { detailName, type Links } from '../resource/links.js'
import { remember } from '../remember.js'
import type { Row, Selection } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import { type PageShape, rowPage, textPage } from './page.js'

/** How records leave the database: what is selected, and what is made of the cells. */
export interface Form<Item, Items> {
  /** The fields that `select` reads. */
  readonly fields: readonly FieldSpec[]
  /** SQL expressions over the columns of the resource's table. */
  readonly select: readonly string[]
  read(cells: readonly Cell[]): Item
  /** The entity tag of a record, of the type `bytea`; undefined where the form has none. */
  readonly tag?: string
  readonly page: PageShape<Items>
  /** The form of what a client asks to see; undefined where that is always all. */
  readonly selected?: (selection: Selection) => Form<Item, Items>
}

/** The form of what a client asks to see, or of all there is to see. */
export function formFor<Item, Items>(form: Form<Item, Items>, selection: Selection | undefined): Form<Item, Items> {
  return (selection && form.selected?.(selection)) ?? form
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
    fields,
    select: fields.map(cellColumn),
    read,
    page: rowPage(read),
  }
}

/** No column is named so: the name of a column would mean its value, not the whole record. */
const DOCUMENT = identifier('@')

/** The SQL of one JSON text of some members, each a name with the SQL expression of its value. */
export function documentColumn(members: readonly Member[]): string {
  return `(select row_to_json(${DOCUMENT})::text from ${membersOf(members)})`
}

/** The same as a JSON value, for a place inside of another. */
function documentValue(members: readonly Member[]): string {
  return `(select row_to_json(${DOCUMENT}) from ${membersOf(members)})`
}

interface Member {
  readonly name: string
  readonly expression: string
}

function membersOf(members: readonly Member[]): string {
  const columns = members.map(({ name, expression }) => `${expression} as ${identifier(name)}`)
  return `(select ${columns.join(', ')}) ${DOCUMENT}`
}

/** Records as clients see them, JSON texts; a page of them is the text of one array, in UTF-8. PostgreSQL builds it, so that no digit is lost. */
export function documentForm(resource: Resource, links: Links): Form<string, Uint8Array> {
  const { name, model } = resource.spec
  const members = documentMembers({ ...resource.spec, resource: name, fields: resource.shown }, links)
  const { fields } = model
  const document = documentColumn(members)
  const tag = `sha256(convert_to(${document}, 'UTF8'))`
  const selected = remember((selection: Selection): Form<string, Uint8Array> => {
    const shown = members.filter(({ name }) => selection.members?.has(name) ?? true)
    const related = expandedMember(selection.expand, identifier(model.table), links)
    const chosen = [...shown, ...related]
    const used = new Set(chosen.flatMap((member) => member.fields))
    return {
      ...TEXTS,
      fields: fields.filter((field) => used.has(field)),
      select: [documentColumn(chosen)],
    }
  })
  return { ...TEXTS, fields, select: [document], tag, selected }
}

/** Each record is one text, and so are several. */
const TEXTS = { read: ([text]: readonly Cell[]) => text ?? 'null', page: textPage }

interface DocumentMember extends Member {
  /** What it is made of. */
  readonly fields: readonly FieldSpec[]
}

/** How a record is shown: as a resource shows it, or where another one refers to it. */
interface Shown extends Pick<ResourceSpec, 'model' | 'url' | 'links'> {
  readonly resource: string
  readonly fields: readonly FieldSpec[]
}

function documentMembers(
  { resource, model, fields, url, links: linked }: Shown,
  links: Links,
): readonly DocumentMember[] {
  const members = fields.map((field): DocumentMember => {
    const route = linked[field.name]
    const expression = route === undefined ? wireColumn(field) : linkColumn(field, route, links)
    return { name: field.name, fields: [field], expression }
  })
  if (!url) return members
  const expression = linkColumn(model.primaryKey, detailName(resource), links)
  return [{ name: 'url', fields: [model.primaryKey], expression }, ...members]
}

/** One member that holds related records by the names of their relations; none, where there are none. `owner` is the table that refers to them. */
function expandedMember(
  expansions: readonly ExpansionSpec[],
  owner: string,
  links: Links,
  depth = 1,
): readonly DocumentMember[] {
  if (expansions.length === 0) return []
  const related = expansions.map((expansion): DocumentMember => {
    const { field, model } = expansion
    // No table is named so, and a model can be related to itself.
    const alias = identifier(`@${depth}`)
    const members = [...documentMembers(expansion, links), ...expandedMember(expansion.expand, alias, links, depth + 1)]
    const found = `${alias}.${identifier(model.primaryKey.column)} = ${owner}.${identifier(field.column)}`
    const expression = `(select ${documentValue(members)} from ${identifier(model.table)} ${alias} where ${found})`
    return { name: field.name, fields: [field], expression }
  })
  return [{ name: EXPANDED, fields: expansions.map(({ field }) => field), expression: documentValue(related) }]
}

/** The link to a record, built where the id is: keys are types whose text needs no escaping in a path. */
function linkColumn(field: FieldSpec, route: string, links: Links): string {
  const template = links.template(route)
  if (!template) throw new Error(`no route named ${route} takes one parameter`)
  const [prefix, suffix] = template.map(literal)
  return `${prefix} || ${identifier(field.column)} || ${suffix}`
}
