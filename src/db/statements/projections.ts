import {
  type ComputedSpec,
  EXPANDED,
  type ExpansionSpec,
  type FieldSpec,
  type ModelSpec,
  type ResourceSpec,
} from '../../config/spec.js'
import { identifier, literal } from '../../fields/sql-literal.js'
import { type Cell, readCell } from '../../fields/cell.js'
import { type Computations, NOTHING_COMPUTED } from '../../resource/computed.js'
import { detailName, type Links } from '../../resource/links.js'
import { remember } from '../../remember.js'
import type { ListPlan, Row, Selection } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import { joinedPage, type PageShape, rowPage, textPage } from './page-shape.js'

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
  /** The form of what a client asks to see; undefined where that is always all. `narrow` belongs to one statement. */
  readonly selected?: (selection: Selection, narrow?: Narrow) => Form<Item, Items>
  /** The form of the distinct values of a field. */
  readonly distinct?: (field: FieldSpec) => Form<Item, Items>
}

/** More conditions for the rows of a table, under the name that it has in the statement; empty where it has no scope. */
export type Narrow = (table: string, name: string) => string

/** The form of what a client asks to see, or of all there is to see. */
export function formFor<Item, Items>(
  form: Form<Item, Items>,
  selection: Selection | undefined,
  narrow?: Narrow,
): Form<Item, Items> {
  return (selection && form.selected?.(selection, narrow)) ?? form
}

/** The form of the records of a list. */
export function listForm<Item, Items>(
  form: Form<Item, Items>,
  { selection, distinct }: ListPlan,
  narrow?: Narrow,
): Form<Item, Items> {
  return (distinct && form.distinct?.(distinct)) ?? formFor(form, selection, narrow)
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
export function rowForm({ spec: { model } }: Resource): Form<Row, readonly Row[]> {
  return { ...rowsOf(model.fields), distinct: remember((field) => rowsOf([field])) }
}

function rowsOf(fields: readonly FieldSpec[]): Form<Row, readonly Row[]> {
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

/**
 * Records as clients see them, JSON texts; a page of them is the text of one array, in UTF-8. PostgreSQL builds it, so that no digit is lost; what
 * plugins compute is put at its end.
 */
export function documentForm(
  resource: Resource,
  links: Links,
  computations: Computations = NOTHING_COMPUTED,
): Form<string, Uint8Array> {
  const { name, model, computed } = resource.spec
  const members = documentMembers({ ...resource.spec, resource: name, fields: resource.shown }, links)
  const whole = shownForm({ model, members, computed }, computations)
  const tag = `sha256(convert_to(${documentColumn(members)}, 'UTF8'))`
  const select = ({ members: wanted, expand }: Selection, narrow?: Narrow): Form<string, Uint8Array> => {
    const isWanted = (member: string) => wanted?.has(member) ?? true
    const related = expandedMember(expand, identifier(model.table), { links, narrow })
    return shownForm(
      {
        model,
        members: [...members.filter((member) => isWanted(member.name)), ...related],
        computed: computed.filter(({ field }) => isWanted(field.name)),
      },
      computations,
    )
  }
  const unscoped = remember((selection: Selection) => select(selection))
  const selected = (selection: Selection, narrow?: Narrow) =>
    narrow && selection.expand.length > 0 ? select(selection, narrow) : unscoped(selection)
  const distinct = remember(({ name }: FieldSpec) => select({ key: name, members: new Set([name]), expand: [] }))
  return { ...whole, fields: model.fields, tag, selected, distinct }
}

interface Document {
  readonly model: ModelSpec
  readonly members: readonly DocumentMember[]
  readonly computed: readonly ComputedSpec[]
}

function shownForm({ model, members, computed }: Document, computations: Computations): Form<string, Uint8Array> {
  const used = new Set([...members, ...computed.map(({ from }) => ({ fields: from }))].flatMap(({ fields }) => fields))
  const fields = model.fields.filter((field) => used.has(field))
  const document = documentColumn(members)
  if (computed.length === 0) return { ...TEXTS, fields, select: [document] }
  const from = model.fields.filter((field) => computed.some((each) => each.from.includes(field)))
  const read = completed(computed, from, computations)
  return { fields, select: [document, ...from.map(cellColumn)], read, page: joinedPage(read) }
}

/** Each record is one text, and so are several. */
const TEXTS = { read: ([text]: readonly Cell[]) => text ?? 'null', page: textPage }

/** Puts what is computed of the cells at the end of the document before them. */
function completed(computed: readonly ComputedSpec[], from: readonly FieldSpec[], computations: Computations) {
  const members = computed.map(({ field: { name }, from: wanted }) => {
    const compute = computations.get(name) ?? notComputed(name)
    const places = wanted.map((field) => [field, from.indexOf(field) + 1] as const)
    const valuesOf = (cells: readonly Cell[]): Row =>
      Object.fromEntries(places.map(([field, place]) => [field.name, readCell(field, cells[place])]))
    return (cells: readonly Cell[]) => `${JSON.stringify(name)}:${compute(valuesOf(cells))}`
  })
  return (cells: readonly Cell[]): string => {
    const stored = (cells[0] ?? '{}').slice(0, -1)
    return `${stored}${stored === '{' ? '' : ','}${members.map((member) => member(cells)).join()}}`
  }
}

function notComputed(name: string): () => never {
  return () => {
    throw new Error(`the field ${name} is not computed here`)
  }
}

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

/** How related records are shown; `depth` tells the tables of a statement apart. */
interface Related {
  readonly links: Links
  readonly narrow: Narrow | undefined
  readonly depth?: number
}

/** One member that holds related records by the names of their relations; none, where there are none. `owner` is the table that refers to them. */
function expandedMember(
  expansions: readonly ExpansionSpec[],
  owner: string,
  { links, narrow, depth = 1 }: Related,
): readonly DocumentMember[] {
  if (expansions.length === 0) return []
  const related = expansions.map((expansion): DocumentMember => {
    const { field, model } = expansion
    // No table is named so, and a model can be related to itself.
    const alias = identifier(`@${depth}`)
    const members = [
      ...documentMembers(expansion, links),
      ...expandedMember(expansion.expand, alias, { links, narrow, depth: depth + 1 }),
    ]
    const key = `${alias}.${identifier(model.primaryKey.column)} = ${owner}.${identifier(field.column)}`
    const found = `${key}${narrow?.(model.table, alias) ?? ''}`
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
