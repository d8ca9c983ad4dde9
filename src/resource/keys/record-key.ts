import { type FieldSpec, isEscaped, type ModelSpec } from '../../config/model-spec.js'
import { ADDED_ID } from '../../config/core-spec.js'
import type { ResourceSpec } from '../../config/spec.js'
import { type Cell, readCell, writeCell } from '../../fields/cell.js'
import { bareObject } from '../../foundation/bare-object.js'
import { fail } from '../../foundation/fail.js'
import { type FieldError, Problem } from '../../foundation/problem.js'
import { remember } from '../../foundation/remember.js'
import { decodeSegment, encodeSegment } from './path-segment.js'
import type { Id, Row } from '../plan.js'

/**
 * The primary key of a model. The id of a record is the value of the key's field, or an object with the values of all of its fields. In a path, each
 * part is a segment.
 */
export interface RecordKey {
  readonly fields: readonly FieldSpec[]
  /** For messages: `id`, or `order, product`. */
  readonly name: string
  /** The names of the path parameters, in order. */
  readonly parameters: readonly string[]
  /** Parses the end of a record's path, such as `5` or `10248/11`; undefined if it is not in canonical form. */
  parse(path: string): Id | undefined
  /** Parses path parameters, as they appear in the path; undefined if one is not in canonical form. */
  parseParams(params: Readonly<Record<string, string>>): Id | undefined
  /** The path parameters of a record, not encoded. */
  params(id: Id): Readonly<Record<string, string>>
  /** The end of the record's path. Different ids have different texts. */
  text(id: Id): string
  /** The values for a statement, one for each field. */
  write(id: Id): readonly string[]
  /** The id from the first cells of a row. */
  read(cells: readonly Cell[]): Id
  /** The id of a record whose values are known. */
  of(row: Row): Id
  /**
   * Leaves the key out of an update, because it cannot change.
   * @throws Problem `validation` if the update has another value
   */
  without(id: Id, row: Row): Row
}

/** The key of a model. */
export const recordKey: (model: ModelSpec) => RecordKey = remember(compileKey)

function compileKey({ key: fields }: Pick<ModelSpec, 'key'>): RecordKey {
  const [first, ...others] = fields
  const isLone = first !== undefined && others.length === 0
  const valueOf = (id: Id, field: FieldSpec): unknown => (isLone ? id : (id as Row)[field.name])
  const toId = (values: readonly unknown[]): Id =>
    isLone ? (values[0] as Id) : Object.freeze(Object.fromEntries(fields.map(({ name }, at) => [name, values[at]])))
  const parse = (segments: readonly string[]): Id | undefined => {
    if (segments.length !== fields.length || fields.length === 0) return undefined
    const values = fields.map((field, at) => parseSegment(field, segments[at] ?? ''))
    return values.includes(undefined) ? undefined : toId(values)
  }

  return Object.freeze<RecordKey>({
    fields,
    name: fields.map(({ name }) => name).join(', '),
    parameters: fields.map(({ name }) => name),
    parse: (path) => parse(isLone ? [path] : path.split('/')),
    parseParams: (params) => parse(fields.map(({ name }) => params[name] ?? '')),
    params(id) {
      const params = bareObject<string>()
      for (const field of fields) params[field.name] = String(valueOf(id, field))
      return params
    },
    text: (id) => fields.map((field) => encodeSegment(String(valueOf(id, field))) ?? '').join('/'),
    write: (id) => fields.map((field) => writeCell(field, valueOf(id, field)) ?? fail(`a key has no ${field.name}`)),
    read: (cells) => toId(fields.map((field, at) => readCell(field, cells[at]))),
    of: (row) => toId(fields.map(({ name }) => row[name])),
    without(id, row) {
      const given = fields.filter(({ name }) => Object.hasOwn(row, name))
      if (given.length === 0) return row
      const errors = given.flatMap((field): readonly FieldError[] =>
        writeCell(field, row[field.name]) === writeCell(field, valueOf(id, field))
          ? []
          : [{ field: field.name, message: `${field.label} is part of the record's address and cannot be changed` }],
      )
      if (errors.length > 0) throw new Problem('validation', errors[0]?.message, { errors })
      const others = { ...row }
      for (const { name } of given) Reflect.deleteProperty(others, name)
      return others
    },
  })
}

/** The key of the records of a resource, in the form of its paths. */
export function keyOf({ model, addedId }: Pick<ResourceSpec, 'model' | 'addedId'>): RecordKey {
  return addedId === undefined || model.key.length === 1 ? recordKey(model) : joinedKey(model)
}

const joinedKey = remember((model: ModelSpec): RecordKey => {
  const key = recordKey(model)
  const parse = (segment: string): Id | undefined => {
    const parts = splitKey(decodeSegment(segment) ?? '')
    return parts && key.parse(parts.map((part) => encodeSegment(part) ?? '').join('/'))
  }
  const joined = (id: Id): string => joinKey(Object.values(key.params(id)))
  return Object.freeze<RecordKey>({
    ...key,
    name: ADDED_ID,
    parameters: [ADDED_ID],
    parse,
    parseParams: ({ [ADDED_ID]: segment = '' }) => parse(segment),
    params: (id) => ({ [ADDED_ID]: joined(id) }),
    text: (id) => encodeSegment(joined(id)) ?? '',
  })
})

/** Joins the parts of a key to one text; different keys have different texts. */
export function joinKey(parts: readonly string[]): string {
  return parts.map((part) => part.replaceAll('%', '%25').replaceAll('~', '%7E')).join('~')
}

/** Splits a text into the parts of a key; undefined if `joinKey` does not return it. */
export function splitKey(text: string): readonly string[] | undefined {
  const parts = text.split('~').map((part) => part.replaceAll('%7E', '~').replaceAll('%25', '%'))
  return joinKey(parts) === text ? parts : undefined
}

/** Parses a segment of a path as the value of a key's field; returns undefined if it is not in canonical form. */
export function parseSegment(field: Pick<FieldSpec, 'type' | 'options'>, segment: string): unknown {
  if (!isEscaped(field)) return field.type.parse(segment, field.options)
  const text = decodeSegment(segment)
  const value = text === undefined ? undefined : field.type.parse(text, field.options)
  return value !== undefined && String(value) === text ? value : undefined
}
