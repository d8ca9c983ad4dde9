import type { ModelSpec } from '../../config/spec.js'
import { type FieldError, Problem } from '../../foundation/problem.js'
import {
  type DriverError,
  errorsOf,
  type ConstraintErrors,
  isInOtherSchema,
  referenceName,
  type Referrers,
  isStillReferredTo,
  messageOf,
  missingKey,
  NOT_NULL,
  STILL_REFERRED_TO,
  type NamedKey,
  namedKey,
  referredTable,
} from './field-errors.js'
import {
  codeOf,
  CONFLICT,
  driverError,
  isAgainstPolicy,
  isOfFunction,
  isSqlState,
  type Meaning,
  meaningOf,
  misfit,
  mismatch,
  oversized,
  rejected,
  routineOf,
  unavailable,
  unknownCharacter,
} from './meanings.js'
import { misfitParameterOf, parameterOf } from './misfits.js'
import { DatabaseRejected } from '../database.js'

const RETRY = { 'Retry-After': '1' }

/** Whether the connection must not be used again after this error. */
export function isBroken(error: unknown): boolean {
  const cause = driverError(error)
  return cause === undefined || !isSqlState(cause) || meaningOf(cause)?.lost === true || isStale(error)
}

/** Whether the connection was lost and the outcome is unknown. */
export function isLost(error: unknown): boolean {
  const cause = driverError(error)
  return cause !== undefined && meaningOf(cause)?.lost === true
}

/** The same also for errors of knex, which puts its statement in front of the driver's message. */
export function isConnectionLost(error: unknown): boolean {
  return isLost(error) || / - Connection terminated unexpectedly$/.test(driverError(error)?.message ?? '')
}

/** Whether the statement certainly did not run, because its connection was already gone. */
export function isUnsent(error: unknown): boolean {
  const cause = driverError(error)
  return cause !== undefined && meaningOf(cause)?.unsent === true
}

/** Whether a value did not fit. */
function isDataException(error: unknown): boolean {
  return codeOf(error).startsWith('22')
}

/** Whether a prepared statement no longer fits: a table was altered, or a pooler mixed up sessions. */
export function isStale(error: unknown): boolean {
  const code = codeOf(error)
  const routine = routineOf(error)
  return code === '26000' || code === '42P05' || (code === '0A000' && routine === 'RevalidateCachedQuery')
}

/** Whether a request failed because a table differs from its model. */
export function isMismatch(error: unknown): boolean {
  return error instanceof Problem && error.message === mismatch.detail
}

/** A change that the database rejected, as the log describes it. */
interface Rejection {
  readonly msg: string
  readonly code: string
  readonly table: unknown
  readonly constraint: unknown
  /** The function, with the line, or the statement that failed last. */
  readonly where: string | undefined
}

/**
 * Describes a rejected change whose response does not say why, because a trigger, a rule or a constraint of another table is the cause. The text may
 * contain values, so it is for the log only. Returns undefined for other problems.
 */
export function rejectionOf(problem: Problem): Rejection | undefined {
  const cause = driverError(problem.cause)
  const isUnexplained = problem.message === CONFLICT || problem.message === rejected.detail
  if (!cause || !isUnexplained || problem.errors.length > 0) return undefined
  const { message, table, constraint, where } = cause
  // The first lines can be statements with values in them.
  const last = typeof where === 'string' ? where.split('\n').at(-1) : undefined
  return { msg: `the database rejected the change: ${message}`, code: codeOf(cause), table, constraint, where: last }
}

/** The response to requests for a model whose table differs. `cause` is the error of this request that shows it, if there is one. */
export function mismatchProblem(cause?: Error): Problem {
  return new Problem(mismatch.type, mismatch.detail, { headers: RETRY, cause })
}

/** Whether the user of the database lacks a privilege, such as the ownership of a table. */
export function lacksPrivilege(error: unknown): boolean {
  return codeOf(error) === '42501' && !isAgainstPolicy(error)
}

/** Whether rows cannot be locked: the user of the database may not update them, or they are groups, outer joins or the like. */
export function cannotLock(error: unknown): boolean {
  const code = codeOf(error)
  const cause = driverError(error)
  // A trigger may raise these codes, or its statements may fail with them.
  if (cause === undefined || isOfFunction(cause)) return false
  return lacksPrivilege(error) || code === '42809' || (code === '0A000' && !isStale(error))
}

/** Whether the transaction may succeed if it is run again. */
export function isTransient(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error)) || isStale(error)
}

/** Converts an error of the driver to the Problem that a client may see; returns any other error unchanged. */
export function toProblem<E>(error: E, constraintErrors?: ConstraintErrors): E | Problem {
  if (error instanceof DatabaseRejected) return problem(unavailable, error)
  if (error instanceof Problem && error.type === 'outcome_unknown') return error
  const cause = driverError(error)
  const meaning = cause && (meaningOfNull(cause, constraintErrors) ?? meaningOf(cause))
  if (!meaning) return error
  const errors = constraintErrors ? errorsOf(cause, constraintErrors) : []
  const detail = constraintErrors && messageOf(cause, constraintErrors)
  if (detail !== undefined) return problem({ ...meaning, detail }, cause, errors)
  if (error instanceof Problem && error.type === meaning.type && errors.length === 0) return error
  return problem(meaning, cause, errors)
}

/**
 * Finds the constraints that explain a rejected change: the constraints of the table that the server names. If they have no message, it may belong to
 * the model whose record is still referenced, or to the model whose partition the server names.
 */
export function explaining(
  error: unknown,
  constraintErrors: ReadonlyMap<string, ConstraintErrors>,
): ConstraintErrors | undefined {
  const cause = driverError(error)
  if (!cause) return undefined
  const own = constraintErrors.get(String(cause.table))
  if (own && (messageOf(cause, own) !== undefined || !isStillReferredTo(cause))) return own
  return [...constraintErrors.values()].find((each) => messageOf(cause, each) !== undefined) ?? own
}

/**
 * The meaning of a rejected null that no field explains. Either the change wrote a record of another model, by a foreign key or a trigger, or the table
 * differs from its model. Undefined for other errors.
 */
function meaningOfNull(cause: DriverError, constraintErrors: ConstraintErrors | undefined): Meaning | undefined {
  // A parameter has been null for a domain that takes none.
  if (cause.code !== NOT_NULL || constraintErrors === undefined || parameterOf(cause) !== undefined) return undefined
  if (constraintErrors.isOfOtherModel(String(cause.table))) return rejected
  return constraintErrors.required.has(String(cause.column)) ? undefined : mismatch
}

/** Returns the columns and values of a duplicate key, as the server reports them; undefined for other errors, and if the server gives no details. */
export function takenKeyOf(error: unknown): NamedKey | undefined {
  if (codeOf(error) !== '23505') return undefined
  return namedKey(driverError(error)?.detail)
}

/** Returns the columns and values of a reference to a record that does not exist, as `takenKeyOf` does. */
export function missingKeyOf(error: unknown): NamedKey | undefined {
  return STILL_REFERRED_TO.has(codeOf(error)) ? missingKey(driverError(error)?.detail) : undefined
}

/** Returns the key of the record of a table that could not be deleted because others refer to it, as `takenKeyOf` does. */
export function referredKeyOf(error: unknown, table: string): NamedKey | undefined {
  const cause = driverError(error)
  if (!cause || !isStillReferredTo(cause) || referredTable(cause.message) !== table) return undefined
  return namedKey(cause.detail)
}

/**
 * Returns the message about a text that is not an integer; undefined for other errors, such as that of an enum, whose text is the client's. The
 * language of the message, and so its quotes, vary.
 */
export function failedConversionOf(error: unknown): string | undefined {
  const isInteger = String(routineOf(error)).startsWith('pg_strtoint32')
  return codeOf(error) === '22P02' && isInteger ? driverError(error)?.message : undefined
}

/** Converts the error of deleting a referenced record to what a client may see; returns any other error unchanged. */
export function toReferred(error: unknown, referrers: Referrers): unknown {
  const cause = driverError(error)
  if (!cause || !STILL_REFERRED_TO.has(codeOf(cause)) || isInOtherSchema(cause, referrers)) return error
  const name = String(cause.constraint)
  const referred = referredTable(cause.message)
  // The constraint of a partition has the name of its parent, and a number.
  const detail =
    referrers.constraints.get(name) ??
    referrers.constraints.get(name.replace(/_?[0-9]{1,4}$/, '')) ??
    (isStillReferredTo(cause) && referred !== undefined
      ? referrers.tables.get(referenceName(cause.table, referrers.named(referred).length > 0 ? referred : undefined))
      : undefined)
  return detail ? new Problem('conflict', detail, { cause }) : error
}

/** Names the columns, one of which does not take a value, in the problem of a change. */
export function withMisfits(
  { type, message, cause }: Problem,
  columns: readonly string[],
  { misfits }: Pick<ConstraintErrors, 'misfits'>,
): Problem {
  const named = misfits(columns)
  // The message about a character says more than that about a value.
  const errors = message === misfit.detail ? named : named.map(({ field }) => ({ field, message }))
  return new Problem(type, errors[0]?.message ?? message, { errors, cause })
}

/** Converts the failure of a change to an error for clients. A value that a generated column, a constraint or a trigger cannot compute with is the client's. */
export function toChangeFailure<E>(error: E, constraintErrors: ConstraintErrors): E | Problem {
  const failure = toProblem(error, constraintErrors)
  const cause = driverError(error)
  return !(failure instanceof Problem) && cause && isDataException(error) ? problem(rejected, cause) : failure
}

/**
 * Converts the failure of a deletion to an error for clients. A deletion stores no value, so a rejected value belongs to another record,
 * which the deletion changes by a foreign key or a trigger.
 */
export function toRemoveFailure(error: unknown, constraintErrors: ConstraintErrors): unknown {
  const cause = driverError(error)
  const meaning = cause && meaningOf(cause)
  if (!cause || !/^2[23]/.test(codeOf(cause)) || meaning?.type === 'conflict' || meaning === unknownCharacter)
    return toProblem(error, constraintErrors)
  return new Problem('conflict', messageOf(cause, constraintErrors) ?? CONFLICT, { cause })
}

/**
 * Converts the failure of a read to an error for clients. Values from clients were validated against the field types, so a value that does not fit
 * its column is a bug of the caller, as is a function that raises an error, and the driver's error is returned.
 */
export function toReadFailure(error: unknown): unknown {
  const cause = driverError(error)
  const meaning = cause && meaningOf(cause)
  return meaning === misfit || meaning === oversized || meaning === rejected ? cause : error
}

/**
 * Converts the failure of a read for a request to an error for clients. Field types do not know the columns: a field may serve a column of a smaller
 * range, an enum without the label, or a text that ignores case although the field has no `collation`.
 */
export function toRequestFailure(error: unknown, { managed }: Pick<ModelSpec, 'managed'>): unknown {
  if (codeOf(error) === '0A000' && UNMATCHED.has(String(routineOf(error))))
    return new Problem('invalid_query', 'A column is not compared in this way', { cause: driverError(error) })
  if (misfitParameterOf(error, { managed }) === undefined) return toReadFailure(error)
  const cause = driverError(error)
  const isUnknown = cause && meaningOf(cause) === unknownCharacter
  const detail = isUnknown ? unknownCharacter.detail : 'A value is outside of the range of its column'
  return new Problem('invalid_query', detail, { cause })
}

/** The functions of the server for `like` and `ilike`. */
const UNMATCHED = new Set(['GenericMatchText', 'Generic_Text_IC_like'])

/**
 * Converts the failure of a plugin's statement to an error for clients. A name, a type or a value that does not fit is a bug of the
 * plugin; a value that a write cannot store is the same problem as in a generated operation.
 */
export function toStatementFailure(error: unknown, constraintErrors?: ConstraintErrors): unknown {
  if (isMismatch(error)) return driverError(error) ?? error
  return constraintErrors ? toProblem(error, constraintErrors) : toReadFailure(error)
}

/** Whether a record could not be deleted or changed because others refer to it. */
export function isReferredTo(error: unknown): boolean {
  const cause = driverError(error)
  return cause !== undefined && isStillReferredTo(cause)
}

function problem({ type, detail }: Meaning, cause: Error, errors: readonly FieldError[] = []): Problem {
  return new Problem(type, errors[0]?.message ?? detail, {
    errors,
    headers: type === 'unavailable' || type === 'timeout' ? RETRY : {},
    cause,
  })
}

/** Returns the fatal error for a startup failure; undefined if retrying may help. */
export function toRejection(error: unknown): DatabaseRejected | undefined {
  const cause = driverError(error)
  if (cause instanceof DatabaseRejected) return cause
  const help = cause && meaningOf(cause)?.rejected
  if (cause === undefined || help === undefined) return undefined
  return new DatabaseRejected(`the database rejects the connection: ${cause.message}`, [help], cause)
}
