import type { ModelSpec } from '../../config/spec.js'
import { codeOf, driverError, routineOf } from './meanings.js'

const UNTRANSLATABLE = '22P05'
const OUT_OF_RANGE = new Set(['22007', '22008', '22015'])
/** The end of the message of 22003 for a column type of a smaller range than a field type that it serves; others only a handler can exceed. */
const SMALL_TYPE = /\b(?:smallint|real)$/
/** In an unmanaged table, a `bigint` can serve an `integer`. */
const SMALL_TYPE_IF_UNMANAGED = /\b(?:smallint|integer|real)$/

/**
 * Returns the number of the parameter whose value is outside of the range of its type, or has a character that the database's encoding lacks.
 * Undefined for other errors, also if a view, a function or a trigger computed such a value: only for a parameter does the server report nothing but
 * its number as the context.
 */
export function misfitParameterOf(error: unknown, { managed }: Pick<ModelSpec, 'managed'>): number | undefined {
  const code = codeOf(error)
  const isMisfit =
    code === UNTRANSLATABLE ||
    OUT_OF_RANGE.has(code) ||
    (code === '22003' && (managed ? SMALL_TYPE : SMALL_TYPE_IF_UNMANAGED).test(driverError(error)?.message ?? '')) ||
    (code === '22P02' && routineOf(error) === 'enum_in')
  return isMisfit ? parameterOf(error) : undefined
}

/** Returns the number of the parameter whose value the server could not convert to its type. The type can be a domain, whose rules the value breaks. */
export function parameterOf(error: unknown): number | undefined {
  const number = /^[^:$\n]*\$(\d+)(?: = [^\n]*)?$/.exec(String(driverError(error)?.where))?.[1]
  return number === undefined ? undefined : Number(number)
}
