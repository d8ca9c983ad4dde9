import type { JsonBody } from '../json-body.js'
import type { FieldSpec } from '../config/spec.js'
import { type FieldError, Problem, type ProblemType } from '../problem.js'
import { invalid } from './body.js'
import type { Id, Row } from './plan.js'
import type { Resource } from './resource.js'

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
  const rows = items.flatMap((item, place) => attempt(errors, place, () => resource.parseBody(item, 'create')))
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
  const places = new Map<string, number>()
  const changes = items.flatMap((item, place) => {
    const ids = attempt(errors, place, () => resource.parseKey(item))
    const rows = attempt(errors, place, () => resource.parseBody(item, 'update'))
    return ids.flatMap((id) => {
      const text = key.text(id)
      const first = places.get(text)
      if (first !== undefined)
        errors.push(
          ...key.fields.map(({ name, label }) => ({
            field: `${place}.${name}`,
            message: `${label} is the same as in item ${first}`,
          })),
        )
      places.set(text, place)
      return rows.map((row) => ({ id, row }))
    })
  })
  if (errors.length > 0) throw invalid(errors)
  return changes
}

/** Returns the result in an array, or an empty array after adding the errors to `errors`. */
function attempt<Value>(errors: FieldError[], place: number, read: () => Value): readonly Value[] {
  try {
    return [read()]
  } catch (error) {
    if (!(error instanceof Problem) || error.type !== 'validation') throw error
    errors.push(...atPlace(error.errors, place))
    return []
  }
}

/**
 * Runs work for one item.
 * @param key the fields that identify an existing record
 * @throws the error of `work`; the errors of a Problem are prefixed with the index of the item
 */
export async function doAt<Result>(
  place: number,
  work: () => Promise<Result>,
  key?: readonly FieldSpec[],
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw placed(error, place, key)
  }
}

/** Problems that concern a record rather than the request or the server. */
const ABOUT_A_RECORD: ReadonlySet<ProblemType> = new Set(['validation', 'forbidden', 'conflict'])

/** Prefixes the errors of a Problem with the index of the item. If no field is to blame for it, the fields of the key have its message. */
export function placed(error: unknown, place: number, key: readonly FieldSpec[] = []): unknown {
  if (!(error instanceof Problem)) return error
  const { type, message, headers } = error
  const ofKey = ABOUT_A_RECORD.has(type) ? key.map(({ name }) => ({ field: name, message })) : []
  const errors = error.errors.length > 0 ? error.errors : ofKey
  return errors.length === 0
    ? error
    : new Problem(type, message, { errors: atPlace(errors, place), headers, cause: error })
}

function atPlace(errors: readonly FieldError[], place: number): readonly FieldError[] {
  return errors.map(({ field, message }) => ({ field: `${place}.${field}`, message }))
}
