import { fail } from '../../fail.js'
import type { AppSpec, ModelSpec, OrderSpec } from '../../config/spec.js'
import { type Cell, readCell } from '../../fields/cell.js'
import { remember } from '../../remember.js'
import { Problem } from '../../problem.js'
import { placed } from '../../resource/items.js'
import type { Id, ListPage, ListPlan, Precondition, Row, Selection } from '../../resource/plan.js'
import type { Resource } from '../../resource/resource.js'
import type { ChangeOf, IdOf, InsertOf, RecordOf } from '../../resource/typed.js'
import { COUNT_CAP, createEstimates, type Estimates, isCounted } from '../statements/count.js'
import type { Connection, Result, Statement } from '../database.js'
import type { Guards } from '../driver/blame.js'
import { toProblem, toReadFailure, toReferred } from '../driver/errors.js'
import { type Form, formFor, listForm } from '../statements/forms.js'
import { guardsOf, placeOfTaken, referrersOf } from './guards.js'
import type { PageCells } from '../statements/page.js'
import type { StatementCounts } from '../statements/shapes.js'
import { compileStatements, type Statements } from '../statements/statements.js'

/** A record and its id. */
export interface Stored<Item, Key = Id> {
  readonly id: Key
  readonly item: Item
}

/** The records of one resource, each answered in the form `Item` and several in the form `Items`. Rows go in by field name. */
export interface Store<Item, Items = readonly Item[], Key = Id, Insert = Row, Change = Row> {
  list(plan: ListPlan): Promise<ListPage<Items>>
  /** All records in primary-key order, in batches, one statement each. */
  batches(size: number): AsyncIterable<Items>
  /** Documents can be asked for in part; rows are always whole. */
  retrieve(id: Key, selection?: Selection): Promise<Item | undefined>
  /** As `retrieve`, and until the transaction ends nobody else changes the record; outside of one it only retrieves. */
  lock(id: Key): Promise<Item | undefined>
  create(row: Insert): Promise<Stored<Item, Key>>
  /** Makes all of them or none, in few statements and one transaction; answers them in the order of the rows. */
  createMany(rows: readonly Insert[]): Promise<readonly Stored<Item, Key>[]>
  /** Those that are there, in the order of their ids. */
  retrieveMany(ids: readonly Key[]): Promise<readonly Stored<Item, Key>[]>
  /** The ids of those that are there; until the transaction ends nobody else changes these records. */
  lockMany(ids: readonly Key[]): Promise<readonly Key[]>
  /** How many of them there were. */
  destroyMany(ids: readonly Key[]): Promise<number>
  /**
   * Sets the given fields; undefined when there is no such record. Preconditions, which documents alone can have, are judged by the
   * statement that changes the record.
   * @throws Problem `precondition_failed`
   */
  update(id: Key, row: Change, only?: readonly Precondition[]): Promise<Item | undefined>
  /**
   * Whether there was such a record.
   * @throws Problem `precondition_failed`
   */
  destroy(id: Key, only?: readonly Precondition[]): Promise<boolean>
  /**
   * Destroys a record and answers it as it was; undefined when there is no such record.
   * @throws Problem `precondition_failed`
   */
  take(id: Key, only?: readonly Precondition[]): Promise<Item | undefined>
}

/** The records of a resource as values. */
export type RecordStore<Name> = Store<
  RecordOf<Name>,
  readonly RecordOf<Name>[],
  IdOf<Name>,
  InsertOf<Name>,
  ChangeOf<Name>
>

/** The records of a resource as JSON text; several are one array, in UTF-8. */
export type DocumentStore<Name> = Store<string, Uint8Array, IdOf<Name>, InsertOf<Name>, ChangeOf<Name>>

/** PostgreSQL takes twice as many in one statement. */
const MOST_PARAMETERS = 32_000

interface Surroundings {
  readonly counts: StatementCounts
  readonly spec: AppSpec
}

/** How many records of a model one statement makes. More of them need a transaction, which stores themselves do not begin. */
export function rowsPerStatement({ fields }: ModelSpec): number {
  return Math.floor(MOST_PARAMETERS / fields.length)
}

/** Compiles the statements of a resource in one form; each call of the result gives its store on one connection. */
export function compileStore<Item, Items>(
  resource: Resource,
  form: Form<Item, Items>,
  { counts, spec }: Surroundings,
): (connection: Connection) => Store<Item, Items> {
  const { model } = resource.spec
  const statements = compileStatements(model, form, counts)
  const uncounted = remember((plan: ListPlan): ListPlan => ({ ...plan, total: 'none' }))
  const guards = guardsOf(model, spec.models)
  const referrers = referrersOf(spec, model)
  const parts = { model, form, statements, guards, referrers, estimates: createEstimates(), uncounted }
  return (connection) => bindStore(parts, connection)
}

interface StoreParts<Item, Items> {
  readonly model: ModelSpec
  readonly form: Form<Item, Items>
  readonly statements: Statements
  readonly guards: Guards
  /** As `referrersOf` says. */
  readonly referrers: ReadonlyMap<string, string>
  readonly estimates: Estimates
  readonly uncounted: (plan: ListPlan) => ListPlan
}

function bindStore<Item, Items>(
  { model, form, statements, guards, referrers, estimates, uncounted }: StoreParts<Item, Items>,
  connection: Connection,
): Store<Item, Items> {
  const { primaryKey } = model
  const writeId = (id: Id) => primaryKey.type.write(id, primaryKey.options)
  const change = async (statement: Statement): Promise<Result> => {
    try {
      return await connection.query(statement)
    } catch (error) {
      throw toProblem(error, guards)
    }
  }
  const remove = async (statement: Statement): Promise<Result> => {
    try {
      return await connection.query(statement)
    } catch (error) {
      throw toReferred(error, referrers)
    }
  }
  const ask = async (statement: Statement): Promise<Result> => {
    try {
      return await connection.query(statement)
    } catch (error) {
      throw toReadFailure(error)
    }
  }
  const readOne = ({ rows: [cells] }: Result, as = form): Item | undefined => cells && as.read(cells)

  const readStored = ([id, ...cells]: readonly Cell[]): Stored<Item> => ({
    id: readCell(primaryKey, id) as Id,
    item: form.read(cells),
  })

  const readPage = async (plan: ListPlan) => {
    return listForm(form, plan).page.read(await ask(statements.list(plan)), {
      plan,
      counted: isCounted(plan),
      keys: plan.keyset ? plan.order.length : 0,
    })
  }

  const store: Store<Item, Items> = {
    async list(plan) {
      const estimate = plan.total === 'capped' ? estimates.find(() => statements.estimate(plan)) : undefined
      const page = await readPage(estimate === undefined ? plan : uncounted(plan))
      const { items, first, last, more } = page
      return {
        items,
        length: page.length,
        first: first && readKeys(plan.order, first),
        last: last && readKeys(plan.order, last),
        more,
        total: estimate === undefined ? await total(plan, page) : { rows: estimate, estimated: true },
      }
    },

    async *batches(size) {
      const order: readonly OrderSpec[] = [{ field: primaryKey, descending: false }]
      const plan = { where: [], order, limit: size, keyset: true, total: 'none' } as const
      let page = await store.list({ ...plan, start: { offset: 0 } })
      while (page.last) {
        yield page.items
        if (!page.more) return
        page = await store.list({ ...plan, start: { after: page.last } })
      }
    },

    async retrieve(id, selection) {
      if (selection === undefined) return readOne(await ask(statements.retrieve(writeId(id))))
      return readOne(await ask(statements.look(writeId(id), selection)), formFor(form, selection))
    },

    lock: async (id) => readOne(await change(statements.lock(writeId(id)))),

    async create(row) {
      const [made] = (await change(statements.create(row))).rows.map(readStored)
      return made ?? fail('an insert answered no row')
    },

    async createMany(rows) {
      const size = rowsPerStatement(model)
      const made: Stored<Item>[] = []
      for (let start = 0; start < rows.length; start += size) {
        const some = rows.slice(start, start + size)
        const { rows: answered } = await change(statements.createMany(some)).catch((error: unknown) => {
          const place = placeOfTaken(model, some, error)
          throw place === undefined ? error : placed(error, start + place)
        })
        made.push(...answered.map(readStored))
      }
      return made
    },

    retrieveMany: async (ids) => (await ask(statements.retrieveMany(ids.map(writeId)))).rows.map(readStored),

    async lockMany(ids) {
      const { rows } = await change(statements.lockMany(ids.map(writeId)))
      return rows.map(([id]) => readCell(primaryKey, id) as Id)
    },

    destroyMany: async (ids) => (await remove(statements.destroyMany(ids.map(writeId)))).count,

    async update(id, row, only) {
      const key = writeId(id)
      const found = await (Object.keys(row).length === 0
        ? ask(statements.retrieve(key, only))
        : change(statements.update(key, row, only)))
      const item = readOne(found)
      if (item === undefined && only) await refuseIfThere(key)
      return item
    },

    async destroy(id, only) {
      const key = writeId(id)
      const { count } = await remove(statements.destroy(key, only))
      if (count === 0 && only) await refuseIfThere(key)
      return count > 0
    },

    async take(id, only) {
      const key = writeId(id)
      const item = readOne(await remove(statements.take(key, only)))
      if (item === undefined && only) await refuseIfThere(key)
      return item
    },
  }

  /** After nothing was changed: whether that is because of the preconditions or for want of the record. */
  const refuseIfThere = async (key: string): Promise<void> => {
    if ((await ask(follow(statements.retrieve(key)))).rows.length === 0) return
    throw new Problem('precondition_failed', 'the record is another than the one that the request is meant for')
  }

  const total = async (plan: ListPlan, page: PageCells<Items>): Promise<ListPage<Items>['total']> => {
    if (plan.total === 'none') return undefined
    if (!isCounted(plan)) return { rows: page.length, estimated: false }
    const rows = page.counted ?? (await countWithoutPage(plan))
    if (plan.total === 'exact' || rows <= COUNT_CAP) return { rows, estimated: false }
    return { rows: await estimates.make(follow(statements.estimate(plan)), connection), estimated: true }
  }

  /** A count travels with the rows of a page; a page without rows may have nothing to carry it. */
  const countWithoutPage = async (plan: ListPlan): Promise<number> => {
    if ('offset' in plan.start && plan.start.offset === 0) return 0
    return Number((await ask(follow(statements.count(plan)))).rows[0]?.[0])
  }

  return store
}

/** Whose first statement was done is not refused the second. */
function follow(statement: Statement): Statement {
  return { ...statement, follows: true }
}

function readKeys(order: readonly OrderSpec[], cells: readonly Cell[]): readonly unknown[] {
  return order.map(({ field }, index) => readCell(field, cells[index]))
}
