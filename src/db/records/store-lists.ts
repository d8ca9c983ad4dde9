import type { ModelSpec, OrderSpec } from '../../config/spec.js'
import { type Cell, readCell } from '../../fields/cell.js'
import type { ListPage, ListPlan } from '../../resource/plan.js'
import type { Connection, Statement } from '../database.js'
import { COUNT_CAP, type Estimates, isCounted } from '../statements/count.js'
import { type Projection, listProjection } from '../statements/projections.js'
import type { PageCells } from '../statements/page-shape.js'
import type { Statements } from '../statements/statements.js'
import type { Store } from './store.js'
import type { Sender } from './store-sender.js'

interface Lists<Item, Items> {
  readonly model: ModelSpec
  readonly projection: Projection<Item, Items>
  readonly statements: Statements
  readonly sender: Sender
  readonly estimates: Estimates
  readonly uncounted: (plan: ListPlan) => ListPlan
  readonly connection: Connection
}

/** The list operations of a store. */
export function listsOn<Item, Items>({
  model,
  projection,
  statements,
  sender,
  estimates,
  uncounted,
  connection,
}: Lists<Item, Items>): Pick<Store<Item, Items>, 'list' | 'batches'> {
  const readPage = async (plan: ListPlan) =>
    listProjection(projection, plan).page.read(await sender.read(statements.list(plan)), {
      plan,
      counted: isCounted(plan),
      keys: plan.keyset ? plan.order.length : 0,
    })

  const list = async (plan: ListPlan): Promise<ListPage<Items>> => {
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
  }

  const total = async (plan: ListPlan, page: PageCells<Items>): Promise<ListPage<Items>['total']> => {
    if (plan.total === 'none') return undefined
    if (!isCounted(plan)) return { rows: page.length, estimated: false }
    const rows = page.counted ?? (await countWithoutPage(plan))
    if (plan.total === 'exact' || rows <= COUNT_CAP) return { rows, estimated: false }
    return { rows: await estimates.make(follow(statements.estimate(plan)), connection), estimated: true }
  }

  /** A count normally comes with the rows of its page; an empty page may have no row to carry it. */
  const countWithoutPage = async (plan: ListPlan): Promise<number> => {
    if ('offset' in plan.start && plan.start.offset === 0) return 0
    return Number((await sender.read(follow(statements.count(plan)))).rows[0]?.[0])
  }

  return {
    list,
    async *batches(size) {
      const order: readonly OrderSpec[] = model.key.map((field) => ({ field, descending: false }))
      const plan = { where: [], order, limit: size, keyset: true, total: 'none' } as const
      let page = await list({ ...plan, start: { offset: 0 } })
      while (page.last) {
        yield page.items
        if (!page.more) return
        page = await list({ ...plan, start: { after: page.last } })
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
