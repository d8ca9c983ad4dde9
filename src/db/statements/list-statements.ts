import { isCovered } from '../../config/indexes/coverage.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import { exact } from '../../lookups/exact.js'
import { remember } from '../../remember.js'
import type { ListPlan, Scopes } from '../../resource/plan.js'
import type { Statement } from '../database.js'
import { COUNT_CAP, isCounted } from './count.js'
import { type Form, listForm } from './projections.js'
import { isFar, neededOrder, orderClause, pageRows, reversed } from './page-rows.js'
import { narrowing } from './scope.js'
import type { Rendered, Shapes } from './prepared-statements.js'
import { keyColumns, listSource, type ListSource, parameters } from './where.js'

/** The statements of lists. */
export interface ListStatements {
  list(plan: ListPlan): Statement
  count(plan: ListPlan): Statement
  /** Explains the rows that a plan's conditions match. */
  estimate(plan: ListPlan): Statement
}

interface Listed {
  readonly model: ModelSpec
  readonly form: Form<unknown, unknown>
  readonly shapes: Shapes
  /** Keeps the texts in which a client asks for a part of records, so that they do not take the places of others. */
  readonly selecting: Shapes
}

type Kind = Rendered['kind']
const QUICK: Kind = { retry: true, quick: true }
const PAGE: Kind = { retry: true, quick: 'perhaps' }
const READ: Kind = { retry: true, quick: false }

/** Compiles the statements of lists; each call of the result gives them within some scopes. */
export function compileListStatements(listed: Listed): (scopes: Scopes | undefined) => ListStatements {
  const { shapes, selecting, model } = listed
  const shapesFor = (plan: ListPlan) => (plan.selection === undefined ? shapes : selecting)
  // The same plan is asked for again and again. Scopes are of one request, so nothing of theirs is remembered.
  const filled = remember((plan: ListPlan) => shapesFor(plan).fill(renderList(listed, plan, undefined)))
  const unscoped: ListStatements = {
    list: (plan) => shapesFor(plan).send(filled(plan)),
    count: (plan) => shapes.serve(renderCount(model, plan)),
    estimate: (plan) => shapes.serve(renderEstimate(model, plan)),
  }
  return (scopes) => {
    if (scopes === undefined) return unscoped
    const within = (plan: ListPlan): ListPlan => ({
      ...plan,
      where: [...plan.where, ...(scopes.get(model.table) ?? [])],
    })
    return {
      list: (plan) => shapesFor(plan).serve(renderList(listed, within(plan), scopes)),
      count: (plan) => shapes.serve(renderCount(model, within(plan))),
      estimate: (plan) => shapes.serve(renderEstimate(model, within(plan))),
    }
  }
}

function renderList({ model, form }: Listed, plan: ListPlan, scopes: Scopes | undefined): Rendered {
  const params = parameters()
  const table = identifier(model.table)
  const key = identifier(model.primaryKey.column)
  const { page, select, fields } = listForm(form, plan, narrowing(scopes, params))
  const stored = columnsOf(model, new Set([...fields, ...plan.order.map(({ field }) => field)]))
  const backwards = 'before' in plan.start
  const source = listSource(plan, table, params)
  const order = neededOrder(plan)
  const cutOrder = backwards ? reversed(order) : order
  const size = plan.limit === undefined ? undefined : `${params.add(String(plan.limit))}::int`
  const limit = size === undefined ? '' : ` limit ${size} + 1`
  const rows = pageRows(plan, { ...source, table, key, columns: stored, order: cutOrder, limit }, params)
  const text = page.text({
    // The page is cut out before anything is made of its rows: else it would be made of those that are passed over, too.
    cut: `select ${stored} from ${rows}`,
    table,
    order: orderClause(order, table),
    selected: select,
    keys: plan.keyset ? keyColumns(plan.order) : [],
    count: isCounted(plan) ? counted(plan, source) : undefined,
    size,
    cutOrder: orderClause(cutOrder, table),
  })
  const kind = isQuick(model, plan) ? QUICK : isPage(plan) ? PAGE : READ
  return { text, values: params.values, kind, raw: page.raw?.({ counted: isCounted(plan) }) }
}

function renderCount({ table }: ModelSpec, plan: ListPlan): Rendered {
  const params = parameters()
  return { text: counted(plan, listSource(plan, identifier(table), params)), values: params.values, kind: READ }
}

function renderEstimate({ table }: ModelSpec, plan: ListPlan): Rendered {
  const params = parameters()
  const { from, where } = listSource(plan, identifier(table), params)
  const text = `explain (format json) select 1 from ${from}${where}`
  return { text, values: params.values, kind: READ }
}

function counted({ total }: ListPlan, { from, where }: ListSource): string {
  const rows = `from ${from}${where}`
  return total === 'exact'
    ? `select count(*) ${rows}`
    : `select count(*) from (select 1 ${rows} limit ${COUNT_CAP + 1}) c`
}

/** Columns of some fields, in the order of the model. */
function columnsOf({ fields }: ModelSpec, wanted: ReadonlySet<FieldSpec>): string {
  const columns = fields.filter((field) => wanted.has(field)).map((field) => identifier(field.column))
  return columns.join(', ')
}

/** Whether only the rows of a page are read, and not many before it. */
function isPage(plan: ListPlan): boolean {
  return plan.total !== 'exact' && plan.limit !== undefined && !isFar(plan)
}

/** Whether an index gives a page at once: nothing is sorted, and few rows are passed over or counted. */
function isQuick(model: ModelSpec, plan: ListPlan): boolean {
  if (!isPage(plan) || plan.search || plan.distinct || plan.selection?.expand.length) return false
  const equal = plan.where.map(({ field }) => field)
  return plan.where.every(({ lookup }) => lookup === exact) && isCovered(model, { equal, order: plan.order })
}
