import type { ModelSpec } from '../../config/spec.js'
import { Problem } from '../../foundation/problem.js'
import { doAtIndex, withIndex } from '../../resource/bodies/items.js'
import { recordKey } from '../../resource/keys/record-key.js'
import type { Id } from '../../resource/plan.js'
import type { Connection, Result } from '../database.js'
import type { Projection } from '../statements/projections.js'
import type { Bounds } from '../statements/rules/bounds.js'
import type { Statements } from '../statements/statements.js'
import { placeOfReferred } from './guards.js'
import { missingOr, rejectionsOn } from './rejected-changes.js'
import type { Bounded, Store } from './store.js'
import { isKept, type SkippedRows, skipsOn } from './skipped-rows.js'
import { follow } from './store-lists.js'
import type { Sender } from './store-sender.js'

/** A resource, as the stores of its records know it. */
export interface Bound<Item, Items> {
  readonly model: ModelSpec
  readonly projection: Projection<Item, Items>
  readonly statements: Statements
  readonly sender: Sender
}

/** A resource, as the stores that change its records know it. */
export interface Changes<Item, Items> extends Bound<Item, Items> {
  readonly skipped: SkippedRows
  readonly connection: Connection
  /** Whether clients may select parts of a record. */
  readonly selectable: boolean
}

/** A record to delete, and its place in the request. */
type Place = readonly [place: number, id: Id]

function idOf([, id]: Place): Id {
  return id
}

type Destroy<Item, Items> = Bounded<Store<Item, Items>>['destroy']

/** The operations of stores that delete records. */
export function deletionsOn<Item, Items>(
  { model, projection, statements, sender, skipped, connection, selectable }: Changes<Item, Items>,
  { rejectRemaining }: ReturnType<typeof rejectionsOn>,
  skips: ReturnType<typeof skipsOn>,
): Bounded<Pick<Store<Item, Items>, 'destroy' | 'destroyMany' | 'take'>> {
  const key = recordKey(model)
  const orMissing = missingOr(model, sender)
  const read = ({ rows: [cells] }: Result): Item | undefined => cells && projection.read(cells)

  const { maySkip, mayRepeatKeys, digestBefore, isGone, rejectKept } = skips

  const destroyBy = (by: Sender, { digestBefore, isGone } = skips): Destroy<Item, Items> => {
    return async (bounds, id, only) => {
      const written = key.write(id)
      const remove = async () => {
        const before = await digestBefore('delete', bounds, written)
        const { count } = await by.remove(statements.destroy(bounds, written, only), bounds)
        return count > 0 || isGone(bounds, written, before, only)
      }
      return (await remove().catch(orMissing)) ?? false
    }
  }
  /** Returns the keys of the rows that the request sees. In tables of other programs, several rows can have one key. */
  const find = async (by: Sender, bounds: Bounds | undefined, ids: readonly Id[]): Promise<readonly string[]> => {
    const { rows } = await by.read(follow(statements.findMany(bounds, ids.map(key.write))))
    return rows.map((cells) => key.text(key.read(cells)))
  }
  /** Deletes records by one statement, or none if the request still sees some of them: it returns these. */
  const removeAll = async (bounds: Bounds | undefined, places: readonly Place[]): Promise<readonly Place[]> => {
    const ids = places.map(idOf)
    const undo = new Error('some records are left')
    let left: ReadonlySet<string> = new Set()
    const remove = async (inside: Sender) => {
      await inside.remove(statements.destroyMany(bounds, ids.map(key.write)), bounds)
      left = new Set(await find(inside, bounds, ids))
      if (left.size > 0) throw undo
    }
    await sender.attempt(remove).catch((error: unknown) => {
      if (error !== undo) throw error
    })
    const named = places.filter(([, id]) => left.has(key.text(id)))
    // A key that ignores case can be stored in another spelling: then none of the records is known to be deleted.
    return named.length < left.size ? places : named
  }
  /** Deletes a record, or undoes what its triggers have done if they keep it. */
  const destroyOrUndo = (bounds: Bounds | undefined, id: Id): Promise<boolean> =>
    sender.attempt((inside) => {
      const rejections = rejectionsOn({ model, statements, sender: inside, selectable })
      const own = skipsOn({ model, statements, sender: inside, skipped, connection }, rejections)
      return destroyBy(inside, own)(bounds, id)
    })
  /** Deletes records one by one, and returns those that a trigger keeps. */
  const destroyEach = async (bounds: Bounds | undefined, places: readonly Place[]): Promise<readonly Place[]> => {
    const kept: Place[] = []
    for (const [place, id] of places) {
      const keep = (error: unknown) => {
        if (!isKept(error)) throw error
        kept.push([place, id])
      }
      await doAtIndex(place, () => destroyOrUndo(bounds, id).catch(keep), key.fields)
    }
    return kept
  }

  return {
    destroy: destroyBy(sender),

    async destroyMany(bounds, ids) {
      const withPlace = (error: unknown): never => {
        const place = placeOfReferred(model, ids, error)
        throw place === undefined ? error : withIndex(error, place, key.fields)
      }
      const mayKeep = await maySkip('delete')
      const existing = mayKeep || (await mayRepeatKeys()) ? (await find(sender, bounds, ids)).length : ids.length
      if (!mayKeep) {
        const removal = statements.destroyMany(bounds, ids.map(key.write))
        const { count } = await sender.remove(removal, bounds).catch(withPlace)
        if (count !== existing) await rejectRemaining(bounds, ids)
        return count
      }
      await deleteInTurn([...ids.entries()], {
        removeAll: (places) => removeAll(bounds, places).catch(withPlace),
        destroyEach: (places) => destroyEach(bounds, places),
        reject: ([place]) => doAtIndex(place, () => rejectKept('delete'), key.fields),
      })
      return existing
    },

    async take(bounds, id, only) {
      const written = key.write(id)
      const remove = async () => {
        const before = await digestBefore('delete', bounds, written)
        const last = before === undefined ? undefined : read(await sender.read(statements.retrieve(bounds, written)))
        const item = read(await sender.remove(statements.take(bounds, written, only), bounds))
        if (item !== undefined) return item
        return (await isGone(bounds, written, before, only)) ? last : undefined
      }
      return remove().catch(orMissing)
    },
  }
}

/** The ways in which the records of a request are deleted. */
interface Deletions {
  /** Deletes all by one statement, or none if some of them are left: it returns these. */
  removeAll(places: readonly Place[]): Promise<readonly Place[]>
  /** Deletes them one by one, and returns those that a trigger keeps. */
  destroyEach(places: readonly Place[]): Promise<readonly Place[]>
  /** Rejects the request because of a record that a trigger keeps. */
  reject(place: Place): Promise<never>
}

/** The most deletions of single records for a request, besides one of each. A statement for many of them counts as several. */
const MAX_DELETIONS = 2_500
const DELETIONS_OF_ROUND = 10
const TOO_MANY =
  'The database deletes these records only one after another, in more steps than one request may take; delete fewer at once'

/** Deletes records of which a trigger may keep some, in an order in which it keeps none. */
async function deleteInTurn(places: readonly Place[], { removeAll, destroyEach, reject }: Deletions): Promise<void> {
  let rest = places
  let deletions = 0
  const count = (more: number) => {
    deletions += more
    if (deletions > MAX_DELETIONS + places.length) throw new Problem('conflict', TOO_MANY)
  }
  while (rest.length > 0) {
    count(DELETIONS_OF_ROUND)
    const staying = new Set(await removeAll(rest))
    if (staying.size === 0) return
    const others = rest.filter((each) => !staying.has(each))
    // A trigger may keep the records because of the others.
    if (others.length > 0 && (await isRemoved(others, removeAll))) {
      rest = [...staying]
      continue
    }
    // One by one, because the deletion of a record may change another, which a trigger keeps; now, because they may refer to the others.
    count(staying.size)
    const kept = await destroyEach([...staying])
    if (kept.length === staying.size) return reject(kept.reduce((first, each) => (each[0] < first[0] ? each : first)))
    // In the other direction the next time: a trigger may keep records until those after them are deleted, or those before them.
    rest = [...kept.toReversed(), ...others]
  }
}

/** Whether one statement has deleted all of some records. If not, it has deleted none, perhaps because others refer to them. */
async function isRemoved(places: readonly Place[], removeAll: Deletions['removeAll']): Promise<boolean> {
  try {
    return (await removeAll(places)).length === 0
  } catch (error) {
    if (error instanceof Problem && error.type === 'conflict') return false
    throw error
  }
}
