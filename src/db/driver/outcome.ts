import { types } from 'node:util'
import { Problem } from '../../problem.js'
import { isLost, routineOf, toProblem } from './errors.js'

/** The message of an error: the server was silent, after it was asked to cancel too. */
export const SILENCE = 'Query read timeout'
/** The message of an error: a commit is done, and nobody knows whether on a standby, so that a failover may lose it. */
export const NOT_REPLICATED = 'the commit was not replicated before it was cancelled'

const DETAIL =
  'The database did not say whether the change was made. Read the record to find out, or send the request again with its Idempotency-Key'

/** Where the server ends a session between two steps of a statement, and never after a commit. */
const BEFORE_COMMIT = 'ProcessInterrupts'

/** Whether nobody knows what became of a statement after which it would have been committed: the server may have done it and could not say so. */
export function isDoubtful(error: unknown): boolean {
  if (error instanceof Problem || !types.isNativeError(error)) return false
  if (error.message === SILENCE || error.message === NOT_REPLICATED) return true
  return isLost(error) && routineOf(error) !== BEFORE_COMMIT
}

/** The failure of a commit, or of a statement that is its own transaction, as a request may see it. */
export function toOutcome(error: unknown): unknown {
  return isDoubtful(error) ? outcomeUnknown(error) : toProblem(error)
}

/** Nobody knows whether a change was made. There is no `Retry-After`: what is repeated blindly may be done twice. */
export function outcomeUnknown(cause: unknown, detail = DETAIL): Problem {
  return new Problem('outcome_unknown', detail, { cause })
}
