import { createHash } from 'node:crypto'
import { isCovered } from '../config/coverage.js'
import type { FieldSpec, ModelSpec } from '../config/spec.js'
import { type Cell, writeCell } from '../fields/cell.js'
import { identifier } from '../fields/sql-literal.js'
import type { ListPlan, Row } from '../resource/plan.js'
import { COUNT_CAP, isCounted } from './count.js'
import type { Statement } from './database.js'
import {
  boundary,
  keyColumns,
  orderClause,
  parameters,
  type Parameters,
  reversed,
  startClause,
  whereClause,
} from './where.js'

/** Every statement that a resource in one form needs. The one place where SQL for records is made. */
export interface Statements {
  list(plan: ListPlan): Statement
  count(plan: ListPlan): Statement
  /** Explains the rows that a plan's conditions match. */
  estimate(plan: ListPlan): Statement
  retrieve(id: string): Statement
  create(row: Row): Statement
  update(id: string, row: Row): Statement
  destroy(id: string): Statement
}

/** The text of a statement, made once for each shape of what is asked; only the values differ between requests. */
interface Template<Input> {
  readonly text: string
  readonly values: readonly ((input: Input) => Cell)[]
}

interface Change {
  readonly id: string
  readonly row: Row
}

/**
 * Shapes that are kept, and prepared statements that each connection is asked to keep. A client can ask in more shapes than
 * that; those beyond are made anew, without a name.
 */
const MOST_SHAPES = 200

export function compileStatements(model: ModelSpec, select: readonly string[]): Statements {
  const table = identifier(model.table)
  const key = identifier(model.primaryKey.column)
  const selected = select.join(', ')
  const stored = model.fields.map((field) => identifier(field.column)).join(', ')
  const touched = model.fields
    .filter((field) => field.auto === 'on_update')
    .map((field) => `${identifier(field.column)} = now()`)
  const fieldsOf = fieldLookup(model)
  const serve = templates()

  const counted = (plan: ListPlan, params: Parameters): string => {
    const rows = `from ${table}${whereClause(plan.where, params)}`
    return plan.total === 'exact'
      ? `select count(*) ${rows}`
      : `select count(*) from (select 1 ${rows} limit ${COUNT_CAP + 1}) c`
  }
  const list = (plan: ListPlan): Template<ListPlan> => {
    const params = parameters()
    const columns = [
      ...(isCounted(plan) ? [`(${counted(plan, params)})`] : []),
      ...(plan.keyset ? keyColumns(plan.order) : []),
      selected,
    ]
    const where = whereClause(plan.where, params, startClause(plan, params))
    const order = orderClause('before' in plan.start ? reversed(plan.order) : plan.order, table)
    const limit = plan.limit === undefined ? '' : ` limit ${params.add((given) => String((given.limit ?? 0) + 1))}`
    const offset = offsetOf(plan) > 0 ? ` offset ${params.add((given) => String(offsetOf(given)))}` : ''
    // The page is cut out before anything is made of its rows: else it would be made of those that are passed over, too.
    const page = `select ${stored} from ${table}${where}${order}${limit}${offset}`
    return { text: `select ${columns.join(', ')} from (${page}) ${table}${order}`, values: params.readers }
  }
  const count = (plan: ListPlan): Template<ListPlan> => {
    const params = parameters()
    return { text: counted(plan, params), values: params.readers }
  }
  const estimate = (plan: ListPlan): Template<ListPlan> => {
    const params = parameters()
    const text = `explain (format json) select 1 from ${table}${whereClause(plan.where, params)}`
    return { text, values: params.readers }
  }
  const create = ({ row }: Change): Template<Change> => {
    const fields = fieldsOf(row)
    const names = fields.map((field) => identifier(field.column)).join(', ')
    const places = fields.map((_, index) => `$${index + 1}`).join(', ')
    const values = fields.length === 0 ? 'default values' : `(${names}) values (${places})`
    return {
      text: `insert into ${table} ${values} returning ${key}::text, ${selected}`,
      values: fields.map(cellOf),
    }
  }
  const update = ({ row }: Change): Template<Change> => {
    const fields = fieldsOf(row)
    const changes = fields.map((field, index) => `${identifier(field.column)} = $${index + 2}`)
    return {
      text: `update ${table} set ${[...changes, ...touched].join(', ')} where ${key} = $1 returning ${selected}`,
      values: [({ id }) => id, ...fields.map(cellOf)],
    }
  }
  const retrieve = { text: `select ${selected} from ${table} where ${key} = $1`, values: [String] }
  const destroy = { text: `delete from ${table} where ${key} = $1`, values: [String] }

  return {
    list: (plan) => serve(`list ${shapeOf(plan)}`, list, plan, isQuick(model, plan) ? QUICK : READ),
    count: (plan) => serve(`count ${shapeOf(plan)}`, count, plan, READ),
    estimate: (plan) => serve(`estimate ${shapeOf(plan)}`, estimate, plan, READ),
    retrieve: (id) => serve('retrieve', () => retrieve, id, QUICK),
    create: (row) => serve(`create ${Object.keys(row).join()}`, create, { id: '', row }, WRITE),
    update: (id, row) => serve(`update ${Object.keys(row).join()}`, update, { id, row }, WRITE),
    destroy: (id) => serve('destroy', () => destroy, id, WRITE),
  }
}

const QUICK = { retry: true, quick: true }
const READ = { retry: true }
const WRITE = {}

function fieldLookup(model: ModelSpec): (row: Row) => readonly FieldSpec[] {
  const fields = new Map(model.fields.map((field) => [field.name, field]))
  return (row) => Object.keys(row).map((name) => fields.get(name) ?? fail(`${model.name} has no field ${name}`))
}

function cellOf(field: FieldSpec): (change: Change) => Cell {
  return ({ row }) => writeCell(field, row[field.name])
}

function offsetOf({ start }: ListPlan): number {
  return 'offset' in start ? start.offset : 0
}

const FAR = 1_000

/** Whether an index gives a page at once: nothing is sorted, and few rows are passed over or counted. */
function isQuick(model: ModelSpec, plan: ListPlan): boolean {
  if (plan.total === 'exact' || plan.limit === undefined || offsetOf(plan) > FAR) return false
  const equal = plan.where.map(({ field }) => field)
  return plan.where.every(({ lookup }) => lookup === 'exact') && isCovered(model, { equal, order: plan.order })
}

/** All that the text of a plan's statements depends on. */
function shapeOf(plan: ListPlan): string {
  const where = plan.where.map(
    ({ field, lookup, value }) => `${field.name}.${lookup}${lookup === 'isnull' ? value : ''}`,
  )
  const order = plan.order.map(({ field, descending }) => (descending ? `-${field.name}` : field.name))
  const nulls = boundary(plan.start).map((value) => (value === null ? 'n' : 'v'))
  const [start] = Object.keys(plan.start)
  const page = [start, nulls.join(''), offsetOf(plan) > 0, plan.limit === undefined, plan.keyset, plan.total]
  return `${where.join()} ${order.join()} ${page.join()}`
}

/** Keeps the templates of the first so many shapes, with the name under which connections prepare them. */
function templates() {
  const known = new Map<string, Template<never> & { readonly name: string }>()
  return <Input>(
    shape: string,
    make: (input: Input) => Template<Input>,
    input: Input,
    kind: Pick<Statement, 'retry' | 'quick'>,
  ): Statement => {
    const kept = known.get(shape) as (Template<Input> & { readonly name: string }) | undefined
    if (kept) return { ...kind, text: kept.text, name: kept.name, values: kept.values.map((read) => read(input)) }
    const { text, values } = make(input)
    const statement = { ...kind, text, values: values.map((read) => read(input)) }
    if (known.size >= MOST_SHAPES) return statement
    const name = createHash('sha1').update(text).digest('base64url')
    known.set(shape, { text, values, name })
    return { ...statement, name }
  }
}

function fail(message: string): never {
  throw new Error(message)
}
