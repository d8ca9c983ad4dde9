import { createHash } from 'node:crypto'
import type { FieldSpec, ModelSpec } from '../config/spec.js'
import { identifier } from '../fields/sql-literal.js'
import { type Cell, writeCell } from '../fields/cell.js'
import type { ListPlan, Row } from '../resource/plan.js'
import { COUNT_CAP, isCounted } from './count.js'
import type { Statement } from './database.js'
import { keyColumns, orderClause, parameters, type Parameters, reversed, startClause, whereClause } from './where.js'

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

/** Prepared statements stay on each connection for good, so that requests may bring only so many shapes. */
const MOST_PREPARED = 200

export function compileStatements(model: ModelSpec, select: readonly string[]): Statements {
  const table = identifier(model.table)
  const key = identifier(model.primaryKey.column)
  const fields = new Map(model.fields.map((field) => [field.name, field]))
  const touched = model.fields
    .filter((field) => field.auto === 'on_update')
    .map((field) => `${identifier(field.column)} = now()`)
  const selected = select.join(', ')
  const statement = preparer()

  const assigned = (row: Row): readonly FieldSpec[] =>
    Object.keys(row).map((name) => fields.get(name) ?? fail(`${model.name} has no field ${name}`))
  const counted = (plan: ListPlan, params: Parameters): string => {
    const rows = `from ${table}${whereClause(plan.where, params)}`
    return plan.total === 'exact'
      ? `select count(*) ${rows}`
      : `select count(*) from (select 1 ${rows} limit ${COUNT_CAP + 1}) c`
  }

  return {
    list(plan) {
      const params = parameters()
      const columns = [
        ...(isCounted(plan) ? [`(${counted(plan, params)})`] : []),
        ...(plan.keyset ? keyColumns(plan.order) : []),
        selected,
      ]
      const where = whereClause(plan.where, params, startClause(plan, params))
      const order = orderClause('before' in plan.start ? reversed(plan.order) : plan.order, table)
      const limit = plan.limit === undefined ? '' : ` limit ${params.add(String(plan.limit + 1))}`
      const offset =
        'offset' in plan.start && plan.start.offset > 0 ? ` offset ${params.add(String(plan.start.offset))}` : ''
      return statement(
        `select ${columns.join(', ')} from ${table}${where}${order}${limit}${offset}`,
        params.values,
        true,
      )
    },
    count(plan) {
      const params = parameters()
      return statement(counted(plan, params), params.values, true)
    },
    estimate(plan) {
      const params = parameters()
      const where = whereClause(plan.where, params)
      return { text: `explain (format json) select 1 from ${table}${where}`, values: params.values, retry: true }
    },
    retrieve: (id) => statement(`select ${selected} from ${table} where ${key} = $1`, [id], true),
    create(row) {
      const columns = assigned(row)
      const names = columns.map((field) => identifier(field.column)).join(', ')
      const places = columns.map((_, index) => `$${index + 1}`).join(', ')
      const values = columns.length === 0 ? 'default values' : `(${names}) values (${places})`
      const text = `insert into ${table} ${values} returning ${key}::text, ${selected}`
      return statement(
        text,
        columns.map((field) => writeCell(field, row[field.name])),
      )
    },
    update(id, row) {
      const columns = assigned(row)
      const changes = columns.map((field, index) => `${identifier(field.column)} = $${index + 2}`)
      const text = `update ${table} set ${[...changes, ...touched].join(', ')} where ${key} = $1 returning ${selected}`
      return statement(text, [id, ...columns.map((field) => writeCell(field, row[field.name]))])
    },
    destroy: (id) => statement(`delete from ${table} where ${key} = $1`, [id]),
  }
}

/** Names the first so many texts; later ones run without a name. */
function preparer(): (text: string, values: readonly Cell[], retry?: boolean) => Statement {
  const names = new Map<string, string>()
  return (text, values, retry = false) => {
    const known = names.get(text)
    if (known !== undefined) return { text, values, name: known, retry }
    if (names.size >= MOST_PREPARED) return { text, values, retry }
    const name = createHash('sha1').update(text).digest('base64url')
    names.set(text, name)
    return { text, values, name, retry }
  }
}

function fail(message: string): never {
  throw new Error(message)
}
