import { tableAlias, tableSql } from '../../../fields/table-name.js'
import { isCovered } from '../../../config/indexes/coverage.js'
import { type FieldSpec, isOwnTable, type ModelSpec } from '../../../config/spec.js'
import { identifier } from '../../../fields/sql-literal.js'
import type { Cell } from '../../../fields/cell.js'
import { exact } from '../../../lookups/exact.js'
import { remember } from '../../../foundation/remember.js'
import { visibleRule } from '../../../resource/access.js'
import type { ListPlan } from '../../../resource/plan.js'
import type { Statement } from '../../database.js'
import { COUNT_CAP, isCounted } from './count.js'
import { comparedColumn } from '../../../fields/compared-column.js'
import { enforcesKey } from '../enforced-key.js'
import { type Projection, listProjection } from '../projections.js'
import { isFar, neededOrder, orderClause, pageRows, reversed } from './page-rows.js'
import { type Bounds, boundProjection, relatedBounds, showingClause, visibleClause } from '../rules/bounds.js'
import type { Rendered, PreparedStatements } from '../prepared-statements.js'
import { createTemplates, onlyCaller, renderedAlone, type Text } from '../templates.js'
import { rowPage } from './page-shape.js'
import { type Parameters, parameters } from '../parameters.js'
import { keyColumns, type ListLimits, listSource, type ListSource, type ListTable } from './where.js'

/** The statements of lists. */
export interface ListStatements {
  list(bounds: Bounds | undefined, plan: ListPlan): Statement
  count(bounds: Bounds | undefined, plan: ListPlan): Statement
  /** Explains a query for the rows that match the plan's conditions. */
  estimate(bounds: Bounds | undefined, plan: ListPlan): Statement
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

/** Compiles the statements of lists. */
export function compileListStatements(given: Omit<Listed, 'table'>): ListStatements {
  const { prepared, partial, model } = given
  const table = tableOf(model)
  const listed = { ...given, table }
  const statementsFor = (plan: ListPlan) => (plan.selection === undefined ? prepared : partial)
  // Requests repeat plans.
  const filled = remember((plan: ListPlan) =>
    statementsFor(plan).fill(renderedAlone((params) => renderList(listed, plan, undefined, params))),
  )
  const rendering = (render: (plan: ListPlan, limited: Limited | undefined, params: Parameters) => Text) => {
    const templates = remember((_plan: ListPlan) => createTemplates({ ownsValues: true }))
    return (bounds: Bounds | undefined, plan: ListPlan): Rendered => {
      const limited = bounds && { bounds, limits: limitsOf(model, bounds) }
      const renderWith = (params: Parameters) => render(plan, limited, params)
      const caller = onlyCaller(bounds)
      return caller ? templates(plan)({ caller }, renderWith) : renderedAlone(renderWith)
    }
  }
  const listing = rendering((plan, limited, params) => renderList(listed, plan, limited, params))
  const counting = rendering((plan, limited, params) => renderCount(table, plan, limited, params))
  const estimating = rendering((plan, limited, params) => renderEstimate(table, plan, limited, params))
  return {
    list: (bounds, plan) =>
      bounds === undefined ? statementsFor(plan).send(filled(plan)) : statementsFor(plan).serve(listing(bounds, plan)),
    count: (bounds, plan) => prepared.serve(counting(bounds, plan)),
    estimate: (bounds, plan) => prepared.serve(estimating(bounds, plan)),
  }
}

function tableOf({ table }: ModelSpec): ListTable {
  return { sql: tableSql(table), alias: tableAlias(table) }
}

function limitsOf(model: ModelSpec, bounds: Bounds): ListLimits {
  return {
    rows: (params) => visibleClause(model, bounds, params, 'list'),
    shows: (field, params) => showingClause(model, field, bounds, params),
    related: (params) => relatedBounds(bounds, params),
  }
}

interface Limited {
  readonly bounds: Bounds
  readonly limits: ListLimits
}

/** A statement with a row for each record of a list, and how a record is read from its cells. */
export interface RowStatement<Item> extends Pick<Rendered, 'text' | 'values'> {
  readonly read: (cells: readonly Cell[]) => Item
}

/** Compiles the statement that returns the records of a list as they are, not as a page. */
export function compileRowStatement<Item>(
  model: ModelSpec,
  projection: Projection<Item, unknown>,
): (plan: ListPlan, bounds: Bounds | undefined) => RowStatement<Item> {
  const table = tableOf(model)
  return (plan, bounds) => {
    const params = parameters()
    const limited = bounds && { bounds, limits: limitsOf(model, bounds) }
    const asked = { model, table, plan, limited, params }
    const projected = projectedFor(projection, asked)
    const page = rowPage(projected.read)
    const { text } = renderPage({ ...projected, page }, asked)
    return { text, values: params.values, read: projected.read }
  }
}

interface ListRequest extends Pick<Listed, 'model' | 'table'> {
  readonly plan: ListPlan
  readonly limited: Limited | undefined
  readonly params: Parameters
}

function projectedFor<Item, Items>(
  projection: Projection<Item, Items>,
  { plan, limited, params }: ListRequest,
): Projection<Item, Items> {
  return listProjection(
    // Distinct values come from rows that show their field.
    plan.distinct ? projection : boundProjection(projection, limited?.bounds, params),
    plan,
    relatedBounds(limited?.bounds, params),
  )
}

function renderList(
  { model, table, projection }: Listed,
  plan: ListPlan,
  limited: Limited | undefined,
  params: Parameters,
): Text {
  const asked = { model, table, plan, limited, params }
  return renderPage(projectedFor(projection, asked), asked)
}

function renderPage(
  { page, select, fields }: Projection<unknown, unknown>,
  { model, table: listed, plan, limited, params }: ListRequest,
): Text {
  const { alias: table } = listed
  const key = model.key.map((field) => comparedColumn(field))
  const enforced = isOwnTable(model) ? undefined : () => enforcesKey(model)
  const stored = columnsOf(model, new Set([...fields, ...plan.order.map(({ field }) => field)]))
  const backwards = 'before' in plan.start
  const source = listSource(plan, listed, params, limited?.limits)
  const order = neededOrder(plan)
  const cutOrder = backwards ? reversed(order) : order
  const size = plan.limit === undefined ? undefined : `${params.add(String(plan.limit))}::int`
  const limit = size === undefined ? '' : ` limit ${size} + 1`
  const rows = pageRows(plan, { ...source, table, key, enforced, columns: stored, order: cutOrder, limit }, params)
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
  const kind = isQuick(model, plan, limited?.bounds) ? QUICK : isPage(plan) ? PAGE : READ
  return { text, kind, raw: page.raw?.({ counted: isCounted(plan) }) }
}

function renderCount(table: ListTable, plan: ListPlan, limited: Limited | undefined, params: Parameters): Text {
  return { text: counted(plan, listSource(plan, table, params, limited?.limits)), kind: READ }
}

function renderEstimate(table: ListTable, plan: ListPlan, limited: Limited | undefined, params: Parameters): Text {
  const { from, where } = listSource(plan, table, params, limited?.limits)
  return { text: `explain (format json) select 1 from ${from}${where}`, kind: READ }
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

/** The fields whose values the bounds fix; undefined if they limit the rows in another way. */
function limitingFields(bounds: Bounds | undefined): readonly FieldSpec[] | undefined {
  if (bounds?.scopes) return undefined
  const rule = bounds?.granted && visibleRule(bounds.granted.access.list)
  if (rule === undefined) return []
  const [all = [], ...others] = rule
  const isFixed = all.every(
    ({ relations, lookup, value }) => relations.length === 0 && lookup === exact && !('user' in value),
  )
  return isFixed && others.length === 0 ? all.map(({ field }) => field) : undefined
}

/** Whether an index yields a page at once: nothing is sorted, and few rows are skipped or counted. */
function isQuick(model: ModelSpec, plan: ListPlan, bounds: Bounds | undefined): boolean {
  if (!isPage(plan) || plan.search || plan.distinct || plan.selection?.expand.length) return false
  const limiting = limitingFields(bounds)
  if (limiting === undefined) return false
  const equal = [...limiting, ...plan.where.map(({ field }) => field)]
  return (
    plan.where.every(({ lookup, related }) => lookup === exact && related === undefined) &&
    isCovered(model, { equal, order: plan.order })
  )
}
