import { types } from 'node:util'
import { Problem } from '../../foundation/problem.js'
import { isLost, toProblem } from './errors.js'
import { routineOf } from './meanings.js'

/** The error message if the server did not respond, even to a cancel request. */
export const SILENCE = 'Query read timeout'
/** The error message if a commit succeeded but may not have reached a standby, so that a failover may lose it. */
export const NOT_REPLICATED = 'the commit was not replicated before it was cancelled'

const DETAIL =
  'The database did not say whether the change was made. Read the record to find out, or send the request again with its Idempotency-Key'

/** The server function that ends a session between two steps of a statement, and never after a commit. */
const BEFORE_COMMIT = 'ProcessInterrupts'

/** Whether the outcome of a committing statement is unknown: the server may have committed without being able to report it. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof Problem || !types.isNativeError(error)) return false
  if (error.message === SILENCE || error.message === NOT_REPLICATED) return true
  return isLost(error) && routineOf(error) !== BEFORE_COMMIT
}

/** Converts the failure of a commit, or of a statement that is its own transaction, to an error for clients. */
export function toOutcome(error: unknown): unknown {
  return isOutcomeUnknown(error) ? outcomeUnknown(error) : toProblem(error)
}

/** The problem for a change with an unknown outcome. It has no `Retry-After`, because a blind retry may apply the change twice. */
export function outcomeUnknown(cause: unknown, detail = DETAIL): Problem {
  return new Problem('outcome_unknown', detail, { cause })
}
