import type { JsonBody } from '../json-body.js'
import { type Fault, Problem } from '../problem.js'
import { invalid } from './body.js'
import type { Id, Row } from './plan.js'
import type { Resource } from './resource.js'

/** A change of one record among others. */
export interface Change {
  readonly id: Id
  readonly row: Row
}

/**
 * The records that the items of a body make. A fault is named by the place of its item, from 0: `0.title`.
 * @throws Problem `validation` with every fault
 */
export function parseCreations(resource: Resource, items: readonly JsonBody[]): readonly Row[] {
  const faults: Fault[] = []
  const rows = items.flatMap((item, place) => attempt(faults, place, () => resource.parseBody(item, 'create')))
  if (faults.length > 0) throw invalid(faults)
  return rows
}

/**
 * The changes that the items of a body mean, each of another record, which it names by the primary key.
 * @throws Problem `validation` with every fault
 */
export function parseChanges(resource: Resource, items: readonly JsonBody[]): readonly Change[] {
  const { name, label } = resource.spec.model.primaryKey
  const faults: Fault[] = []
  const places = new Map<string, number>()
  const changes = items.flatMap((item, place) => {
    const ids = attempt(faults, place, () => resource.parseKey(item))
    const rows = attempt(faults, place, () => resource.parseBody(item, 'update'))
    return ids.flatMap((id) => {
      const first = places.get(String(id))
      if (first !== undefined)
        faults.push({ field: `${place}.${name}`, message: `${label} is that of item ${first}, too` })
      places.set(String(id), place)
      return rows.map((row) => ({ id, row }))
    })
  })
  if (faults.length > 0) throw invalid(faults)
  return changes
}

/** What was read, or nothing, and its faults. */
function attempt<Value>(faults: Fault[], place: number, read: () => Value): readonly Value[] {
  try {
    return [read()]
  } catch (error) {
    if (!(error instanceof Problem) || error.type !== 'validation') throw error
    faults.push(...atPlace(error.faults, place))
    return []
  }
}

/** Does what is to be done with one item. @throws what `work` throws, with the faults of a Problem named by the place of the item */
export async function doAt<Result>(place: number, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw placed(error, place)
  }
}

/** What was thrown for one item, with the faults of a Problem named by the place of the item. */
export function placed(error: unknown, place: number): unknown {
  if (!(error instanceof Problem) || error.faults.length === 0) return error
  const { type, message, faults, headers } = error
  return new Problem(type, message, { faults: atPlace(faults, place), headers, cause: error })
}

function atPlace(faults: readonly Fault[], place: number): readonly Fault[] {
  return faults.map(({ field, message }) => ({ field: `${place}.${field}`, message }))
}
