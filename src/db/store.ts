import type { ModelSpec, OrderSpec } from '../config/spec.js'
import type { Fault } from '../problem.js'
import { readCell } from '../fields/cell.js'
import type { Id, ListPage, ListPlan, Row } from '../resource/plan.js'
import type { Resource } from '../resource/resource.js'
import { countBeyondCap, COUNT_CAP, isCounted } from './count.js'
import { constraintFields } from './constraint-names.js'
import type { Connection, Result, Statement } from './database.js'
import { toProblem } from './errors.js'
import type { Form } from './forms.js'
import { compileStatements, type Statements } from './statements.js'

/** The records of one resource, each answered in the form `Item`. Rows go in by field name. */
export interface Store<Item> {
  list(plan: ListPlan): Promise<ListPage<Item>>
  /** All records in primary-key order, in batches, one statement each. */
  batches(size: number): AsyncIterable<readonly Item[]>
  retrieve(id: Id): Promise<Item | undefined>
  create(row: Row): Promise<{ readonly id: Id; readonly item: Item }>
  /** Sets the given fields; undefined when there is no such record. */
  update(id: Id, row: Row): Promise<Item | undefined>
  /** Whether there was such a record. */
  destroy(id: Id): Promise<boolean>
}

type Cells = Result['rows'][number]

/** Compiles the statements of a resource in one form; each call of the result gives its store on one connection. */
export function compileStore<Item>(resource: Resource, form: Form<Item>): (connection: Connection) => Store<Item> {
  const { model } = resource.spec
  const parts = { model, form, statements: compileStatements(model, form.select), faults: constraintFaults(model) }
  return (connection) => bindStore(parts, connection)
}

interface StoreParts<Item> {
  readonly model: ModelSpec
  readonly form: Form<Item>
  readonly statements: Statements
  readonly faults: ReadonlyMap<string, Fault>
}

function bindStore<Item>({ model, form, statements, faults }: StoreParts<Item>, connection: Connection): Store<Item> {
  const { primaryKey } = model
  const writeId = (id: Id) => primaryKey.type.write(id, primaryKey.options)
  const change = async (statement: Statement): Promise<Result> => {
    try {
      return await connection.query(statement)
    } catch (error) {
      throw toProblem(error, faults)
    }
  }
  const readOne = ({ rows: [cells] }: Result): Item | undefined => cells && form.read(cells)

  const store: Store<Item> = {
    async list(plan) {
      const { rows } = await connection.query(statements.list(plan))
      const wanted = plan.limit === undefined ? rows : rows.slice(0, plan.limit)
      const ordered = 'before' in plan.start ? wanted.toReversed() : wanted
      const edges = plan.keyset ? plan.order : []
      const counted = isCounted(plan) ? 1 : 0
      const items = ordered.map((cells) => form.read(cells.slice(counted + edges.length)))
      const edge = (cells: Cells | undefined) =>
        plan.keyset && cells ? readKeys(edges, cells.slice(counted)) : undefined
      return {
        items,
        first: edge(ordered[0]),
        last: edge(ordered.at(-1)),
        more: rows.length > wanted.length,
        total: plan.total === 'none' ? undefined : await total(plan, rows),
      }
    },

    async *batches(size) {
      const order: readonly OrderSpec[] = [{ field: primaryKey, descending: false }]
      const plan = { where: [], order, limit: size, keyset: true, total: 'none' } as const
      let page = await store.list({ ...plan, start: { offset: 0 } })
      while (page.items.length > 0) {
        yield page.items
        if (!page.more || !page.last) return
        page = await store.list({ ...plan, start: { after: page.last } })
      }
    },

    retrieve: async (id) => readOne(await connection.query(statements.retrieve(writeId(id)))),

    async create(row) {
      const { rows } = await change(statements.create(row))
      const [[id, ...cells] = []] = rows
      if (id == null) throw new Error('an insert answered no row')
      return { id: readCell(primaryKey, id) as Id, item: form.read(cells) }
    },

    async update(id, row) {
      if (Object.keys(row).length === 0) return store.retrieve(id)
      return readOne(await change(statements.update(writeId(id), row)))
    },

    destroy: async (id) => (await connection.query(statements.destroy(writeId(id)))).count > 0,
  }

  const total = async (plan: ListPlan, page: Result['rows']): Promise<ListPage<Item>['total']> => {
    if (!isCounted(plan)) return { rows: page.length, estimated: false }
    const rows = page[0] ? Number(page[0][0]) : await countWithoutPage(plan)
    if (plan.total === 'exact' || rows <= COUNT_CAP) return { rows, estimated: false }
    return { rows: await countBeyondCap(connection, statements.estimate(plan)), estimated: true }
  }

  /** The count travels with the rows of a page; a page without rows has nothing to carry it. */
  const countWithoutPage = async (plan: ListPlan): Promise<number> => {
    if ('offset' in plan.start && plan.start.offset === 0) return 0
    return Number((await connection.query(statements.count(plan))).rows[0]?.[0])
  }

  return store
}

function readKeys(order: readonly OrderSpec[], cells: Cells): readonly unknown[] {
  return order.map(({ field }, index) => readCell(field, cells[index]))
}

const BROKEN = {
  unique: 'is taken by another record',
  foreign_key: 'names a record that does not exist',
  check: 'is not valid',
} as const

/** What a client is told when the database refuses a change, by the constraint that did. Of a private field it is told nothing. */
function constraintFaults(model: ModelSpec): ReadonlyMap<string, Fault> {
  const labels = new Map(model.fields.filter((field) => !field.private).map(({ name, label }) => [name, label]))
  return new Map(
    [...constraintFields(model)]
      .filter(([, { field }]) => labels.has(field))
      .map(([name, { field, kind }]) => [name, { field, message: `${labels.get(field)} ${BROKEN[kind]}` }]),
  )
}
