import type { Fault } from '../../problem.js'

/** What an error of the driver says beside its message. */
export interface DriverError extends Error {
  readonly code?: unknown
  readonly constraint?: unknown
  readonly column?: unknown
  readonly detail?: unknown
  readonly table?: unknown
  readonly routine?: unknown
  readonly syscall?: unknown
}

/** What a refusal of the database means for one model, so that a field can be blamed for it. */
export interface Guards {
  readonly table: string
  /** The tables of other models. */
  readonly others: ReadonlySet<string>
  /** What the configuration says that clients read of a constraint, by its name: one of the table, or a foreign key that refers to it. */
  readonly messages: ReadonlyMap<string, string>
  /** For each constraint's name, the faults of the declared fields that it guards. The name is never shown. */
  readonly constraints: ReadonlyMap<string, readonly Fault[]>
  /** The faults of a constraint that others have made, by the columns that the server names. */
  columns(kind: 'unique' | 'foreign_key', columns: readonly string[]): readonly Fault[]
  /** For each index's name, the faults of the fields that may be too long for it. */
  readonly oversized: ReadonlyMap<string, readonly Fault[]>
  /** The same of all indexes, for when the server does not say which it was. */
  readonly anyOversized: readonly Fault[]
  /** The columns that take no null; undefined for one of which a client is told nothing. */
  readonly required: ReadonlyMap<string, Fault | undefined>
}

/** A key that is taken, as the server names it. */
export interface TakenKey {
  readonly columns: string
  readonly texts: string
}

export const NOT_NULL = '23502'
/** That of a foreign key, which the server names with the table that refers, whichever of the two is changed. */
export const STILL_REFERRED_TO: ReadonlySet<unknown> = new Set(['23503', '23001'])
const TAKEN = '23505'
/** Also of an index that has no room for a row. */
export const TOO_LONG = '54000'

/**
 * The message that the configuration has for the constraint that made the server refuse a change; undefined when it has none. The server
 * names a partition, which has no model, in place of its table.
 */
export function messageOf({ code, constraint, table }: DriverError, guards: Guards): string | undefined {
  const message = guards.messages.get(String(constraint))
  return !guards.others.has(String(table)) || STILL_REFERRED_TO.has(code) ? message : undefined
}

/** The faults of the fields that made the server refuse a change; none when it does not say. */
export function faultsOf(cause: DriverError, guards: Guards): readonly Fault[] {
  const found = foundFaults(cause, guards)
  const message = messageOf(cause, guards)
  return message === undefined ? found : found.map(({ field }) => ({ field, message }))
}

function foundFaults(cause: DriverError, guards: Guards): readonly Fault[] {
  const name = String(cause.constraint)
  if (cause.code === NOT_NULL) {
    const fault = guards.required.get(String(cause.column))
    return fault ? [fault] : []
  }
  if (cause.code === TOO_LONG) return guards.oversized.get(name) ?? (isOfIndex(cause) ? guards.anyOversized : [])
  return guards.constraints.get(name) ?? faultsOfForeign(cause, guards)
}

/** Whether a row was too large for an index before the server knew which. */
function isOfIndex({ routine }: DriverError): boolean {
  return String(routine).startsWith('index_form_tuple')
}

/** The faults of a constraint that a migration of somebody's own has made. */
function faultsOfForeign(cause: DriverError, guards: Guards): readonly Fault[] {
  if (String(cause.table) !== guards.table) return []
  const taken = cause.code === TAKEN ? takenKey(cause.detail) : undefined
  if (taken) return guards.columns('unique', taken.columns.split(', '))
  const [, missing] = /^Key \((.*?)\)=\(.*\) is not present in table/s.exec(String(cause.detail)) ?? []
  return missing === undefined ? [] : guards.columns('foreign_key', missing.split(', '))
}

/** Whether a record could not be deleted because others refer to it; false where the server does not say so in English. */
export function isStillReferredTo({ code, detail }: DriverError): boolean {
  return STILL_REFERRED_TO.has(code) && / is still referenced from table/.test(String(detail))
}

/** Reads the details of a refusal; undefined where the server does not say them in English. */
export function takenKey(detail: unknown): TakenKey | undefined {
  const [, columns, texts] = /^Key \((.*)\)=\((.*)\) already exists/s.exec(String(detail)) ?? []
  return columns === undefined || texts === undefined ? undefined : { columns, texts }
}
