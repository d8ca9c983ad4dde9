import type { JsonBody } from '../../foundation/json-body.js'
import type { FieldSpec } from '../../config/spec.js'
import { type FieldError, Problem, type ProblemType } from '../../foundation/problem.js'
import { invalid } from './body.js'
import type { Id, Row } from '../plan.js'
import type { Resource } from '../resource.js'

/** An update of one record among several. */
export interface Change {
  readonly id: Id
  readonly row: Row
}

/**
 * Parses the items of a body as new records. Errors name the index of their item: `0.title`.
 * @throws Problem `validation` with every error
 */
export function parseCreations(resource: Resource, items: readonly JsonBody[]): readonly Row[] {
  const errors: FieldError[] = []
  const rows = items.flatMap((item, index) => attempt(errors, index, () => resource.parseBody(item, 'create')))
  if (errors.length > 0) throw invalid(errors)
  return rows
}

/**
 * Parses the items of a body as updates of different records, which they name by primary key.
 * @throws Problem `validation` with every error
 */
export function parseChanges(resource: Resource, items: readonly JsonBody[]): readonly Change[] {
  const { key } = resource
  const errors: FieldError[] = []
  const indexes = new Map<string, number>()
  const changes = items.flatMap((item, index) => {
    const ofKey: FieldError[] = []
    const ofBody: FieldError[] = []
    const ids = attempt(ofKey, index, () => resource.parseKey(item))
    const rows = attempt(ofBody, index, () => resource.parseBody(item, 'update'))
    // The key is a part of the body, too.
    errors.push(...ofKey, ...ofBody.filter(({ field }) => !ofKey.some((known) => known.field === field)))
    return ids.flatMap((id) => {
      const text = key.text(id)
      const earlier = indexes.get(text)
      if (earlier !== undefined) errors.push(...sameKey(resource, index, earlier))
      indexes.set(text, index)
      return rows.map((row) => ({ id, row }))
    })
  })
  if (errors.length > 0) throw invalid(errors)
  return changes
}

/** The errors of an item whose key an earlier item has. */
export function sameKey({ key }: Resource, index: number, earlier: number): readonly FieldError[] {
  return key.fields.map(({ name, label }) => ({
    field: `${index}.${name}`,
    message: `${label} is the same as in item ${earlier}`,
  }))
}

/** Returns the result in an array, or an empty array after adding the errors to `errors`. */
function attempt<Value>(errors: FieldError[], index: number, read: () => Value): readonly Value[] {
  try {
    return [read()]
  } catch (error) {
    if (!(error instanceof Problem) || error.type !== 'validation') throw error
    errors.push(...atIndex(error.errors, index))
    return []
  }
}

/**
 * Runs work for one item.
 * @param key the fields that identify an existing record
 * @throws the error of `work`; the errors of a Problem are prefixed with the index of the item
 */
export async function doAtIndex<Result>(
  index: number,
  work: () => Promise<Result>,
  key?: readonly FieldSpec[],
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw withIndex(error, index, key)
  }
}

/** Problems that concern a record rather than the request or the server. */
const ABOUT_A_RECORD: ReadonlySet<ProblemType> = new Set(['validation', 'forbidden', 'conflict'])

/** Prefixes the errors of a Problem with the index of the item. If no field is to blame for it, the fields of the key have its message. */
export function withIndex(error: unknown, index: number, key: readonly FieldSpec[] = []): unknown {
  if (!(error instanceof Problem)) return error
  const { type, message, headers, cause } = error
  const ofKey = ABOUT_A_RECORD.has(type) ? key.map(({ name }) => ({ field: name, message })) : []
  const errors = error.errors.length > 0 ? error.errors : ofKey
  return errors.length === 0 ? error : new Problem(type, message, { errors: atIndex(errors, index), headers, cause })
}

function atIndex(errors: readonly FieldError[], index: number): readonly FieldError[] {
  return errors.map(({ field, message }) => ({ field: `${index}.${field}`, message }))
}
