import { types } from 'node:util'
import { type Fault, Problem, type ProblemType } from '../../problem.js'
import {
  type DriverError,
  faultsOf,
  type Guards,
  isStillReferredTo,
  messageOf,
  NOT_NULL,
  STILL_REFERRED_TO,
  type TakenKey,
  takenKey,
  TOO_LONG,
} from './field-errors.js'
import { DatabaseRefused } from '../database.js'

/** What a failure of the database means. */
interface Meaning {
  readonly type: ProblemType
  readonly detail: string
  /** The connection is gone, and whether the statement was run is not known. */
  readonly lost?: true
  /** The statement was never run. */
  readonly unsent?: true
  /** Waiting cannot help at start: what would be right. */
  readonly refused?: string
}

const unavailable = { type: 'unavailable', detail: 'The database is not available' } as const
const RETRY = { 'Retry-After': '1' }
const lost = { ...unavailable, lost: true } as const
const busy = { type: 'unavailable', detail: 'The database is busy with other changes' } as const
const mismatch = { type: 'unavailable', detail: 'The database does not fit the configuration' } as const
/** What clients read of a conflict that nothing explains. */
export const CONFLICT = 'The change conflicts with another record'
const conflict = { type: 'conflict', detail: CONFLICT } as const
const misfit = { type: 'validation', detail: 'A value cannot be stored' } as const
const oversized = { type: 'validation', detail: 'A value is too long to be stored' } as const
const denied = { ...unavailable, refused: 'DATABASE_URL names the user, the password and the database' } as const
const insecure = { ...unavailable, refused: 'sslmode in DATABASE_URL says whether and how TLS is used' } as const

/**
 * The one table of SQLSTATEs (or their classes, the first two characters) and of the system's error codes.
 * What is not in it is a bug of ours and stays as it is.
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
  '25006': { type: 'unavailable', detail: 'The database takes no changes at present' },
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

/** The driver's own errors, which carry no code. */
const MESSAGES: readonly (readonly [message: RegExp, meaning: Meaning])[] = [
  [/^Client (has encountered a connection error|was closed) and is not queryable/, { ...unavailable, unsent: true }],
  [/^Connection terminated due to connection timeout/, unavailable],
  [/^Connection terminated/, lost],
  [/^Received unexpected \w+ message from backend/, lost],
  [/^Query read timeout/, unavailable],
  [/^timeout expired/, unavailable],
  [/^timeout exceeded when trying to connect/, { type: 'unavailable', detail: 'The database has too much to do' }],
  [/^Cannot use a pool after calling end/, unavailable],
  [/^SASL: |^Password must be a string/, denied],
  [/^The server does not support SSL|^There was an error establishing an SSL/, insecure],
]

/** Errors of ours carry the driver's as their cause. */
function driverError(error: unknown): DriverError | undefined {
  if (error instanceof Problem) return driverError(error.cause)
  // Not instanceof: errors of the system come from another realm where code runs in a context of its own.
  return types.isNativeError(error) ? error : undefined
}

/** The code of a driver's error, also when it is the cause of a Problem. */
function codeOf(error: unknown): string {
  const code = driverError(error)?.code
  return typeof code === 'string' ? code : ''
}

/** The function of the server that failed; undefined for what no PostgreSQL server has said. */
export function routineOf(error: unknown): unknown {
  return (driverError(error) as { readonly routine?: unknown } | undefined)?.routine
}

function meaningOf(error: DriverError): Meaning | undefined {
  const code = codeOf(error)
  if (code === '') return MESSAGES.find(([message]) => message.test(error.message))?.[1]
  // A missing or forbidden socket file. Files that a handler could not open are none of our business.
  if (error.syscall === 'connect') return MEANINGS[code] ?? unavailable
  return MEANINGS[code] ?? (isSqlState(error) ? MEANINGS[code.slice(0, 2)] : undefined)
}

/** Whether the server itself answered with an error, so that the connection is in order and may be used again. */
function isSqlState(error: DriverError): boolean {
  return /^[0-9A-Z]{5}$/.test(codeOf(error)) && error.syscall === undefined
}

/** Whether the connection that gave this error must not be used again. */
export function isBroken(error: unknown): boolean {
  const cause = driverError(error)
  return cause === undefined || !isSqlState(cause) || meaningOf(cause)?.lost === true || isStale(error)
}

/** Whether the connection was lost with the outcome unknown. */
export function isLost(error: unknown): boolean {
  const cause = driverError(error)
  return cause !== undefined && meaningOf(cause)?.lost === true
}

/** Whether the statement surely never ran, because its connection was already gone. */
export function isUnsent(error: unknown): boolean {
  const cause = driverError(error)
  return cause !== undefined && meaningOf(cause)?.unsent === true
}

/** Whether the prepared form of a statement no longer fits: a table was altered, or a pooler mixed the sessions up. */
export function isStale(error: unknown): boolean {
  const code = codeOf(error)
  const routine = routineOf(error)
  return code === '26000' || code === '42P05' || (code === '0A000' && routine === 'RevalidateCachedQuery')
}

/** Whether a request failed because a table is another than its model's. */
export function isMismatch(error: unknown): boolean {
  return error instanceof Problem && error.message === mismatch.detail
}

/** What requests are told while the table of a model is known to be another. */
export function mismatchProblem(): Problem {
  return new Problem(mismatch.type, mismatch.detail, { headers: RETRY })
}

/** Whether somebody else held, for too long, what a statement waited for. */
export function isLocked(error: unknown): boolean {
  return codeOf(error) === '55P03'
}

/** Whether the same transaction may succeed when it is run again. */
export function isTransient(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error)) || isStale(error)
}

/** Turns an error of the driver into the Problem that a client may see; anything else comes back as it is. */
export function toProblem<E>(error: E, guards?: Guards): E | Problem {
  if (error instanceof DatabaseRefused) return problem(unavailable, error)
  if (error instanceof Problem && error.type === 'outcome_unknown') return error
  const cause = driverError(error)
  const meaning = cause && (isForeignNull(cause, guards) ? mismatch : meaningOf(cause))
  if (!meaning) return error
  const faults = guards ? faultsOf(cause, guards) : []
  const detail = guards && messageOf(cause, guards)
  if (detail !== undefined) return problem({ ...meaning, detail }, cause, faults)
  if (error instanceof Problem && error.type === meaning.type && faults.length === 0) return error
  return problem(meaning, cause, faults)
}

/**
 * The guards that explain a refused change, out of those of all tables: of the table that the server names. Where these have no message,
 * the message may be that of the model whose record others still refer to, or whose table the server names by a partition.
 */
export function explaining(error: unknown, guards: ReadonlyMap<string, Guards>): Guards | undefined {
  const cause = driverError(error)
  if (!cause) return undefined
  const own = guards.get(String(cause.table))
  if (own && (messageOf(cause, own) !== undefined || !isStillReferredTo(cause))) return own
  return [...guards.values()].find((each) => messageOf(cause, each) !== undefined) ?? own
}

/** Whether a null was refused where the model has no such column, or allows it: the table is another than the model's. */
function isForeignNull(cause: DriverError, guards: Guards | undefined): boolean {
  return guards !== undefined && cause.code === NOT_NULL && !guards.required.has(String(cause.column))
}

/** The columns and the texts of a key that is taken, as the server names them; undefined for any other error, and where it does not say. */
export function takenKeyOf(error: unknown): TakenKey | undefined {
  if (codeOf(error) !== '23505') return undefined
  return takenKey(driverError(error)?.detail)
}

/** The text that a statement could not convert, which the server quotes; undefined for any other error. */
export function failedConversionOf(error: unknown): string | undefined {
  return codeOf(error) === '22P02' ? /"(.*)"/.exec(driverError(error)?.message ?? '')?.[1] : undefined
}

/**
 * The refusal to delete a record that others refer to, as a client may see it; anything else comes back as it is.
 * @param referrers what is said, by the name of the constraint
 */
export function toReferred(error: unknown, referrers: ReadonlyMap<string, string>): unknown {
  const cause = driverError(error)
  const detail = cause && STILL_REFERRED_TO.has(codeOf(cause)) && referrers.get(String(cause.constraint))
  return detail ? new Problem('conflict', detail, { cause }) : error
}

/** A character that the encoding of the database does not have. */
const UNKNOWN_CHARACTERS = new Set(['22021', '22P05'])

/**
 * The failure of a statement that only reads, as a request may see it. What clients ask for was held to the types of the
 * fields, so a value that fits no column is a bug of whoever passed it, and the driver's error comes back.
 */
export function toReadFailure(error: unknown): unknown {
  const cause = driverError(error)
  const meaning = cause && meaningOf(cause)
  const isMisfit = (meaning === misfit && !UNKNOWN_CHARACTERS.has(codeOf(cause))) || meaning === oversized
  return isMisfit ? cause : error
}

function problem({ type, detail }: Meaning, cause: Error, faults: readonly Fault[] = []): Problem {
  return new Problem(type, faults[0]?.message ?? detail, {
    faults,
    headers: type === 'unavailable' || type === 'timeout' ? RETRY : {},
    cause,
  })
}

/** The refusal that an error at start means; undefined when trying again may help. */
export function toRefusal(error: unknown): DatabaseRefused | undefined {
  const cause = driverError(error)
  if (cause instanceof DatabaseRefused) return cause
  const help = cause && meaningOf(cause)?.refused
  if (cause === undefined || help === undefined) return undefined
  return new DatabaseRefused(`the database refuses the connection: ${cause.message}`, [help], cause)
}
