import type { TableName } from '../../fields/table-name.js'
import type { FieldError } from '../../foundation/problem.js'

/** The fields of a driver's error, besides its message. */
export interface DriverError extends Error {
  readonly code?: unknown
  readonly constraint?: unknown
  readonly column?: unknown
  readonly detail?: unknown
  readonly schema?: unknown
  readonly table?: unknown
  readonly routine?: unknown
  readonly syscall?: unknown
  readonly where?: unknown
}

/** Maps the database errors of one model to errors of its fields. */
export interface ConstraintErrors {
  /** Without its schema, as the server names it. */
  readonly table: string
  /** Whether a table, named without its schema, belongs to another model. */
  isOfOtherModel(table: string): boolean
  /** Configured messages by constraint name: constraints of the table, and foreign keys that refer to it. */
  readonly messages: ReadonlyMap<string, string>
  /** Errors of the declared fields, by constraint name. The name is never shown to clients. */
  readonly constraints: ReadonlyMap<string, readonly FieldError[]>
  /** Errors of the fields of a constraint that is not in the configuration, by the columns that the server names. */
  columns(kind: 'unique' | 'foreign_key' | 'check', columns: readonly string[]): readonly FieldError[]
  /** The columns of a check constraint; undefined if it is not known. The server names only the constraint. */
  checkedColumns(constraint: string): readonly string[] | undefined
  /** Errors of the fields, one of which has a value that its column does not take. */
  misfits(columns: readonly string[]): readonly FieldError[]
  /** Errors of the fields that may be too long for an index, by index name. */
  readonly oversized: ReadonlyMap<string, readonly FieldError[]>
  /** The same for all indexes, for errors that do not name the index. */
  readonly anyOversized: readonly FieldError[]
  /** Errors for null in a required column; undefined if clients must not know the field. */
  readonly required: ReadonlyMap<string, FieldError | undefined>
}

/** The key of a record that is a duplicate or that others refer to, as the server reports it. */
export interface NamedKey {
  readonly columns: string
  readonly texts: string
}

/** The messages about a record that others refer to: by the name of the constraint, and by the `referenceName` of the two tables, without schemas. */
export interface Referrers {
  readonly constraints: ReadonlyMap<string, string>
  readonly tables: ReadonlyMap<string, string>
  /** The tables of models that have this name, in any schema. The server also names tables without a model, such as partitions and the tables of views. */
  named(name: unknown): readonly TableName[]
}

/** Whether the table of an error only has the name of a model's table, which is in another schema. */
export function isInOtherSchema({ schema, table }: DriverError, { named }: Pick<Referrers, 'named'>): boolean {
  const tables = named(table)
  return tables.length > 0 && tables.every((each) => each.schema !== undefined && each.schema !== schema)
}

/** @param referred undefined for a table without a model */
export function referenceName(referring: unknown, referred: unknown): string {
  return JSON.stringify([referring, referred])
}

export const NOT_NULL = '23502'
/** Foreign key violations. The server names the referring table, whichever of the two tables is changed. */
export const STILL_REFERRED_TO: ReadonlySet<unknown> = new Set(['23503', '23001'])
const TAKEN = '23505'
const CHECK = '23514'
/** Also reported if a row does not fit in an index. */
export const TOO_LONG = '54000'

/**
 * Returns the configured message of the violated constraint; undefined if there is none. For a partition, which has no model, the server names the
 * partition instead of its table.
 */
export function messageOf(
  { code, constraint, table }: DriverError,
  constraintErrors: ConstraintErrors,
): string | undefined {
  const message = constraintErrors.messages.get(String(constraint))
  return !constraintErrors.isOfOtherModel(String(table)) || STILL_REFERRED_TO.has(code) ? message : undefined
}

/** Returns errors for the fields that caused the rejection; empty if the server does not name them. */
export function errorsOf(cause: DriverError, constraintErrors: ConstraintErrors): readonly FieldError[] {
  const found = foundErrors(cause, constraintErrors)
  const message = messageOf(cause, constraintErrors)
  return message === undefined ? found : found.map(({ field }) => ({ field, message }))
}

function foundErrors(cause: DriverError, constraintErrors: ConstraintErrors): readonly FieldError[] {
  const name = String(cause.constraint)
  if (cause.code === NOT_NULL) {
    if (constraintErrors.isOfOtherModel(String(cause.table))) return []
    const error = constraintErrors.required.get(String(cause.column))
    return error ? [error] : []
  }
  if (cause.code === TOO_LONG)
    return constraintErrors.oversized.get(name) ?? (isOfIndex(cause) ? constraintErrors.anyOversized : [])
  return constraintErrors.constraints.get(name) ?? errorsOfForeign(cause, constraintErrors)
}

/** Whether a row was too large for an index, reported before the server knew which index. */
function isOfIndex({ routine }: DriverError): boolean {
  return String(routine).startsWith('index_form_tuple')
}

/** Errors of a constraint that was created outside the configuration. */
function errorsOfForeign(cause: DriverError, constraintErrors: ConstraintErrors): readonly FieldError[] {
  // For a partition, the server names the partition; for a domain, no table.
  if (cause.code === CHECK && typeof cause.table === 'string' && !constraintErrors.isOfOtherModel(cause.table))
    return constraintErrors.columns('check', constraintErrors.checkedColumns(String(cause.constraint)) ?? [])
  if (String(cause.table) !== constraintErrors.table) return []
  const taken = cause.code === TAKEN ? namedKey(cause.detail) : undefined
  if (taken) return constraintErrors.columns('unique', splitColumns(taken.columns))
  const missing = missingKey(cause.detail)
  return missing ? constraintErrors.columns('foreign_key', splitColumns(missing.columns)) : []
}

/** Whether a record could not be deleted because it is referenced; false if the server does not say so in English. */
export function isStillReferredTo({ code, detail }: DriverError): boolean {
  return STILL_REFERRED_TO.has(code) && / is (?:still )?referenced from table/.test(String(detail))
}

/** Parses the key in the English details of an error. Returns undefined for other details. */
export function namedKey(detail: unknown): NamedKey | undefined {
  return parseKey(detail, /^Key \((.*?)\)=\((.*)\) (?:already exists|is (?:still )?referenced from table)/s)
}

/** The same for a key that no record has. */
export function missingKey(detail: unknown): NamedKey | undefined {
  return parseKey(detail, /^Key \((.*?)\)=\((.*)\) is not present in table/s)
}

function parseKey(detail: unknown, form: RegExp): NamedKey | undefined {
  const [, columns, texts] = form.exec(String(detail)) ?? []
  return columns === undefined || texts === undefined ? undefined : { columns, texts }
}

/** The table with the record that others still refer to, without its schema; undefined if the message is not in English. */
export function referredTable(message: string): string | undefined {
  return /^update or delete on table "(.*?)" violates /s.exec(message)?.[1]
}

/** Splits the columns in the details of an error, which PostgreSQL quotes where needed. */
export function splitColumns(list: string): readonly string[] {
  return list.match(/"(?:[^"]|"")*"|[^\s,]+(?: [^\s,]+)*/g) ?? []
}
