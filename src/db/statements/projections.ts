import { tableAlias, tableSql } from '../../fields/table-name.js'
import {
  type ComputedSpec,
  EXPANDED,
  type ExpansionSpec,
  isOwnTable,
  ADDED_ID,
  loneKey,
  type RelationPart,
  type FieldSpec,
  type ModelSpec,
  type ResourceSpec,
} from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import { type Cell, readCell } from '../../fields/cell.js'
import { type Computations, NOTHING_COMPUTED } from '../../resource/computed.js'
import { detailName, type Links } from '../../resource/bodies/links.js'
import { remember } from '../../foundation/remember.js'
import type { ListPlan, Row, Selection } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import type { Asking } from './rules/rules.js'
import { cellColumn, refersSql, wireColumn } from './columns.js'
import { joinedColumn, linkColumn } from './link-columns.js'
import { joinedPage, type PageShape, rowPage, textPage } from './lists/page-shape.js'

/** How records leave the database: the select list, and how its cells are read. */
export interface Projection<Item, Items> {
  /** The fields that `select` reads. */
  readonly fields: readonly FieldSpec[]
  /** SQL expressions over the columns of the resource's table. */
  readonly select: readonly string[]
  read(cells: readonly Cell[]): Item
  /** The SQL of a record's entity tag, of type `bytea`; undefined if the projection has none. */
  readonly tag?: string
  readonly page: PageShape<Items>
  /**
   * Narrows the projection to the fields that a client requests; undefined if it is always complete. `narrow` adds parameters to one statement, so its
   * result cannot be used for others.
   */
  readonly selected?: (selection: Selection, narrow?: Narrow) => Projection<Item, Items>
  /** The projection of a statement for a caller who does not see the same fields of every record. */
  readonly within?: (asking: Asking) => Projection<Item, Items>
  /** The projection of a field's distinct values. */
  readonly distinct?: (field: FieldSpec) => Projection<Item, Items>
}

/** Returns further conditions on a related record, whose table has the alias `name`: SQL that starts with `and`, or an empty text. */
export type Narrow = (related: Pick<ExpansionSpec, 'model' | 'rows'>, name: string) => string

/** Returns the projection for a selection, or the complete one. */
export function projectionFor<Item, Items>(
  projection: Projection<Item, Items>,
  selection: Selection | undefined,
  narrow?: Narrow,
): Projection<Item, Items> {
  return (selection && projection.selected?.(selection, narrow)) ?? projection
}

/** Returns the projection for the records of a list. */
export function listProjection<Item, Items>(
  projection: Projection<Item, Items>,
  { selection, distinct }: ListPlan,
  narrow?: Narrow,
): Projection<Item, Items> {
  return (distinct && projection.distinct?.(distinct)) ?? projectionFor(projection, selection, narrow)
}

/**
 * Projects records to rows for handlers: every stored field by name, including private ones; with grants, the fields that they show.
 * @param vary makes the column of a field that not every record shows
 */
export function rowProjection(
  { spec: { model }, shown, access }: Resource,
  vary?: (field: FieldSpec, asking: Asking) => string | undefined,
): Projection<Row, readonly Row[]> {
  const fields = access ? shown.filter(({ joined }) => joined === undefined) : model.fields
  const rows = { ...rowsOf(fields), distinct: remember((field: FieldSpec) => rowsOf([field])) }
  if (!vary) return rows
  const within = (asking: Asking) => ({
    ...rows,
    fields: model.fields,
    select: fields.map((field) => vary(field, asking) ?? cellColumn(field)),
  })
  return { ...rows, within }
}

function rowsOf(fields: readonly FieldSpec[]): Projection<Row, readonly Row[]> {
  const read = (cells: readonly Cell[]): Row =>
    Object.fromEntries(fields.map((field, index) => [field.name, readCell(field, cells[index])]))
  return {
    fields,
    select: fields.map(cellColumn),
    read,
    page: rowPage(read),
  }
}

/** An alias that no column can have: a column's name would refer to its value instead of the whole record. */
const DOCUMENT = identifier('@')

/** The SQL of a JSON object as text. */
export function documentColumn(members: readonly Member[]): string {
  return `(select row_to_json(${DOCUMENT})::text from ${membersOf(members)})`
}

/** The SQL of a JSON object as a value, for nesting. */
function documentValue(members: readonly Member[]): string {
  return `(select row_to_json(${DOCUMENT}) from ${membersOf(members)})`
}

export interface Member {
  readonly name: string
  readonly expression: string
}

function membersOf(members: readonly Member[]): string {
  const columns = members.map(({ name, expression }) => `${expression} as ${identifier(name)}`)
  return `(select ${columns.join(', ')}) ${DOCUMENT}`
}

/**
 * Projects records to JSON texts for clients; a page is one JSON array in UTF-8. PostgreSQL builds the text, so no digit is lost; computed fields are
 * appended.
 */
export function documentProjection(
  resource: Resource,
  links: Links,
  computations: Computations = NOTHING_COMPUTED,
  vary?: Vary,
): Projection<string, Uint8Array> {
  const { name, model, computed } = resource.spec
  const members = documentMembers({ ...resource.spec, resource: name, fields: resource.shown }, links)
  const projected = (column: DocumentColumn): Projection<string, Uint8Array> => {
    const whole = projectionOf({ model, members, computed }, { computations, column })
    const tag = `sha256(convert_to(${column(members)}, 'UTF8'))`
    const select = ({ members: wanted, expand }: Selection, narrow?: Narrow): Projection<string, Uint8Array> => {
      const isWanted = (member: string) => wanted?.has(member) ?? true
      const related = expandedMember(expand, tableAlias(model.table), { links, narrow })
      return projectionOf(
        {
          model,
          members: [...members.filter((member) => isWanted(member.name)), ...related],
          computed: computed.filter(({ field }) => isWanted(field.name)),
        },
        { computations, column },
      )
    }
    const unscoped = remember((selection: Selection) => select(selection))
    const selected = (selection: Selection, narrow?: Narrow) =>
      narrow && selection.expand.length > 0 ? select(selection, narrow) : unscoped(selection)
    const distinct = remember(({ name }: FieldSpec) =>
      projectionOf(
        { model, members: members.filter((member) => member.name === name), computed: [] },
        { computations, column: documentColumn },
      ),
    )
    return { ...whole, fields: model.fields, tag, selected, distinct }
  }
  const plain = projected(documentColumn)
  return vary ? { ...plain, within: (asking) => projected(vary(asking)) } : plain
}

/** The SQL of a document with some members, as text. */
export type DocumentColumn = (members: readonly Member[]) => string

/** Makes documents whose members depend on the record and the caller of a statement. */
export type Vary = (asking: Asking) => DocumentColumn

interface Document {
  readonly model: ModelSpec
  readonly members: readonly DocumentMember[]
  readonly computed: readonly ComputedSpec[]
}

interface Making {
  readonly computations: Computations
  readonly column: DocumentColumn
}

function projectionOf(
  { model, members, computed }: Document,
  { computations, column }: Making,
): Projection<string, Uint8Array> {
  const used = new Set([...members, ...computed.map(({ from }) => ({ fields: from }))].flatMap(({ fields }) => fields))
  // Which members a varied document has may depend on any field.
  const fields = column === documentColumn ? model.fields.filter((field) => used.has(field)) : model.fields
  const document = column(members)
  if (computed.length === 0) return { ...TEXTS, fields, select: [document] }
  const from = model.fields.filter((field) => computed.some((each) => each.from.includes(field)))
  const read = completed(computed, from, computations)
  return { fields, select: [document, ...from.map(cellColumn)], read, page: joinedPage(read) }
}

/** Each record is one JSON text, and so is a page. */
const TEXTS = { read: ([text]: readonly Cell[]) => text ?? 'null', page: textPage }

/** Appends the computed fields to the document in the first cell. */
function completed(computed: readonly ComputedSpec[], from: readonly FieldSpec[], computations: Computations) {
  const members = computed.map(({ field: { name }, from: wanted }) => {
    const compute = computations.get(name) ?? notComputed(name)
    const places = wanted.map((field) => [field, from.indexOf(field) + 1] as const)
    const valuesOf = (cells: readonly Cell[]): Row =>
      Object.fromEntries(places.map(([field, place]) => [field.name, readCell(field, cells[place])]))
    return (cells: readonly Cell[]) => `${JSON.stringify(name)}:${compute(valuesOf(cells))}`
  })
  return (cells: readonly Cell[]): string => {
    // A record that its writer may not see.
    if (cells[0] == null) return 'null'
    const stored = cells[0].slice(0, -1)
    return `${stored}${stored === '{' ? '' : ','}${members.map((member) => member(cells)).join()}}`
  }
}

function notComputed(name: string): () => never {
  return () => {
    throw new Error(`the field ${name} is not computed here`)
  }
}

interface DocumentMember extends Member {
  /** The fields that the member is computed from. */
  readonly fields: readonly FieldSpec[]
}

/** The form of records: as the resource exposes them, or nested in a record that refers to them. */
interface ProjectedResource
  extends Pick<ResourceSpec, 'model' | 'url' | 'links'>,
    Partial<Pick<ResourceSpec, 'addedId'>> {
  readonly resource: string
  readonly fields: readonly FieldSpec[]
}

function documentMembers(
  { resource, model, fields, url, addedId, links: linked }: ProjectedResource,
  links: Links,
): readonly DocumentMember[] {
  const members = fields.map((field): DocumentMember => {
    const route = linked[field.name]
    const stored = field.joined?.parts.map((part) => part.field) ?? [field]
    const value = () => (field.joined ? joinedValue(field.joined.parts) : wireColumn(field))
    return {
      name: field.name,
      fields: stored,
      expression: route === undefined ? value() : linkColumn(stored, route, links),
    }
  })
  return [
    ...(url
      ? [{ name: 'url', fields: model.key, expression: linkColumn(model.key, detailName(resource), links) }]
      : []),
    ...(addedId?.shown ? [{ name: ADDED_ID, fields: model.key, expression: idColumn(model) }] : []),
    ...members,
  ]
}

/** The SQL of the `id` that dialects add. */
function idColumn(model: ModelSpec): string {
  const lone = loneKey(model)
  return lone ? wireColumn(lone) : joinedColumn(model.key)
}

/** The SQL of the object for a relation over several fields; null if one of them is null. */
function joinedValue(parts: readonly RelationPart[]): string {
  const value = documentValue(parts.map(({ field, to }) => ({ name: to.name, expression: wireColumn(field) })))
  const missing = parts.filter(({ field }) => field.nullable).map(({ field }) => `${identifier(field.column)} is null`)
  return missing.length === 0 ? value : `case when not (${missing.join(' or ')}) then ${value} end`
}

/** The form of related records; `depth` makes table aliases unique. */
interface Related {
  readonly links: Links
  readonly narrow: Narrow | undefined
  readonly depth?: number
}

/** A member with the related records, by the names of their relations; empty if there are none. `owner` is the table that refers to them. */
function expandedMember(
  expansions: readonly ExpansionSpec[],
  owner: string,
  { links, narrow, depth = 1 }: Related,
): readonly DocumentMember[] {
  if (expansions.length === 0) return []
  const related = expansions.map((expansion): DocumentMember => {
    const { relation, model } = expansion
    // An alias that no table can have; a model may be related to itself.
    const alias = identifier(`@${depth}`)
    const members = [
      ...documentMembers(expansion, links),
      ...expandedMember(expansion.expand, alias, { links, narrow, depth: depth + 1 }),
    ]
    const found = `${refersSql(relation, owner, alias)}${narrow?.(expansion, alias) ?? ''}`
    const one = isOwnTable(model) ? '' : ' limit 1'
    const expression = `(select ${documentValue(members)} from ${tableSql(model.table)} ${alias} where ${found}${one})`
    return { name: relation.name, fields: relation.parts.map(({ field }) => field), expression }
  })
  return [{ name: EXPANDED, fields: related.flatMap((member) => member.fields), expression: documentValue(related) }]
}
