import type { ModelSpec } from '../../config/spec.js'
import { Problem } from '../../foundation/problem.js'
import { doAtIndex } from '../../resource/bodies/items.js'
import { recordKey } from '../../resource/keys/record-key.js'
import type { Id, Precondition, Row } from '../../resource/plan.js'
import { misfitParameterOf } from '../driver/misfits.js'
import { disallowed } from '../driver/meanings.js'
import type { Bounds } from '../statements/rules/bounds.js'
import { forbiddenFields, notGranted, unnamedFields } from '../statements/rules/granted-writes.js'
import type { Statements } from '../statements/statements.js'
import { follow } from './store-lists.js'
import type { Sender } from './store-sender.js'

interface Bound {
  readonly model: ModelSpec
  readonly statements: Statements
  readonly sender: Sender
  /** Whether clients may select parts of a record, which have tags of their own. */
  readonly selectable: boolean
}

/** Finds out why a statement about one record has changed nothing. Without a reason, the request sees no such record. */
export function rejectionsOn({ model, statements, sender, selectable }: Bound) {
  /**
   * Throws if the request may see the record, but no grant covers the change.
   * @param row the change; undefined for a deletion
   */
  const rejectUncovered = async (
    bounds: Bounds | undefined,
    id: readonly string[],
    row: Row | undefined,
  ): Promise<void> => {
    if (!bounds?.granted) return
    const unnamed = row ? unnamedFields(model, row, bounds.granted).map(({ name }) => name) : []
    // Several records of a view, or of inheriting tables, can have the key.
    for (const [covered, ...same] of (await sender.read(follow(statements.covers(bounds, id, row)))).rows) {
      const changed = unnamed.filter((_, index) => same[index] !== 'true')
      if (changed.length > 0) throw forbiddenFields(model, row ?? {}, changed, 'change')
      // A comparison with null is neither true nor false.
      if (covered !== 'true') throw notGranted()
    }
  }
  /** Throws if the request may see the record, and it does not meet the preconditions. Row-level security may let a record only be read. */
  const rejectUnmet = async (
    bounds: Bounds | undefined,
    id: readonly string[],
    only: readonly Precondition[] | undefined,
  ): Promise<void> => {
    const isSeen = async (when?: readonly Precondition[]) =>
      (await sender.read(follow(statements.retrieve(bounds, id, when)))).rows.length > 0
    if (only && (await isSeen()) && !(await isSeen(only)))
      throw new Problem('precondition_failed', unmet(only, selectable))
  }
  const rejectIfThere = async (
    bounds: Bounds | undefined,
    id: readonly string[],
    row: Row | undefined,
    only: readonly Precondition[] | undefined,
  ): Promise<void> => {
    await rejectUncovered(bounds, id, row)
    await rejectUnmet(bounds, id, only)
  }

  /** Throws if one of several records is still there after all were deleted. */
  const rejectRemaining = async (bounds: Bounds | undefined, ids: readonly Id[]): Promise<void> => {
    const key = recordKey(model)
    const isThere = async (some: readonly Id[]) => {
      const written = some.map(key.write)
      const locked = sender.lock(statements.lockMany(bounds, written), statements.findMany(bounds, written), bounds)
      return (await locked).rows.length > 0
    }
    if (!(await isThere(ids))) return
    for (const [place, id] of ids.entries()) {
      const reject = async () => {
        if (!(await isThere([id]))) return
        await rejectUncovered(bounds, key.write(id), undefined)
        throw new Problem(disallowed.type, disallowed.detail)
      }
      await doAtIndex(place, reject, key.fields)
    }
  }

  return { rejectUncovered, rejectUnmet, rejectIfThere, rejectRemaining }
}

/** Returns undefined if the error is that no record can have the key, whose values are the first parameters of statements about one record. */
export function missingOr(model: ModelSpec, { inTransaction }: Sender): (error: unknown) => undefined {
  return (error) => {
    if ((misfitParameterOf(error, model) ?? Infinity) > model.key.length) throw error
    // The error has ended the transaction, so its handler cannot go on as if nothing had happened.
    if (inTransaction) throw new Problem('not_found', 'A record does not exist', { cause: error })
  }
}

function unmet(only: readonly Precondition[], selectable: boolean): string {
  if (only.length > 1) return 'the record does not meet both If-Match and If-None-Match'
  if (only[0]?.wanted !== true) return 'If-None-Match lists this version of the record, or is `*`'
  return `the record has changed since the version in If-Match${selectable ? ', or that ETag came with `fields` or `expand`' : ''}`
}
