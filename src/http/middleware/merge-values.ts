import { setByCode } from '../../resource/access.js'
import type { Row } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'

/**
 * Merges changes made by code into the values of a request. Changed values are validated; undefined ones are ignored.
 * @throws Problem `validation` for an invalid value, Error for a field that code cannot set
 */
export function mergeValues(resource: Resource, values: Row, changes: object): Row {
  const own = Object.entries(changes).filter(([name, value]) => value !== undefined && value !== values[name])
  if (own.length === 0) return values
  const merged = { ...values, ...resource.checkValues(Object.fromEntries(own)) }
  return resource.access
    ? setByCode(
        merged,
        own.map(([name]) => name),
      )
    : merged
}
