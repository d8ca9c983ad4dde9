import { tableAlias, tableSql } from '../../fields/table-name.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { arrayLiteral, writeCell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Row, Scopes } from '../../resource/plan.js'
import type { Statement } from '../database.js'
import { filledByScope, scopeChecks, scopeClause } from './scope.js'
import { keyTexts } from './projections.js'
import { type Parameters, parameters } from './where.js'

/** Statements about several records. Almost every request has its own text, so none is cached. */
export interface BulkStatements {
  /** One insert for all rows. A field that only some rows name has its default in the others. */
  createMany(rows: readonly Row[]): Statement
  /** Selects the existing records in the order of their ids: the id, then what `retrieve` selects. */
  retrieveMany(ids: readonly (readonly string[])[]): Statement
  /** Locks the existing records until the transaction ends, and selects their ids in order. */
  lockMany(ids: readonly (readonly string[])[]): Statement
  destroyMany(ids: readonly (readonly string[])[]): Statement
}

/** Compiles the statements of a model within some scopes; `selected` is the select list. */
export function compileBulkStatements(model: ModelSpec, selected: string, scopes: Scopes | undefined): BulkStatements {
  const table = tableSql(model.table)
  const keys = model.key.map(({ column }) => identifier(column))
  // Unqualified, it would resolve to the output column, which is a text.
  const order = ` order by ${keys.map((key) => `${tableAlias(model.table)}.${key}`).join(', ')}`
  const returned = [...keyTexts(model), selected].join(', ')
  const resource = model.table
  /** A statement about the records with some ids; `head` and `tail` surround the condition. */
  const among = (ids: readonly (readonly string[])[], head: string, tail: string, retry: boolean): Statement => {
    const params = parameters()
    const text = `${head} where ${isAmong(keys, ids, params)}${scopeClause(model.table, scopes, params)}${tail}`
    return { text, values: params.values, resource, retry }
  }

  return {
    createMany(given) {
      const rows = given.map((row) => filledByScope(model, row, scopes))
      const named = new Set(rows.flatMap((row) => Object.keys(row)))
      const fields = model.fields.filter((field) => named.has(field.name))
      // Without any value, the server sets all of them.
      const columns = fields.length === 0 ? model.fields.slice(0, 1) : fields
      const params = parameters()
      const place = (row: Row) => (field: FieldSpec) =>
        Object.hasOwn(row, field.name) ? params.add(writeCell(field, row[field.name])) : 'default'
      const tuples = rows.map((row) => `(${columns.map(place(row)).join(', ')})`)
      const names = columns.map((field) => identifier(field.column)).join(', ')
      const returning = `${returned}${scopeChecks(model, fields, scopes, params)}`
      const text = `insert into ${table} (${names}) values ${tuples.join(', ')} returning ${returning}`
      return { text, values: params.values, resource }
    },
    retrieveMany: (ids) => among(ids, `select ${returned} from ${table}`, order, true),
    lockMany: (ids) => ({
      ...among(ids, `select ${keyTexts(model).join(', ')} from ${table}`, `${order} for no key update`, true),
      locks: true,
    }),
    destroyMany: (ids) => among(ids, `delete from ${table}`, '', false),
  }
}

/** The condition for the records with some ids. */
function isAmong(keys: readonly string[], ids: readonly (readonly string[])[], params: Parameters): string {
  if (keys.length === 1) return `${keys[0]} = any(${params.add(arrayLiteral(ids.flat()))})`
  const rows = ids.map((id) => `(${id.map((value) => params.add(value)).join(', ')})`)
  return rows.length === 0 ? 'false' : `(${keys.join(', ')}) in (${rows.join(', ')})`
}
