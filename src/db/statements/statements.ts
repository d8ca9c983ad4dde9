import { fail } from '../../fail.js'
import { isCovered } from '../../config/indexes/coverage.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { type Cell, writeCell } from '../../fields/cell.js'
import { JsonMergePatch } from '../../fields/json-text.js'
import { identifier } from '../../fields/sql-literal.js'
import { exact } from '../../lookups/exact.js'
import { remember } from '../../remember.js'
import type { ListPlan, Precondition, Row, Selection } from '../../resource/plan.js'
import { type BulkStatements, compileBulkStatements } from './bulk-statements.js'
import { COUNT_CAP, isCounted } from './count.js'
import type { Statement } from '../database.js'
import { type Form, formFor, listForm } from './forms.js'
import { mergedInto } from './merge.js'
import { meets, shapeOfPreconditions } from './preconditions.js'
import { createShapes, type StatementCounts, type Template } from './shapes.js'
import { boundary, isFar, neededOrder, orderClause, pageRows, reversed } from './page-rows.js'
import { keyColumns, listSource, type ListSource, parameters } from './where.js'

/** Every statement that a resource in one form needs. The one place where SQL for records is made. */
export interface Statements extends BulkStatements {
  list(plan: ListPlan): Statement
  count(plan: ListPlan): Statement
  /** Explains the rows that a plan's conditions match. */
  estimate(plan: ListPlan): Statement
  /** With preconditions, only the record that meets them. */
  retrieve(id: string, only?: readonly Precondition[]): Statement
  /** What a client asks to see of a record. */
  look(id: string, selection: Selection): Statement
  /** As `retrieve`, and until the transaction ends nobody else changes the record. */
  lock(id: string): Statement
  create(row: Row): Statement
  update(id: string, row: Row, only?: readonly Precondition[]): Statement
  destroy(id: string, only?: readonly Precondition[]): Statement
  /** Deletes a record and answers it. */
  take(id: string, only?: readonly Precondition[]): Statement
}

type Kind = Template<never>['kind']

interface Change {
  readonly id: string
  readonly row: Row
  readonly only: readonly Precondition[]
}

const NOTHING: Row = Object.freeze({})
const ANYWAY: readonly Precondition[] = Object.freeze([])

/** Shapes that are kept, and prepared statements that each connection is asked to keep. A client can ask in more shapes than that. */
const MOST_SHAPES = 200
/** The same of shapes in which a client asks for a part of records, which must not take the places of the others. */
const MOST_SELECTING = 50

export function compileStatements(
  model: ModelSpec,
  form: Form<unknown, unknown>,
  counts: StatementCounts = { kept: 0, unkept: 0, generation: 0 },
): Statements {
  const table = identifier(model.table)
  const key = identifier(model.primaryKey.column)
  const { tag } = form
  const selected = form.select.join(', ')
  const touched = model.fields
    .filter((field) => field.auto === 'on_update')
    .map((field) => `${identifier(field.column)} = now()`)
  const fieldsOf = fieldLookup(model)
  const shapes = createShapes(model.table, counts, MOST_SHAPES)
  const selecting = createShapes(model.table, counts, MOST_SELECTING)
  const { serve } = shapes

  const counted = (plan: ListPlan, { from, where }: ListSource): string => {
    const rows = `from ${from}${where}`
    return plan.total === 'exact'
      ? `select count(*) ${rows}`
      : `select count(*) from (select 1 ${rows} limit ${COUNT_CAP + 1}) c`
  }
  const list = (plan: ListPlan): Template<ListPlan> => {
    const params = parameters()
    const { page, select, fields } = listForm(form, plan)
    const stored = columnsOf(model, new Set([...fields, ...plan.order.map(({ field }) => field)]))
    const backwards = 'before' in plan.start
    const source = listSource(plan, table, params)
    const order = neededOrder(plan)
    const cutOrder = backwards ? reversed(order) : order
    const size = plan.limit === undefined ? undefined : `${params.add((given) => String(given.limit))}::int`
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
    return { text, values: params.readers, kind, raw: page.raw?.({ counted: isCounted(plan) }) }
  }
  const count = (plan: ListPlan): Template<ListPlan> => {
    const params = parameters()
    return { text: counted(plan, listSource(plan, table, params)), values: params.readers, kind: READ }
  }
  const estimate = (plan: ListPlan): Template<ListPlan> => {
    const params = parameters()
    const { from, where } = listSource(plan, table, params)
    const text = `explain (format json) select 1 from ${from}${where}`
    return { text, values: params.readers, kind: READ }
  }
  const create = ({ row }: Change): Template<Change> => {
    const fields = fieldsOf(row)
    const names = fields.map((field) => identifier(field.column)).join(', ')
    const places = fields.map((_, index) => `$${index + 1}`).join(', ')
    const values = fields.length === 0 ? 'default values' : `(${names}) values (${places})`
    return {
      text: `insert into ${table} ${values} returning ${key}::text, ${selected}`,
      values: fields.map(cellOf),
      kind: WRITE,
    }
  }
  const found = ({ only }: Change, add: (read: (change: Change) => Cell) => string): string =>
    `${key} = $1${meets(only, tag, (read) => add((change) => read(change.only)))}`
  const update = (change: Change): Template<Change> => {
    const { row } = change
    const { values, add } = changeParameters()
    const changes = fieldsOf(row).map((field) => {
      const [column, value] = [identifier(field.column), row[field.name]]
      if (!(value instanceof JsonMergePatch)) return `${column} = ${add(cellOf(field))}`
      return `${column} = ${mergedInto(`${table}.${column}`, value, (part) => add(() => part))}`
    })
    const set = [...changes, ...touched].join(', ')
    return { text: `update ${table} set ${set} where ${found(change, add)} returning ${selected}`, values, ...CHANGE }
  }
  const plainly = { text: `select ${selected} from ${table} where ${key} = $1`, values: [String], kind: QUICK }
  const look = (selection: Selection): Template<string> => {
    const chosen = formFor(form, selection).select.join(', ')
    return { ...plainly, text: `select ${chosen} from ${table} where ${key} = $1` }
  }
  const retrieve = (change: Change): Template<Change> => {
    const { values, add } = changeParameters()
    return { text: `select ${selected} from ${table} where ${found(change, add)}`, values, kind: QUICK }
  }
  const destroy = (change: Change): Template<Change> => {
    const { values, add } = changeParameters()
    return { text: `delete from ${table} where ${found(change, add)}`, values, ...CHANGE }
  }
  const take = (change: Change): Template<Change> => {
    const { text, ...destroyed } = destroy(change)
    return { ...destroyed, text: `${text} returning ${selected}` }
  }
  const filledList = remember((plan: ListPlan) =>
    plan.selection === undefined
      ? shapes.fill(`list ${shapeOf(plan)}`, list, plan)
      : selecting.fill(`list ${plan.selection.key} ${shapeOf(plan)}`, list, plan),
  )
  const locked = { ...plainly, text: `${plainly.text} for no key update`, kind: LOCK, record: String }

  return {
    list: (plan) => (plan.selection === undefined ? shapes : selecting).send(filledList(plan)),
    count: (plan) => serve(`count ${shapeOf(plan)}`, count, plan),
    estimate: (plan) => serve(`estimate ${shapeOf(plan)}`, estimate, plan),
    retrieve: (id, only) =>
      only === undefined
        ? serve('retrieve', () => plainly, id)
        : serve(`retrieve${shapeOfPreconditions(only)}`, retrieve, { id, row: NOTHING, only }),
    look: (id, selection) => selecting.serve(`look ${selection.key}`, () => look(selection), id),
    lock: (id) => serve('lock', () => locked, id),
    create: (row) => serve(`create ${Object.keys(row).join()}`, create, { id: '', row, only: ANYWAY }),
    ...compileBulkStatements(model, selected),
    update: (id, row, only = ANYWAY) =>
      // A patch has a statement of its own, which no other request would ever use.
      Object.values(row).some((value) => value instanceof JsonMergePatch)
        ? shapes.once(update, { id, row, only })
        : serve(`update ${Object.keys(row).join()}${shapeOfPreconditions(only)}`, update, { id, row, only }),
    destroy: (id, only = ANYWAY) => serve(`destroy${shapeOfPreconditions(only)}`, destroy, { id, row: NOTHING, only }),
    take: (id, only = ANYWAY) => serve(`take${shapeOfPreconditions(only)}`, take, { id, row: NOTHING, only }),
  }
}

const QUICK: Kind = { retry: true, quick: true }
const PAGE: Kind = { retry: true, quick: 'perhaps' }
const READ: Kind = { retry: true, quick: false }
const LOCK: Kind = { ...READ, locks: true }
const WRITE: Kind = { retry: false, quick: false }
const CHANGE = { kind: WRITE, record: ({ id }: Change) => id }

/** Columns of some fields, in the order of the model. */
function columnsOf({ fields }: ModelSpec, wanted: ReadonlySet<FieldSpec>): string {
  const columns = fields.filter((field) => wanted.has(field)).map((field) => identifier(field.column))
  return columns.join(', ')
}

function fieldLookup(model: ModelSpec): (row: Row) => readonly FieldSpec[] {
  const fields = new Map(model.fields.map((field) => [field.name, field]))
  return (row) => Object.keys(row).map((name) => fields.get(name) ?? fail(`${model.name} has no field ${name}`))
}

/** The parameters of a change, the id being the first. */
function changeParameters() {
  const values: ((change: Change) => Cell)[] = [({ id }) => id]
  return { values, add: (read: (change: Change) => Cell) => `$${values.push(read)}` }
}

function cellOf(field: FieldSpec): (change: Change) => Cell {
  return ({ row }) => writeCell(field, row[field.name])
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

/** All that the text of a plan's statements depends on. */
function shapeOf(plan: ListPlan): string {
  const { where, search, distinct, order, start, limit, keyset, total } = plan
  let shape = `${total} ${limit === undefined} ${keyset} ${shapeOfStart(start)}`
  for (const { field, lookup, value } of where) {
    shape += ` ${field.name}.${lookup.name}`
    if (lookup.shape) shape += lookup.shape(value)
  }
  if (distinct) shape += ` distinct ${distinct.name}`
  if (search) shape += ` search${search.words.length}`
  for (const { field, descending, nulls } of order) {
    shape += descending ? ` -${field.name}` : ` +${field.name}`
    if (nulls !== undefined) shape += ` nulls ${nulls}`
  }
  return shape
}

function shapeOfStart(start: ListPlan['start']): string {
  if ('offset' in start) return start.offset === 0 ? 'first' : isFar({ start }) ? 'far' : 'near'
  const nulls = boundary(start).map((value) => (value === null ? 'n' : 'v'))
  return `${'after' in start ? 'after' : 'before'}${nulls.join('')}`
}
