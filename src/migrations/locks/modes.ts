/** PostgreSQL's lock modes for tables, from the weakest to the strongest, with the requests of others that wait for each. */
const MODES = [
  ['AccessShareLock', 'nobody waits'],
  ['RowShareLock', 'nobody waits'],
  ['RowExclusiveLock', 'nobody waits'],
  ['ShareUpdateExclusiveLock', 'nobody waits'],
  ['ShareLock', 'writes wait'],
  ['ShareRowExclusiveLock', 'writes wait'],
  ['ExclusiveLock', 'writes wait'],
  ['AccessExclusiveLock', 'reads and writes wait'],
] as const

export type LockMode = (typeof MODES)[number][0]

/** The strongest lock that a transaction holds on a table. */
export interface TableLock {
  readonly table: string
  readonly mode: LockMode
}

/** The effect of a lock on others: `writes wait`. */
export function lockMeaning(mode: LockMode): string {
  return MODES[strength(mode)]?.[1] ?? mode
}

/** The place of a mode among all modes; -1 for an unknown one. */
export function strength(mode: string): number {
  return MODES.findIndex(([name]) => name === mode)
}

/** Whether a text is the name of a lock mode for tables. */
export function isLockMode(text: string | null | undefined): text is LockMode {
  return typeof text === 'string' && strength(text) >= 0
}

/** Whether requests of others wait for a lock of this mode. */
export function isBlocking(mode: LockMode): boolean {
  return strength(mode) >= strength('ShareLock')
}

/** What a statement does with all rows of a table while it holds its locks: their number decides how long it takes. */
export type Work = 'scan' | 'index' | 'rewrite' | 'update'

/** Work of a step on a table. */
export interface TableWork {
  readonly table: string
  readonly work: Work
  /** Whether requests wait for it: its transaction holds a lock that blocks them. */
  readonly blocking: boolean
}

/** The locks on existing tables that a step holds at its end, with those of earlier steps in its transaction, and its work under them. */
export interface StepLocks {
  readonly locks: readonly TableLock[]
  readonly works: readonly TableWork[]
}
