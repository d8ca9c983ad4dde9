import { types } from 'node:util'
import { Problem, type ProblemType } from '../../foundation/problem.js'
import { type DriverError, NOT_NULL, TOO_LONG } from './field-errors.js'

/** The meaning of a database error. */
export interface Meaning {
  readonly type: ProblemType
  readonly detail: string
  /** The connection was lost, and the statement may or may not have run. */
  readonly lost?: true
  /** The statement did not run. */
  readonly unsent?: true
  /** Retrying at startup is pointless: how to fix the configuration. */
  readonly rejected?: string
}

export const unavailable = { type: 'unavailable', detail: 'The database is not available' } as const
const lost = { ...unavailable, lost: true } as const
const busy = { type: 'unavailable', detail: 'The database is busy with other changes' } as const
export const mismatch = { type: 'unavailable', detail: 'The database does not match the configuration' } as const
/** A materialized view has no data yet, a view or a table with rules cannot be changed, or a function of the database, such as that of a trigger, does not work. */
const unprepared = { type: 'unavailable', detail: 'The database is not set up for what this request does' } as const
/** The client's message for a conflict without a more specific one. */
export const CONFLICT = 'The change conflicts with another record'
const conflict = { type: 'conflict', detail: CONFLICT } as const
export const misfit = { type: 'validation', detail: 'A value cannot be stored' } as const
/** A character that the encoding of the database lacks. */
export const unknownCharacter = {
  type: 'validation',
  detail: 'A text has a character that the encoding of the database lacks',
} as const
/** A trigger, or a rule of a view, rejected it. */
export const rejected = { type: 'conflict', detail: 'The database rejected the change' } as const
export const disallowed = {
  type: 'forbidden',
  detail: 'The policies of the database do not allow this record',
} as const
export const oversized = { type: 'validation', detail: 'A value is too long to be stored' } as const
const denied = { ...unavailable, rejected: 'check the user, the password and the database in DATABASE_URL' } as const
const insecure = { ...unavailable, rejected: 'sslmode in DATABASE_URL sets whether and how TLS is used' } as const

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
  '55000': unprepared,
  '2200H': { type: 'unavailable', detail: 'The sequence of a key is exhausted' },
  '25006': { type: 'unavailable', detail: 'The database is read-only at present' },
  '28': denied,
  '3D000': { ...unavailable, rejected: 'create it, for example with `createdb`, or correct DATABASE_URL' },
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
  '22021': unknownCharacter,
  '22P02': misfit,
  '22P05': unknownCharacter,
  '09': rejected,
  P0: rejected,
  '44000': rejected,
  [NOT_NULL]: misfit,
  '23514': misfit,
  [TOO_LONG]: oversized,
  '42P01': mismatch,
  '42703': mismatch,
  '42804': mismatch,
  '42846': mismatch,
  '42809': unprepared,
  '42883': mismatch,
  '428C9': mismatch,
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
export function driverError(error: unknown): DriverError | undefined {
  if (error instanceof Problem) return driverError(error.cause)
  // `instanceof` fails for system errors of another realm, such as a `vm` context.
  return types.isNativeError(error) ? error : undefined
}

/** The code of a driver's error, or of the cause of a Problem. */
export function codeOf(error: unknown): string {
  const code = driverError(error)?.code
  return typeof code === 'string' ? code : ''
}

/** The server function that reported the error; undefined for errors that no PostgreSQL server sent. */
export function routineOf(error: unknown): unknown {
  return (driverError(error) as { readonly routine?: unknown } | undefined)?.routine
}

/** Whether a statement took longer than `statement_timeout`. */
export function isTimedOut(error: unknown): boolean {
  return codeOf(error) === '57014'
}

/** Whether a statement waited too long for a lock. */
export function isLocked(error: unknown): boolean {
  return codeOf(error) === '55P03'
}

/** Whether a materialized view that a statement reads has no data yet, or something else is not ready for it. */
export function isUnprepared(error: unknown): boolean {
  return codeOf(error) === '55000'
}

/** Whether a policy of row-level security rejected a new or changed row. A missing privilege has the same code. */
export function isAgainstPolicy(error: unknown): boolean {
  return codeOf(error) === '42501' && routineOf(error) === 'ExecWithCheckOptions'
}

/** The statements of PL/pgSQL by which a function raises an error. */
const RAISING = new Set<unknown>(['exec_stmt_raise', 'exec_stmt_assert'])

/**
 * Whether a statement of a function of the database failed, which says nothing about our statement and its table. The language of the context varies,
 * but each has the name of the function's language. Another line can have the parameters of our statement.
 */
export function isOfFunction({ where }: DriverError): boolean {
  const lines = String(where).split('\n')
  return lines.some((line) => /\bPL\/|\bSQL\b/.test(line) && !line.includes('$1 = '))
}

export function meaningOf(error: DriverError): Meaning | undefined {
  const code = codeOf(error)
  if (code === '') return MESSAGES.find(([message]) => message.test(error.message))?.[1]
  // The socket file is missing or inaccessible. Errors about files that a handler opens are not ours.
  if (error.syscall === 'connect') return MEANINGS[code] ?? unavailable
  if (isAgainstPolicy(error)) return disallowed
  const meaning = MEANINGS[code] ?? (isSqlState(error) ? MEANINGS[code.slice(0, 2)] : undefined)
  const isUnfit = /^(?:42|3F)/.test(code) || (meaning === undefined && isSqlState(error) && !code.startsWith('22'))
  if (isUnfit && isOfFunction(error)) return RAISING.has(routineOf(error)) ? rejected : unprepared
  // A rule with a condition replaces changes, and returns nothing.
  if (code === '0A000' && routineOf(error) === 'RewriteQuery') return unprepared
  // A function may raise any code, also those of privileges and connections.
  return RAISING.has(routineOf(error)) && !isSameIfRaised(meaning) ? rejected : meaning
}

/** Whether an error has the same meaning if a function raises it. */
function isSameIfRaised(meaning: Meaning | undefined): boolean {
  return meaning === busy || meaning?.type === 'conflict' || meaning?.type === 'validation'
}

/** Whether the server itself reported the error, so that the connection is intact and may be used again. */
export function isSqlState(error: DriverError): boolean {
  return /^[0-9A-Z]{5}$/.test(codeOf(error)) && error.syscall === undefined
}
