import { tableAlias, tableSql } from '../../fields/table-name.js'
import { isCovered } from '../../config/indexes/coverage.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import { exact } from '../../lookups/exact.js'
import { remember } from '../../remember.js'
import type { ListPlan, Scopes } from '../../resource/plan.js'
import type { Statement } from '../database.js'
import { COUNT_CAP, isCounted } from './count.js'
import { type Projection, listProjection } from './projections.js'
import { isFar, neededOrder, orderClause, pageRows, reversed } from './page-rows.js'
import { narrowing } from './scope.js'
import type { Rendered, PreparedStatements } from './prepared-statements.js'
import { keyColumns, listSource, type ListSource, type ListTable, parameters } from './where.js'

/** The statements of lists. */
export interface ListStatements {
  list(plan: ListPlan): Statement
  count(plan: ListPlan): Statement
  /** Explains a query for the rows that match the plan's conditions. */
  estimate(plan: ListPlan): Statement
}

interface Listed {
  readonly model: ModelSpec
  readonly table: ListTable
  readonly projection: Projection<unknown, unknown>
  readonly prepared: PreparedStatements
  /** Texts of partial reads (`fields`, `expand`), cached separately so that they do not evict the others. */
  readonly partial: PreparedStatements
}

type Kind = Rendered['kind']
const QUICK: Kind = { retry: true, quick: true }
const PAGE: Kind = { retry: true, quick: 'perhaps' }
const READ: Kind = { retry: true, quick: false }

/** Compiles the statements of lists; each call of the result returns them within some scopes. */
export function compileListStatements(given: Omit<Listed, 'table'>): (scopes: Scopes | undefined) => ListStatements {
  const { prepared, partial, model } = given
  const table: ListTable = { sql: tableSql(model.table), alias: tableAlias(model.table) }
  const listed = { ...given, table }
  const statementsFor = (plan: ListPlan) => (plan.selection === undefined ? prepared : partial)
  // Requests repeat plans. Scopes belong to one request, so statements with a scope are not cached.
  const filled = remember((plan: ListPlan) => statementsFor(plan).fill(renderList(listed, plan, undefined)))
  const unscoped: ListStatements = {
    list: (plan) => statementsFor(plan).send(filled(plan)),
    count: (plan) => prepared.serve(renderCount(table, plan)),
    estimate: (plan) => prepared.serve(renderEstimate(table, plan)),
  }
  return (scopes) => {
    if (scopes === undefined) return unscoped
    const within = (plan: ListPlan): ListPlan => ({
      ...plan,
      where: [...plan.where, ...(scopes.get(model.table) ?? [])],
    })
    return {
      list: (plan) => statementsFor(plan).serve(renderList(listed, within(plan), scopes)),
      count: (plan) => prepared.serve(renderCount(table, within(plan))),
      estimate: (plan) => prepared.serve(renderEstimate(table, within(plan))),
    }
  }
}

function renderList(
  { model, table: listed, projection }: Listed,
  plan: ListPlan,
  scopes: Scopes | undefined,
): Rendered {
  const params = parameters()
  const { alias: table } = listed
  const key = model.key.map(({ column }) => identifier(column))
  const { page, select, fields } = listProjection(projection, plan, narrowing(scopes, params))
  const stored = columnsOf(model, new Set([...fields, ...plan.order.map(({ field }) => field)]))
  const backwards = 'before' in plan.start
  const source = listSource(plan, listed, params)
  const order = neededOrder(plan)
  const cutOrder = backwards ? reversed(order) : order
  const size = plan.limit === undefined ? undefined : `${params.add(String(plan.limit))}::int`
  const limit = size === undefined ? '' : ` limit ${size} + 1`
  const rows = pageRows(plan, { ...source, table, key, columns: stored, order: cutOrder, limit }, params)
  const text = page.text({
    // Limits the rows before building documents; otherwise documents would be built for skipped rows, too.
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

function renderCount(table: ListTable, plan: ListPlan): Rendered {
  const params = parameters()
  return { text: counted(plan, listSource(plan, table, params)), values: params.values, kind: READ }
}

function renderEstimate(table: ListTable, plan: ListPlan): Rendered {
  const params = parameters()
  const { from, where } = listSource(plan, table, params)
  const text = `explain (format json) select 1 from ${from}${where}`
  return { text, values: params.values, kind: READ }
}

function counted({ total }: ListPlan, { from, where }: ListSource): string {
  const rows = `from ${from}${where}`
  return total === 'exact'
    ? `select count(*) ${rows}`
    : `select count(*) from (select 1 ${rows} limit ${COUNT_CAP + 1}) c`
}

/** The columns of some fields, in the order of the model. */
function columnsOf({ fields }: ModelSpec, wanted: ReadonlySet<FieldSpec>): string {
  const columns = fields.filter((field) => wanted.has(field)).map((field) => identifier(field.column))
  return columns.join(', ')
}

/** Whether only the rows of a page are read, without skipping many. */
function isPage(plan: ListPlan): boolean {
  return plan.total !== 'exact' && plan.limit !== undefined && !isFar(plan)
}

/** Whether an index yields a page at once: nothing is sorted, and few rows are skipped or counted. */
function isQuick(model: ModelSpec, plan: ListPlan): boolean {
  if (!isPage(plan) || plan.search || plan.distinct || plan.selection?.expand.length) return false
  const equal = plan.where.map(({ field }) => field)
  return plan.where.every(({ lookup }) => lookup === exact) && isCovered(model, { equal, order: plan.order })
}
