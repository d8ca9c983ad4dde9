import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { arrayLiteral, type Cell, writeCell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Row } from '../../resource/plan.js'
import type { Statement } from '../database.js'

/** The statements about several records. Their texts are as many as there are requests, so that none is kept. */
export interface BulkStatements {
  /** One insert of all of them; a field that only some name has its default in the others. */
  createMany(rows: readonly Row[]): Statement
  /** Those of the records that are there, in the order of their ids: what `retrieve` answers, behind the id. */
  retrieveMany(ids: readonly string[]): Statement
  /** The ids of those that are there, in order; until the transaction ends nobody else changes them. */
  lockMany(ids: readonly string[]): Statement
  destroyMany(ids: readonly string[]): Statement
}

/** The statements of a model; `selected` is what is made of its rows. */
export function compileBulkStatements(model: ModelSpec, selected: string): BulkStatements {
  const table = identifier(model.table)
  const key = identifier(model.primaryKey.column)
  const among = (ids: readonly string[], text: string, retry: boolean): Statement => ({
    text,
    values: [arrayLiteral(ids)],
    resource: model.table,
    retry,
  })

  return {
    createMany(rows) {
      const named = new Set(rows.flatMap((row) => Object.keys(row)))
      const fields = model.fields.filter((field) => named.has(field.name))
      // The key is always the server's.
      const columns = fields.length === 0 ? [model.primaryKey] : fields
      const values: Cell[] = []
      const place = (row: Row) => (field: FieldSpec) =>
        Object.hasOwn(row, field.name) ? `$${values.push(writeCell(field, row[field.name]))}` : 'default'
      const tuples = rows.map((row) => `(${columns.map(place(row)).join(', ')})`)
      const names = columns.map((field) => identifier(field.column)).join(', ')
      const text = `insert into ${table} (${names}) values ${tuples.join(', ')} returning ${key}::text, ${selected}`
      return { text, values, resource: model.table }
    },
    retrieveMany: (ids) =>
      among(ids, `select ${key}::text, ${selected} from ${table} where ${key} = any($1) order by ${key}`, true),
    lockMany(ids) {
      const text = `select ${key}::text from ${table} where ${key} = any($1) order by ${key} for no key update`
      return { ...among(ids, text, true), locks: true }
    },
    destroyMany: (ids) => among(ids, `delete from ${table} where ${key} = any($1)`, false),
  }
}
