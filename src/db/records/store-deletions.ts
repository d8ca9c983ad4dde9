import type { ModelSpec } from '../../config/spec.js'
import { doAtIndex, withIndex } from '../../resource/bodies/items.js'
import { recordKey } from '../../resource/keys/record-key.js'
import type { Id, Precondition } from '../../resource/plan.js'
import type { Result } from '../database.js'
import type { Projection } from '../statements/projections.js'
import type { Bounds } from '../statements/rules/bounds.js'
import type { Statements } from '../statements/statements.js'
import { placeOfReferred } from './guards.js'
import { missingOr, type rejectionsOn } from './rejected-changes.js'
import type { Bounded, Store } from './store.js'
import { isKept, type skipsOn } from './skipped-rows.js'
import { follow } from './store-lists.js'
import type { Sender } from './store-sender.js'

/** A resource, as the stores of its records know it. */
export interface Bound<Item, Items> {
  readonly model: ModelSpec
  readonly projection: Projection<Item, Items>
  readonly statements: Statements
  readonly sender: Sender
}

/** A record to delete, and its place in the request. */
type Place = readonly [place: number, id: Id]

function idOf([, id]: Place): Id {
  return id
}

/** The operations of stores that delete records. */
export function deletionsOn<Item, Items>(
  { model, projection, statements, sender }: Bound<Item, Items>,
  { rejectRemaining }: ReturnType<typeof rejectionsOn>,
  { maySkip, mayRepeatKeys, digestBefore, isGone, rejectKept }: ReturnType<typeof skipsOn>,
): Bounded<Pick<Store<Item, Items>, 'destroy' | 'destroyMany' | 'take'>> {
  const key = recordKey(model)
  const orMissing = missingOr(model, sender)
  const read = ({ rows: [cells] }: Result): Item | undefined => cells && projection.read(cells)

  const destroy = async (bounds: Bounds | undefined, id: Id, only?: readonly Precondition[]): Promise<boolean> => {
    const written = key.write(id)
    const remove = async () => {
      const before = await digestBefore('delete', bounds, written)
      const { count } = await sender.remove(statements.destroy(bounds, written, only), bounds)
      return count > 0 || isGone(bounds, written, before, only)
    }
    return (await remove().catch(orMissing)) ?? false
  }
  /** Returns the keys of the rows that the request sees. In tables of other programs, several rows can have one key. */
  const find = async (by: Sender, bounds: Bounds | undefined, ids: readonly Id[]): Promise<readonly string[]> => {
    const { rows } = await by.read(follow(statements.findMany(bounds, ids.map(key.write))))
    return rows.map((cells) => key.text(key.read(cells)))
  }
  /** Deletes records by one statement, or none if the request still sees some of them: it returns their keys. */
  const removeAll = async (bounds: Bounds | undefined, ids: readonly Id[]): Promise<ReadonlySet<string>> => {
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
    return left
  }
  /** Deletes records one by one, and returns those that a trigger keeps. */
  const destroyEach = async (bounds: Bounds | undefined, places: readonly Place[]): Promise<readonly Place[]> => {
    const kept: Place[] = []
    for (const [place, id] of places) {
      const keep = (error: unknown) => {
        if (!isKept(error)) throw error
        kept.push([place, id])
      }
      await doAtIndex(place, () => destroy(bounds, id).catch(keep), key.fields)
    }
    return kept
  }
  /** Deletes records of which a trigger may keep some, in an order in which it keeps none. */
  const destroyInTurn = async (
    bounds: Bounds | undefined,
    places: readonly Place[],
    withPlace: (error: unknown) => never,
  ): Promise<void> => {
    let rest = places
    while (rest.length > 0) {
      const left = await removeAll(bounds, rest.map(idOf)).catch(withPlace)
      if (left.size === 0) return
      const named = rest.filter(([, id]) => left.has(key.text(id)))
      // A key that ignores case can be stored in another spelling: then none of the records is known to be deleted.
      const staying = named.length < left.size ? rest : named
      // One by one, because the deletion of a record may change another, which a trigger keeps; first, because they may refer to the others.
      const kept = await destroyEach(bounds, staying)
      const others = rest.filter((each) => !staying.includes(each))
      const [first] = kept
      if (first === undefined || kept.length < staying.length) {
        rest = [...kept, ...others]
        continue
      }
      // They may be kept because of the others.
      const isLast = others.length === 0 || (await removeAll(bounds, others.map(idOf)).catch(withPlace)).size > 0
      if (isLast) return doAtIndex(first[0], () => rejectKept('delete'), key.fields)
      rest = kept
    }
  }

  return {
    destroy,

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
      await destroyInTurn(bounds, [...ids.entries()], withPlace)
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
