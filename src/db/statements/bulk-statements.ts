import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { arrayLiteral, writeCell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Row, Scopes } from '../../resource/plan.js'
import type { Statement } from '../database.js'
import { filledByScope, scopeChecks, scopeClause } from './scope.js'
import { parameters } from './where.js'

/** Statements about several records. Almost every request has its own text, so none is cached. */
export interface BulkStatements {
  /** One insert for all rows. A field that only some rows name has its default in the others. */
  createMany(rows: readonly Row[]): Statement
  /** Selects the existing records in the order of their ids: the id, then what `retrieve` selects. */
  retrieveMany(ids: readonly string[]): Statement
  /** Locks the existing records until the transaction ends, and selects their ids in order. */
  lockMany(ids: readonly string[]): Statement
  destroyMany(ids: readonly string[]): Statement
}

/** Compiles the statements of a model within some scopes; `selected` is the select list. */
export function compileBulkStatements(model: ModelSpec, selected: string, scopes: Scopes | undefined): BulkStatements {
  const table = identifier(model.table)
  const key = identifier(model.primaryKey.column)
  const resource = model.table
  /** A statement about the records with some ids; `head` and `tail` surround the condition. */
  const among = (ids: readonly string[], head: string, tail: string, retry: boolean): Statement => {
    const params = parameters(arrayLiteral(ids))
    const text = `${head} where ${key} = any($1)${scopeClause(model.table, scopes, params)}${tail}`
    return { text, values: params.values, resource, retry }
  }

  return {
    createMany(given) {
      const rows = given.map((row) => filledByScope(model, row, scopes))
      const named = new Set(rows.flatMap((row) => Object.keys(row)))
      const fields = model.fields.filter((field) => named.has(field.name))
      // A key without a value is always set by the server.
      const columns = fields.length === 0 ? [model.primaryKey] : fields
      const params = parameters()
      const place = (row: Row) => (field: FieldSpec) =>
        Object.hasOwn(row, field.name) ? params.add(writeCell(field, row[field.name])) : 'default'
      const tuples = rows.map((row) => `(${columns.map(place(row)).join(', ')})`)
      const names = columns.map((field) => identifier(field.column)).join(', ')
      const returning = `${key}::text, ${selected}${scopeChecks(model, fields, scopes, params)}`
      const text = `insert into ${table} (${names}) values ${tuples.join(', ')} returning ${returning}`
      return { text, values: params.values, resource }
    },
    retrieveMany: (ids) => among(ids, `select ${key}::text, ${selected} from ${table}`, ` order by ${key}`, true),
    lockMany: (ids) => ({
      ...among(ids, `select ${key}::text from ${table}`, ` order by ${key} for no key update`, true),
      locks: true,
    }),
    destroyMany: (ids) => among(ids, `delete from ${table}`, '', false),
  }
}
