import type { Result } from '../database.js'
import { cannotLock, lacksPrivilege } from './errors.js'

/**
 * Whether the records of a resource can be locked; undefined until the first attempt. PostgreSQL locks no rows of views with groups or outer joins, and
 * none for a user who may not update any column, who can be granted that at any time.
 */
export interface Lockable {
  is?: boolean
  /** When the next request tries again; left out for views. */
  until?: number
}

/** Each attempt costs a statement, and an error in the log of the database. */
const RETRY_MS = 60_000

export function isLockable(lockable: Lockable): boolean | undefined {
  return lockable.until !== undefined && performance.now() >= lockable.until ? undefined : lockable.is
}

interface LockAttempt {
  locked(): Promise<Result>
  /** The same without a lock. */
  unlocked(): Promise<Result>
  /** Whether `locked` has locked a record if it succeeds. */
  readonly isProof: boolean
}

/** Locks records if PostgreSQL can, and remembers whether it could. */
export async function learnLockable(lockable: Lockable, { locked, unlocked, isProof }: LockAttempt): Promise<Result> {
  let result: Result
  try {
    result = await locked()
    if (!isProof) return result
    lockable.is = true
    delete lockable.until
  } catch (error) {
    if (!cannotLock(error)) throw error
    result = await unlocked()
    lockable.is = false
    if (lacksPrivilege(error)) lockable.until = performance.now() + RETRY_MS
    else delete lockable.until
  }
  return result
}

/** Sends statements that lock records because others could. If the user may not any more, this request fails, and the next one learns it. */
export async function lockAsLearned(lockable: Lockable, locked: () => Promise<Result>): Promise<Result> {
  try {
    return await locked()
  } catch (error) {
    if (cannotLock(error)) delete lockable.is
    throw error
  }
}
