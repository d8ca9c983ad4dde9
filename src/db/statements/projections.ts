import { tableAlias, tableSql } from '../../fields/table-name.js'
import {
  type ComputedSpec,
  EXPANDED,
  type ExpansionSpec,
  type RelationPart,
  type FieldSpec,
  isEscaped,
  type ModelSpec,
  type ResourceSpec,
} from '../../config/spec.js'
import { escapeWord } from '../../resource/path-segment.js'
import { identifier, literal } from '../../fields/sql-literal.js'
import { type Cell, readCell } from '../../fields/cell.js'
import { type Computations, NOTHING_COMPUTED } from '../../resource/computed.js'
import { detailName, type Links } from '../../resource/links.js'
import { remember } from '../../remember.js'
import type { ListPlan, Row, Selection } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import { joinedPage, type PageShape, rowPage, textPage } from './page-shape.js'

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
  /** Narrows the projection to the fields that a client requests; undefined if it is always complete. `narrow` belongs to one statement. */
  readonly selected?: (selection: Selection, narrow?: Narrow) => Projection<Item, Items>
  /** The projection of a field's distinct values. */
  readonly distinct?: (field: FieldSpec) => Projection<Item, Items>
}

/** Returns the scope conditions for a table under an alias; empty if it has no scope. */
export type Narrow = (table: string, name: string) => string

/** Returns the projection for a selection, or the complete one. */
export function projectionFor<Item, Items>(
  form: Projection<Item, Items>,
  selection: Selection | undefined,
  narrow?: Narrow,
): Projection<Item, Items> {
  return (selection && form.selected?.(selection, narrow)) ?? form
}

/** Returns the projection for the records of a list. */
export function listProjection<Item, Items>(
  form: Projection<Item, Items>,
  { selection, distinct }: ListPlan,
  narrow?: Narrow,
): Projection<Item, Items> {
  return (distinct && form.distinct?.(distinct)) ?? projectionFor(form, selection, narrow)
}

/** The select expression of a column in its wire form. */
export function wireColumn(field: FieldSpec): string {
  const column = identifier(field.column)
  return field.type.select?.(column, field.options) ?? column
}

/** The column as text, as `readCell` and files of records expect it. */
export function cellColumn(field: FieldSpec): string {
  return `(${wireColumn(field)})::text`
}

/** The columns of a model's key as `readCell` expects them. */
export function keyTexts({ key }: Pick<ModelSpec, 'key'>): readonly string[] {
  return key.map(cellColumn)
}

/** Projects records to rows for handlers: every stored field by name, including private ones. */
export function rowProjection({ spec: { model } }: Resource): Projection<Row, readonly Row[]> {
  return { ...rowsOf(model.fields), distinct: remember((field) => rowsOf([field])) }
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

interface Member {
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
): Projection<string, Uint8Array> {
  const { name, model, computed } = resource.spec
  const members = documentMembers({ ...resource.spec, resource: name, fields: resource.shown }, links)
  const whole = projectionOf({ model, members, computed }, computations)
  const tag = `sha256(convert_to(${documentColumn(members)}, 'UTF8'))`
  const select = ({ members: wanted, expand }: Selection, narrow?: Narrow): Projection<string, Uint8Array> => {
    const isWanted = (member: string) => wanted?.has(member) ?? true
    const related = expandedMember(expand, tableAlias(model.table), { links, narrow })
    return projectionOf(
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

function projectionOf(
  { model, members, computed }: Document,
  computations: Computations,
): Projection<string, Uint8Array> {
  const used = new Set([...members, ...computed.map(({ from }) => ({ fields: from }))].flatMap(({ fields }) => fields))
  const fields = model.fields.filter((field) => used.has(field))
  const document = documentColumn(members)
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
  /** The fields that the member is computed from. */
  readonly fields: readonly FieldSpec[]
}

/** How records appear: as the resource exposes them, or nested in a record that refers to them. */
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
    const stored = field.joined?.parts.map((part) => part.field) ?? [field]
    const value = () => (field.joined ? joinedValue(field.joined.parts) : wireColumn(field))
    return {
      name: field.name,
      fields: stored,
      expression: route === undefined ? value() : linkColumn(stored, route, links),
    }
  })
  if (!url) return members
  const expression = linkColumn(model.key, detailName(resource), links)
  return [{ name: 'url', fields: model.key, expression }, ...members]
}

/** The SQL of the object that a relation over several fields is; null if one of them is. */
function joinedValue(parts: readonly RelationPart[]): string {
  const value = documentValue(parts.map(({ field, to }) => ({ name: to.name, expression: wireColumn(field) })))
  const missing = parts.filter(({ field }) => field.nullable).map(({ field }) => `${identifier(field.column)} is null`)
  return missing.length === 0 ? value : `case when not (${missing.join(' or ')}) then ${value} end`
}

/** How related records appear; `depth` makes table aliases unique. */
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
    const key = relation.parts.map(
      ({ field, to }) => `${alias}.${identifier(to.column)} = ${owner}.${identifier(field.column)}`,
    )
    const found = `${key.join(' and ')}${narrow?.(model.table, alias) ?? ''}`
    const expression = `(select ${documentValue(members)} from ${tableSql(model.table)} ${alias} where ${found})`
    return { name: relation.name, fields: relation.parts.map(({ field }) => field), expression }
  })
  return [{ name: EXPANDED, fields: related.flatMap((member) => member.fields), expression: documentValue(related) }]
}

/** The SQL of a hyperlink to a record, from the columns of its key. */
function linkColumn(key: readonly FieldSpec[], route: string, links: Links): string {
  const [start = '', ...others] = links.template(route) ?? []
  if (others.length !== key.length) throw new Error(`no route named ${route} has ${key.length} parameters`)
  const words = links.words(route)
  const parts = key.flatMap((field, at) => [segmentColumn(field, words[at] ?? []), literal(others[at] ?? '')])
  return [literal(start), ...parts].join(' || ')
}

/** The SQL of a key's value as one segment of a path, which has other meanings for these words. */
function segmentColumn(field: FieldSpec, words: readonly string[]): string {
  return isEscaped(field) ? escapedText(cellColumn(field), words) : identifier(field.column)
}

const PLAIN = "A-Za-z0-9_.!~*'()-"

/** The SQL of `encodeSegment` and `escapeWord` for a text. */
function escapedText(text: string, words: readonly string[]): string {
  const hex = `regexp_replace(upper(encode(convert_to(c, 'UTF8'), 'hex')), '(..)', '%\\1', 'g')`
  const escaped = `case when c ~ ${literal(`^[${PLAIN}]$`)} then c else ${hex} end`
  const letters = `regexp_split_to_table(t, '') with ordinality as l(c, n)`
  const spelled = words.map((word) => `when t = ${literal(word)} then ${literal(escapeWord(word))} `).join('')
  return `(select case ${spelled}when t in ('.', '..') then replace(t, '.', '%2E')
    when t ~ ${literal(`^[${PLAIN}]*$`)} then t else (select string_agg(${escaped}, '' order by n) from ${letters}) end from (select ${text} as t) s)`
}
