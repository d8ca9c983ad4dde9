import { failedConversionOf, toProblem } from './errors.js'
import { codeOf, driverError, isAgainstPolicy, isSqlState, routineOf } from './meanings.js'
import { parameterOf } from './misfits.js'

/** A foreign key of the table itself is checked after `returning`; the statements of a trigger have the trigger as their context. */
const REFERENCES = new Set(['23503', '23001'])
/** A lost connection, a transaction to be repeated, a lack of resources, a cancelled statement. */
const UNRELATED = /^(?:08|40|53|57|58)/
/** A rejected row or value, or a row that is too large for an index, with 09 and XX, which triggers in C report. */
const REJECTED = /^(?:09|2[123]|38|39|44|54|P0|XX)/
/** The check of a domain can have a function that reads records; no other rule of a parameter does. */
const CHECK = '23514'
/** A line of the context that names a function; PostgreSQL's own statements for foreign keys have none. */
const FUNCTION = /\bPL\/|\bSQL function\b/

/** Whether a statement failed for a reason that has nothing to do with rows. */
export function isUnrelated(error: unknown): boolean {
  const cause = driverError(error)
  if (cause === undefined || !isSqlState(cause)) return true
  return routineOf(error) !== 'exec_stmt_raise' && UNRELATED.test(codeOf(error))
}

/**
 * Whether a constraint, a policy or a trigger has rejected a row before the conditions of grants, in `returning`, were evaluated: it may have done so
 * because of records, or fields, that the caller does not see. A trigger can fail, or raise an error, with any code.
 */
export function mayTell(error: unknown): boolean {
  const cause = driverError(error)
  const code = codeOf(error)
  if (cause === undefined || isUnrelated(error) || (parameterOf(error) !== undefined && code !== CHECK)) return false
  if (routineOf(error) === 'exec_stmt_raise' || FUNCTION.test(String(cause.where))) return true
  if (REFERENCES.has(code) || failedConversionOf(error) !== undefined) return false
  return REJECTED.test(code) || isAgainstPolicy(error)
}

/** The reason to run a transaction again after a failed write; see `isTransient`. */
export function toRepeat(cause: unknown): Error {
  const reason = new Error('a write failed for a reason that nothing known of its table explains', { cause })
  return toProblem(Object.assign(reason, { code: '40001' }))
}
