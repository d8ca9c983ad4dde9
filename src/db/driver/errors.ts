import { types } from 'node:util'
import { type FieldError, Problem, type ProblemType } from '../../problem.js'
import {
  type DriverError,
  errorsOf,
  type ConstraintErrors,
  isStillReferredTo,
  messageOf,
  NOT_NULL,
  STILL_REFERRED_TO,
  type TakenKey,
  takenKey,
  TOO_LONG,
} from './field-errors.js'
import { DatabaseRefused } from '../database.js'

/** The meaning of a database error. */
interface Meaning {
  readonly type: ProblemType
  readonly detail: string
  /** The connection was lost, and the statement may or may not have run. */
  readonly lost?: true
  /** The statement did not run. */
  readonly unsent?: true
  /** Retrying at startup is pointless: how to fix the configuration. */
  readonly refused?: string
}

const unavailable = { type: 'unavailable', detail: 'The database is not available' } as const
const RETRY = { 'Retry-After': '1' }
const lost = { ...unavailable, lost: true } as const
const busy = { type: 'unavailable', detail: 'The database is busy with other changes' } as const
const mismatch = { type: 'unavailable', detail: 'The database does not match the configuration' } as const
/** The client's message for a conflict without a more specific one. */
export const CONFLICT = 'The change conflicts with another record'
const conflict = { type: 'conflict', detail: CONFLICT } as const
const misfit = { type: 'validation', detail: 'A value cannot be stored' } as const
const oversized = { type: 'validation', detail: 'A value is too long to be stored' } as const
const denied = { ...unavailable, refused: 'check the user, the password and the database in DATABASE_URL' } as const
const insecure = { ...unavailable, refused: 'sslmode in DATABASE_URL sets whether and how TLS is used' } as const

/**
 * Maps SQLSTATEs, or their classes (the first two characters), and system error codes. Any other code is a bug of ours, and its error is passed on
 * unchanged.
 */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  '08': lost,
  '57P01': lost,
  '57P02': lost,
  '57P05': lost,
  '25P03': lost,
  '25P04': lost,
  '57P03': unavailable,
  '57P04': unavailable,
  '53': unavailable,
  '58': unavailable,
  '55000': { type: 'unavailable', detail: 'The database has not prepared what the request reads' },
  '25006': { type: 'unavailable', detail: 'The database is read-only at present' },
  '28': denied,
  '3D000': denied,
  '40001': busy,
  '40P01': busy,
  '55P03': busy,
  '57014': { type: 'timeout', detail: 'The database took too long' },
  '23505': conflict,
  '23503': conflict,
  '23001': conflict,
  '23P01': conflict,
  '22001': misfit,
  '22003': misfit,
  '22007': misfit,
  '22008': misfit,
  '22021': misfit,
  '22P02': misfit,
  '22P05': misfit,
  [NOT_NULL]: misfit,
  '23514': misfit,
  [TOO_LONG]: oversized,
  '42P01': mismatch,
  '42703': mismatch,
  '42804': mismatch,
  '42846': mismatch,
  '42883': mismatch,
  '42501': mismatch,
  '3F000': mismatch,
  ECONNRESET: lost,
  ECONNABORTED: lost,
  EPIPE: lost,
  ETIMEDOUT: lost,
  ERR_STREAM_DESTROYED: lost,
  ERR_STREAM_WRITE_AFTER_END: lost,
  ECONNREFUSED: unavailable,
  EHOSTUNREACH: unavailable,
  EHOSTDOWN: unavailable,
  ENETUNREACH: unavailable,
  ENETDOWN: unavailable,
  ENOTFOUND: unavailable,
  EAI_AGAIN: unavailable,
  EMFILE: unavailable,
  ENFILE: unavailable,
  CERT_HAS_EXPIRED: insecure,
  DEPTH_ZERO_SELF_SIGNED_CERT: insecure,
  SELF_SIGNED_CERT_IN_CHAIN: insecure,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: insecure,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: insecure,
  ERR_TLS_CERT_ALTNAME_INVALID: insecure,
}

/** Errors of the driver that have no code. */
const MESSAGES: readonly (readonly [message: RegExp, meaning: Meaning])[] = [
  [/^Client (has encountered a connection error|was closed) and is not queryable/, { ...unavailable, unsent: true }],
  [/^Connection terminated due to connection timeout/, unavailable],
  [/^Connection terminated/, lost],
  [/^Received unexpected \w+ message from backend/, lost],
  [/^Query read timeout/, unavailable],
  [/^timeout expired/, unavailable],
  [/^timeout exceeded when trying to connect/, { type: 'unavailable', detail: 'The database is overloaded' }],
  [/^Cannot use a pool after calling end/, unavailable],
  [/^SASL: |^Password must be a string/, denied],
  [/^The server does not support SSL|^There was an error establishing an SSL/, insecure],
]

/** Our errors carry the driver's error as their cause. */
function driverError(error: unknown): DriverError | undefined {
  if (error instanceof Problem) return driverError(error.cause)
  // `instanceof` fails for system errors of another realm, such as a `vm` context.
  return types.isNativeError(error) ? error : undefined
}

/** The code of a driver's error, or of the cause of a Problem. */
function codeOf(error: unknown): string {
  const code = driverError(error)?.code
  return typeof code === 'string' ? code : ''
}

/** The server function that reported the error; undefined for errors that no PostgreSQL server sent. */
export function routineOf(error: unknown): unknown {
  return (driverError(error) as { readonly routine?: unknown } | undefined)?.routine
}

function meaningOf(error: DriverError): Meaning | undefined {
  const code = codeOf(error)
  if (code === '') return MESSAGES.find(([message]) => message.test(error.message))?.[1]
  // The socket file is missing or inaccessible. Errors about files that a handler opens are not ours.
  if (error.syscall === 'connect') return MEANINGS[code] ?? unavailable
  return MEANINGS[code] ?? (isSqlState(error) ? MEANINGS[code.slice(0, 2)] : undefined)
}

/** Whether the server itself reported the error, so that the connection is intact and may be used again. */
function isSqlState(error: DriverError): boolean {
  return /^[0-9A-Z]{5}$/.test(codeOf(error)) && error.syscall === undefined
}

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

/** Whether the statement certainly did not run, because its connection was already gone. */
export function isUnsent(error: unknown): boolean {
  const cause = driverError(error)
  return cause !== undefined && meaningOf(cause)?.unsent === true
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

/** The response to requests for a model whose table is known to differ. */
export function mismatchProblem(): Problem {
  return new Problem(mismatch.type, mismatch.detail, { headers: RETRY })
}

/** Whether a statement waited too long for a lock. */
export function isLocked(error: unknown): boolean {
  return codeOf(error) === '55P03'
}

/** Whether the transaction may succeed if it is run again. */
export function isTransient(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error)) || isStale(error)
}

/** Converts an error of the driver to the Problem that a client may see; returns any other error unchanged. */
export function toProblem<E>(error: E, constraintErrors?: ConstraintErrors): E | Problem {
  if (error instanceof DatabaseRefused) return problem(unavailable, error)
  if (error instanceof Problem && error.type === 'outcome_unknown') return error
  const cause = driverError(error)
  const meaning = cause && (isForeignNull(cause, constraintErrors) ? mismatch : meaningOf(cause))
  if (!meaning) return error
  const errors = constraintErrors ? errorsOf(cause, constraintErrors) : []
  const detail = constraintErrors && messageOf(cause, constraintErrors)
  if (detail !== undefined) return problem({ ...meaning, detail }, cause, errors)
  if (error instanceof Problem && error.type === meaning.type && errors.length === 0) return error
  return problem(meaning, cause, errors)
}

/**
 * Finds the constraints that explain a rejected change: those of the table that the server names. If they have no message, it may belong to the model
 * whose record is still referenced, or to the model of which the server names a partition.
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

/** Whether a null was rejected in a column that the model does not have or declares nullable: the table differs from its model. */
function isForeignNull(cause: DriverError, constraintErrors: ConstraintErrors | undefined): boolean {
  return (
    constraintErrors !== undefined && cause.code === NOT_NULL && !constraintErrors.required.has(String(cause.column))
  )
}

/** Returns the columns and values of a duplicate key, as the server reports them; undefined for other errors, and if the server gives no details. */
export function takenKeyOf(error: unknown): TakenKey | undefined {
  if (codeOf(error) !== '23505') return undefined
  return takenKey(driverError(error)?.detail)
}

/** Returns the text that the server failed to convert; undefined for other errors. */
export function failedConversionOf(error: unknown): string | undefined {
  return codeOf(error) === '22P02' ? /"(.*)"/.exec(driverError(error)?.message ?? '')?.[1] : undefined
}

/**
 * Converts the error of deleting a referenced record to what a client may see; returns any other error unchanged.
 * @param referrers messages by constraint name
 */
export function toReferred(error: unknown, referrers: ReadonlyMap<string, string>): unknown {
  const cause = driverError(error)
  const detail = cause && STILL_REFERRED_TO.has(codeOf(cause)) && referrers.get(String(cause.constraint))
  return detail ? new Problem('conflict', detail, { cause }) : error
}

/** SQLSTATEs for characters that the database's encoding lacks. */
const UNKNOWN_CHARACTERS = new Set(['22021', '22P05'])

/**
 * Converts the failure of a read to what a request may see. Input from clients was validated against the field types, so a value that does not fit
 * its column is a bug of the caller, and the driver's error is returned.
 */
export function toReadFailure(error: unknown): unknown {
  const cause = driverError(error)
  const meaning = cause && meaningOf(cause)
  const isMisfit = (meaning === misfit && !UNKNOWN_CHARACTERS.has(codeOf(cause))) || meaning === oversized
  return isMisfit ? cause : error
}

/**
 * The failure of a statement that a plugin wrote, as a request may see it. A name, a type or a value that does not fit is a bug of the
 * plugin; of a write, a value that cannot be stored is the same problem as that of a generated operation.
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

/** Returns the fatal error that a startup failure amounts to; undefined if retrying may help. */
export function toRefusal(error: unknown): DatabaseRefused | undefined {
  const cause = driverError(error)
  if (cause instanceof DatabaseRefused) return cause
  const help = cause && meaningOf(cause)?.refused
  if (cause === undefined || help === undefined) return undefined
  return new DatabaseRefused(`the database rejects the connection: ${cause.message}`, [help], cause)
}
