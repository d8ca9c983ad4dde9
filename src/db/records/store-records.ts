import { fail } from '../../fail.js'
import type { ModelSpec } from '../../config/spec.js'
import { type Cell, readCell } from '../../fields/cell.js'
import { Problem } from '../../problem.js'
import { placed } from '../../resource/items.js'
import type { Id, Scopes } from '../../resource/plan.js'
import type { Result } from '../database.js'
import { type Projection, projectionFor } from '../statements/projections.js'
import { filledByScope } from '../statements/scope.js'
import type { Statements } from '../statements/statements.js'
import { placeOfTaken } from './guards.js'
import type { Store, Stored } from './store.js'
import { follow } from './store-lists.js'
import type { Sender } from './store-sender.js'

interface Bound<Item, Items> {
  readonly model: ModelSpec
  readonly projection: Projection<Item, Items>
  readonly statements: Statements
  readonly sender: Sender
}

interface Creates<Item, Items> extends Bound<Item, Items> {
  readonly scopes: Scopes | undefined
  /** How many records one statement creates. */
  readonly most: number
}

/** The create operations of a store. */
export function createsOn<Item, Items>({
  model,
  projection,
  statements,
  sender,
  scopes,
  most,
}: Creates<Item, Items>): Pick<Store<Item, Items>, 'create' | 'createMany'> {
  const read = readStored(model, projection)
  return {
    async create(row) {
      const [made] = (await sender.change(statements.create(row))).rows.map(read)
      return made ?? fail('an insert returned no row')
    },

    async createMany(rows) {
      const made: Stored<Item>[] = []
      for (let start = 0; start < rows.length; start += most) {
        const some = rows.slice(start, start + most)
        const { rows: answered } = await sender.change(statements.createMany(some)).catch((error: unknown) => {
          const filled = some.map((row) => filledByScope(model, row, scopes))
          const place = placeOfTaken(model, filled, error)
          throw place === undefined ? error : placed(error, start + place)
        })
        made.push(...answered.map(read))
      }
      return made
    },
  }
}

/** The operations of a store on existing records. */
export function recordsOn<Item, Items>({
  model,
  projection,
  statements,
  sender,
}: Bound<Item, Items>): Omit<Store<Item, Items>, 'create' | 'createMany' | 'list' | 'batches'> {
  const { primaryKey } = model
  const writeId = (id: Id) => primaryKey.type.write(id, primaryKey.options)
  const read = readStored(model, projection)
  const readOne = ({ rows: [cells] }: Result, as = projection): Item | undefined => cells && as.read(cells)

  /** Throws `precondition_failed` if the record exists: then the preconditions were not met. */
  const refuseIfThere = async (key: string): Promise<void> => {
    if ((await sender.read(follow(statements.retrieve(key)))).rows.length === 0) return
    throw new Problem('precondition_failed', 'the record has changed since the version in If-Match')
  }

  return {
    async retrieve(id, selection) {
      if (selection === undefined) return readOne(await sender.read(statements.retrieve(writeId(id))))
      return readOne(await sender.read(statements.look(writeId(id), selection)), projectionFor(projection, selection))
    },

    lock: async (id) => readOne(await sender.change(statements.lock(writeId(id)))),

    retrieveMany: async (ids) => (await sender.read(statements.retrieveMany(ids.map(writeId)))).rows.map(read),

    async lockMany(ids) {
      const { rows } = await sender.change(statements.lockMany(ids.map(writeId)))
      return rows.map(([id]) => readCell(primaryKey, id) as Id)
    },

    destroyMany: async (ids) => (await sender.remove(statements.destroyMany(ids.map(writeId)))).count,

    async update(id, row, only) {
      const key = writeId(id)
      const found = await (Object.keys(row).length === 0
        ? sender.read(statements.retrieve(key, only))
        : sender.change(statements.update(key, row, only)))
      const item = readOne(found)
      if (item === undefined && only) await refuseIfThere(key)
      return item
    },

    async destroy(id, only) {
      const key = writeId(id)
      const { count } = await sender.remove(statements.destroy(key, only))
      if (count === 0 && only) await refuseIfThere(key)
      return count > 0
    },

    async take(id, only) {
      const key = writeId(id)
      const item = readOne(await sender.remove(statements.take(key, only)))
      if (item === undefined && only) await refuseIfThere(key)
      return item
    },
  }
}

/** Reads a row whose first cell is the key. */
function readStored<Item, Items>({ primaryKey }: ModelSpec, projection: Projection<Item, Items>) {
  return ([id, ...cells]: readonly Cell[]): Stored<Item> => ({
    id: readCell(primaryKey, id) as Id,
    item: projection.read(cells),
  })
}
