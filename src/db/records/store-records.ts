import type { FieldSpec, GrantSpec, ModelSpec } from '../../config/spec.js'
import type { Cell } from '../../fields/cell.js'
import { recordKey } from '../../resource/keys/record-key.js'
import type { Id, Row } from '../../resource/plan.js'
import { Problem } from '../../foundation/problem.js'
import type { Result } from '../database.js'
import { type Projection, projectionFor } from '../statements/projections.js'
import type { Bounds, Granted } from '../statements/rules/bounds.js'
import { missingOr, rejectionsOn } from './rejected-changes.js'
import { type Bounded, splitRows, type Store, type Stored } from './store.js'
import { skipsOn } from './skipped-rows.js'
import { type Bound, type Changes, deletionsOn } from './store-deletions.js'
import { follow } from './store-lists.js'
import type { Written } from './store-sender.js'
import type { Unfilled } from '../statements/write-columns.js'

const KEYLESS = 'The database did not return the key of the new record: a trigger has not set it'
const SKIPPED =
  'The database did not return the new record: a trigger or a rule has skipped it or moved it to another table'

/** A resource, as the stores that create its records know it. */
interface Creations<Item, Items> extends Changes<Item, Items> {
  readonly unfilled: Unfilled
}

/** The create operations of stores. */
export function createsOn<Item, Items>({
  model,
  projection,
  statements,
  sender,
  skipped,
  unfilled,
  connection,
}: Creations<Item, Items>): Bounded<Pick<Store<Item, Items>, 'create' | 'createMany'>> {
  const readAny = readStored(model, projection)

  const reject = (reason: string): never => {
    skipped.note(model)
    throw new Problem(sender.inTransaction ? 'conflict' : 'outcome_unknown', reason)
  }
  /** Outside of a transaction, the changes of the trigger stay, whether or not the caller may write the rows. */
  const rejectSkipped = async (written: Written): Promise<never> => {
    skipped.note(model)
    if (sender.inTransaction) await sender.rehearse(written)
    return reject(SKIPPED)
  }
  const read = (cells: readonly Cell[]): Stored<Item> =>
    cells.slice(0, model.key.length).includes(null) ? reject(KEYLESS) : readAny(cells)

  const key = recordKey(model)

  const collides = collidingOn({ model, sender, skipped, connection })
  /** New records have a value in each column, but the database assigns free keys. */
  const mayCollide = (bounds: Bounds | undefined, rows: readonly Row[]) =>
    collides(bounds, () => {
      const isNamed = ({ name }: FieldSpec) => rows.some((row) => Object.hasOwn(row, name))
      const free = model.key.filter((field) => field.assigned && !isNamed(field)).map(({ column }) => column)
      return (column) => !free.includes(column)
    })

  /** Whether a trigger may change new records after the insert. It runs before the insert, whose error is explained by what it has read of the table. */
  const mayRewrite = () => sender.inTransaction && skipped.mayRewrite(model, 'insert', connection)

  /** Reads new records that a trigger may have changed since; those that the request no longer sees stay as they were. */
  const readAgain = async (
    bounds: Bounds | undefined,
    made: readonly Stored<Item>[],
  ): Promise<readonly Stored<Item>[]> => {
    if (model.key.length === 0 || made.length === 0) return made
    const ids = made.map(({ id }) => key.write(id))
    const { rows } = await sender.read(follow(statements.retrieveMany(bounds, ids)))
    const stored = new Map(rows.map(read).map((each) => [key.text(each.id), each]))
    return made.map((each) => stored.get(key.text(each.id)) ?? each)
  }

  return {
    async create(bounds, given) {
      const row = definedIn(given)
      const isRewritten = await mayRewrite()
      const rehearsals = (limits: Bounds) => statements.rehearseCreate(limits, [row])
      const written = { bounds, rows: [row], mayCollide: await mayCollide(bounds, [row]), rehearsals }
      const { rows } = await sender.createInTurn(statements.create(bounds, row, await unfilled(connection)), written)
      const returned = rows.slice(0, 1).map(read)
      const [made] = isRewritten ? await readAgain(bounds, returned) : returned
      return made ?? rejectSkipped(written)
    },

    async createMany(bounds, given) {
      const rows = given.map(definedIn)
      const made: Stored<Item>[] = []
      const isRewritten = await mayRewrite()
      const isColliding = await mayCollide(bounds, rows)
      const filled = await unfilled(connection)
      for (const some of splitRows(model, rows)) {
        const rehearsals = (limits: Bounds) => statements.rehearseCreate(limits, some)
        const written = { bounds, rows: some, start: made.length, mayCollide: isColliding, rehearsals }
        const ways = statements.createMany(bounds, some, filled)
        const { rows: answered } = await sender.createInTurn(ways, written)
        if (answered.length < some.length) await rejectSkipped(written)
        made.push(...answered.map(read))
      }
      return isRewritten ? readAgain(bounds, made) : made
    },
  }
}

/** The operations of stores on existing records. */
export function recordsOn<Item, Items>({
  model,
  projection,
  statements,
  sender,
  skipped,
  connection,
  selectable,
}: Changes<Item, Items>): Bounded<Omit<Store<Item, Items>, 'create' | 'createMany' | 'list' | 'batches'>> {
  const key = recordKey(model)
  const read = readStored(model, projection)
  const rejections = rejectionsOn({ model, statements, sender, selectable })
  const { rejectUncovered, rejectUnmet, rejectIfThere } = rejections
  const skips = skipsOn({ model, statements, sender, skipped, connection }, rejections)
  const { digestBefore, holds, rejectKept } = skips
  const readOne = ({ rows: [cells] }: Result, as = projection): Item | undefined => cells && as.read(cells)

  const orMissing = missingOr(model, sender)
  const ifPossible = <T>(operation: () => Promise<T>): Promise<T | undefined> => operation().catch(orMissing)

  const coveringOf = coveringBy({ model, statements, sender })
  const collides = collidingOn({ model, sender, skipped, connection })

  /** Reads a changed record again if a trigger may have changed it since. */
  const readAgain = async (bounds: Bounds | undefined, id: readonly string[]): Promise<Item | undefined> =>
    sender.inTransaction && (await skipped.mayRewrite(model, 'update', connection))
      ? readOne(await sender.read(follow(statements.retrieve(bounds, id))))
      : undefined

  return {
    async retrieve(bounds, id, selection) {
      const written = key.write(id)
      try {
        if (selection === undefined) return readOne(await sender.read(statements.retrieve(bounds, written)))
        const found = await sender.read(statements.look(bounds, written, selection))
        return readOne(found, projectionFor(projection, selection))
      } catch (error) {
        return orMissing(error)
      }
    },

    lock: (bounds, id, only) =>
      ifPossible(async () => {
        const written = key.write(id)
        const locking = statements.lock(bounds, written, only)
        const item = readOne(await sender.lock(locking, statements.retrieve(bounds, written, only), bounds))
        if (item === undefined) await rejectUnmet(bounds, written, only)
        return item
      }),

    async mayRun(bounds, action, id) {
      const granted = bounds?.granted
      const grants = granted?.access.granting(action) ?? []
      if (!granted || grants.some(({ rows }) => rows === undefined)) return true
      return (await coveringOf(granted, grants, id)).length > 0
    },

    covering: async (bounds, grants, id) => (bounds?.granted ? coveringOf(bounds.granted, grants, id) : grants),

    retrieveMany: async (bounds, ids) =>
      (await sender.read(statements.retrieveMany(bounds, ids.map(key.write)))).rows.map(read),

    async lockMany(bounds, ids) {
      const written = ids.map(key.write)
      const [locking, finding] = [statements.lockMany(bounds, written), statements.findMany(bounds, written)]
      const locked = await ifPossible(() => sender.lock(locking, finding, bounds))
      return locked?.rows.map(key.read) ?? []
    },

    update: (bounds, id, given, only) =>
      ifPossible(async () => {
        const written = key.write(id)
        const row = key.without(id, definedIn(given))
        if (Object.keys(row).length === 0) {
          // Nothing is written, but a grant must cover the record.
          await rejectUncovered(bounds, written, row)
          const item = readOne(await sender.read(statements.retrieve(bounds, written, only)))
          if (item === undefined) await rejectUnmet(bounds, written, only)
          return item
        }
        const before = await digestBefore('update', bounds, written)
        const updating = (locks: boolean) => statements.update(bounds, written, row, { only, locks })
        const mayCollide = await collides(bounds, () => isWrittenBy(model, row, bounds))
        const rehearsals = (limits: Bounds) => statements.rehearseUpdate(limits, written, row)
        const asked = { bounds, rows: [row], mayCollide, rehearsals }
        const item = readOne(await sender.updateInTurn(updating, asked))
        if (item !== undefined) return (await readAgain(bounds, written)) ?? item
        await rejectIfThere(bounds, written, row, only)
        const isSame = await skipped.skipsSame(model, connection)
        if (before !== undefined || isSame) await sender.rehearse(asked)
        if (before !== undefined && !(isSame && (await holds(bounds, written, row)))) return rejectKept('update')
        return isSame ? readOne(await sender.read(statements.retrieve(bounds, written, only))) : undefined
      }),

    ...deletionsOn({ model, projection, statements, sender, skipped, connection, selectable }, rejections, skips),
  }
}

/** Returns a function that tells whether a write within bounds may fail by a duplicate that would end its transaction. */
function collidingOn({
  model,
  sender,
  skipped,
  connection,
}: Pick<Changes<unknown, unknown>, 'model' | 'sender' | 'skipped' | 'connection'>) {
  return (bounds: Bounds | undefined, written: () => (column: string) => boolean): boolean | Promise<boolean> => {
    if (!bounds || !sender.inTransaction) return false
    return skipped.uniqueColumns(model, connection).then((columns) => columns?.some(written()) ?? true)
  }
}

/** Returns whether a change may write a column, with the values that grants and the server set. */
function isWrittenBy({ fields }: ModelSpec, row: Row, bounds: Bounds | undefined): (column: string) => boolean {
  const presets = bounds?.granted?.access.change.flatMap(({ set }) => set.map(({ field }) => field.name)) ?? []
  const isWritten = ({ name, auto }: FieldSpec) =>
    Object.hasOwn(row, name) || auto === 'on_update' || presets.includes(name)
  return (column) => fields.some((field) => field.column === column && isWritten(field))
}

function coveringBy({ model, statements, sender }: Pick<Bound<unknown, unknown>, 'model' | 'statements' | 'sender'>) {
  return async (granted: Granted, grants: readonly GrantSpec[], id: Id): Promise<readonly GrantSpec[]> => {
    const limited = grants.filter(({ rows }) => rows !== undefined)
    if (limited.length === 0) return grants
    const [covered] = (await sender.read(follow(statements.covering(granted, recordKey(model).write(id), limited))))
      .rows
    return grants.filter((grant) => grant.rows === undefined || covered?.[limited.indexOf(grant)] === 'true')
  }
}

/** The members that a row names. Code leaves a member out by making it undefined, too. */
function definedIn(row: Row): Row {
  for (const name in row) {
    if (row[name] === undefined)
      return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined))
  }
  return row
}

/** Reads a row that begins with the key. */
function readStored<Item, Items>(model: ModelSpec, projection: Projection<Item, Items>) {
  const key = recordKey(model)
  return (cells: readonly Cell[]): Stored<Item> => ({
    id: key.read(cells),
    item: projection.read(cells.slice(key.fields.length)),
  })
}
