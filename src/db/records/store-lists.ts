import type { ModelSpec, OrderSpec } from '../../config/spec.js'
import { type Cell, readCell } from '../../fields/cell.js'
import type { ListPage, ListPlan } from '../../resource/plan.js'
import type { Connection, Statement } from '../database.js'
import { COUNT_CAP, type Estimates, isCounted } from '../statements/lists/count.js'
import type { Bounds } from '../statements/rules/bounds.js'
import { type Projection, listProjection } from '../statements/projections.js'
import type { PageCells } from '../statements/lists/page-shape.js'
import type { Statements } from '../statements/statements.js'
import type { Bounded, Store } from './store.js'
import type { Sender } from './store-sender.js'

interface Lists<Item, Items> {
  readonly model: ModelSpec
  readonly projection: Projection<Item, Items>
  readonly statements: Statements
  readonly sender: Sender
  readonly estimates: Estimates
  readonly uncounted: (plan: ListPlan) => ListPlan
  readonly exactly: (plan: ListPlan) => ListPlan
  readonly connection: Connection
}

/** The list operations of stores. */
export function listsOn<Item, Items>({
  model,
  projection,
  statements,
  sender,
  estimates,
  uncounted,
  exactly,
  connection,
}: Lists<Item, Items>): Bounded<Pick<Store<Item, Items>, 'list' | 'batches'>> {
  const readPage = async (bounds: Bounds | undefined, plan: ListPlan) =>
    listProjection(projection, plan).page.read(await sender.read(statements.list(bounds, plan), plan), {
      plan,
      counted: isCounted(plan),
      keys: plan.keyset ? plan.order.length : 0,
    })

  const list = async (bounds: Bounds | undefined, plan: ListPlan): Promise<ListPage<Items>> => {
    const estimate = plan.total === 'capped' ? estimates.find(() => statements.estimate(bounds, plan)) : undefined
    const page = await readPage(bounds, estimate === undefined ? plan : uncounted(plan))
    const { items, first, last, more } = page
    return {
      items,
      length: page.length,
      first: first && readKeys(plan.order, first),
      last: last && readKeys(plan.order, last),
      more,
      total: estimate === undefined ? await total(bounds, plan, page) : { rows: estimate, estimated: true },
    }
  }

  const total = async (
    bounds: Bounds | undefined,
    plan: ListPlan,
    page: PageCells<Items>,
  ): Promise<ListPage<Items>['total']> => {
    if (plan.total === 'none') return undefined
    if (!isCounted(plan)) return { rows: page.length, estimated: false }
    const rows = page.counted ?? (await countWithoutPage(bounds, plan))
    if (plan.total === 'exact' || rows <= COUNT_CAP) return { rows, estimated: false }
    if (plan.total === 'stepwise') return { rows: await countAll(bounds, exactly(plan)), estimated: false }
    return { rows: await estimates.make(follow(statements.estimate(bounds, plan)), connection), estimated: true }
  }

  /** A count normally comes with the rows of its page; an empty page may have no row to carry it. */
  const countWithoutPage = async (bounds: Bounds | undefined, plan: ListPlan): Promise<number> => {
    if ('offset' in plan.start && plan.start.offset === 0) return 0
    return countAll(bounds, plan)
  }

  const countAll = async (bounds: Bounds | undefined, plan: ListPlan): Promise<number> =>
    Number((await sender.read(follow(statements.count(bounds, plan)), plan)).rows[0]?.[0])

  return {
    list,
    async *batches(bounds, size) {
      const order: readonly OrderSpec[] = model.key.map((field) => ({ field, descending: false }))
      const plan = { where: [], order, limit: size, keyset: true, total: 'none' } as const
      let page = await list(bounds, { ...plan, start: { offset: 0 } })
      while (page.last) {
        yield page.items
        if (!page.more) return
        page = await list(bounds, { ...plan, start: { after: page.last } })
      }
    },
  }
}

/** Marks a follow-up statement of a request, which bypasses admission control. */
export function follow(statement: Statement): Statement {
  return { ...statement, follows: true }
}

function readKeys(order: readonly OrderSpec[], cells: readonly Cell[]): readonly unknown[] {
  return order.map(({ field }, index) => readCell(field, cells[index]))
}
