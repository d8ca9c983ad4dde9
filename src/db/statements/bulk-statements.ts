import { tableAlias, tableSql } from '../../fields/table-name.js'
import type { FilledField } from '../../config/default-sql.js'
import { type FieldSpec, isShown, type ModelSpec } from '../../config/spec.js'
import { arrayLiteral } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import { isSent, seenRule } from '../../resource/access.js'
import type { Row } from '../../resource/plan.js'
import type { Statement } from '../database.js'
import { type Bounds, boundProjection, type Granted, visibleClause, writtenSelect } from './rules/bounds.js'
import { coversStored, sameSql, writtenSql } from './rules/covering-sql.js'
import { ADDED, addedChecks, waysToCreate } from './rules/granted-changes.js'
import { notGranted, type WriteOfAll } from './rules/granted-writes.js'
import { ruleSql } from './rules/rules.js'
import { comparedColumn } from '../../fields/compared-column.js'
import { columnsIn, keyTexts } from './columns.js'
import { type Projection } from './projections.js'
import { type Parameters, parameters } from './parameters.js'

/** Statements about several records. Almost every request has its own text, so none is cached. */
export interface BulkStatements {
  /**
   * For each way to write the rows (see `grantedWrites`), one insert of all of them. A field that only some rows name has its default in the others.
   * @throws Problem `forbidden` if no grant can cover all rows
   */
  createMany(bounds: Bounds | undefined, rows: readonly Row[], filled: readonly FilledField[]): readonly Statement[]
  /** Selects the existing records in the order of their ids: the id, then what `retrieve` selects. */
  retrieveMany(bounds: Bounds | undefined, ids: readonly (readonly string[])[]): Statement
  /** Selects the ids of the existing records in order. */
  findMany(bounds: Bounds | undefined, ids: readonly (readonly string[])[]): Statement
  /** Like `findMany`, and locks the records until the transaction ends. */
  lockMany(bounds: Bounds | undefined, ids: readonly (readonly string[])[]): Statement
  /** Deletes records. If grants limit the request, it deletes only the records that they cover. */
  destroyMany(bounds: Bounds | undefined, ids: readonly (readonly string[])[]): Statement
  /**
   * Selects a row if the request may see a record, and the record has the values. Those that the client has sent are compared only if it sees them:
   * otherwise it could guess them.
   */
  holds(bounds: Bounds | undefined, id: readonly string[], row: Row): Statement
  /**
   * Selects a digest of the row of an existing record.
   * @param columns undefined for the whole row, with columns that the model lacks
   */
  digest(bounds: Bounds | undefined, id: readonly string[], columns: readonly string[] | undefined): Statement
}

/** Some records, as far as the bounds of a request reach. */
interface Among {
  readonly bounds: Bounds | undefined
  readonly ids: readonly (readonly string[])[]
}

/** Compiles the statements of a model. */
export function compileBulkStatements(model: ModelSpec, projection: Projection<unknown, unknown>): BulkStatements {
  const table = tableSql(model.table)
  const keys = model.key.map(({ column }) => identifier(column))
  const compares = model.key.map((field) => comparedColumn(field))
  // Unqualified, it would resolve to the output column, which is a text.
  const order = ` order by ${keys.map((key) => `${tableAlias(model.table)}.${key}`).join(', ')}`
  const returnedBy = (bounds: Bounds | undefined, params: Parameters) =>
    [...keyTexts(model), ...boundProjection(projection, bounds, params).select].join(', ')
  const resource = model.table
  /** A statement about the records with some ids; `head` and `tail` surround the condition. */
  const among = (
    { bounds, ids }: Among,
    head: (params: Parameters) => string,
    tail: (params: Parameters) => string,
    retry: boolean,
  ): Statement => {
    const params = parameters()
    const start = head(params)
    const where = `${isAmong(compares, ids, params)}${visibleClause(model, bounds, params)}`
    return { text: `${start} where ${where}${tail(params)}`, values: params.values, resource, retry }
  }
  const finding = (some: Among, tail: string) =>
    among(
      some,
      () => `select ${keyTexts(model).join(', ')} from ${table}`,
      () => tail,
      true,
    )
  const destroyable = (granted: Granted | undefined, params: Parameters): string => {
    if (!granted) return ''
    return ` and ${coversStored(model, granted.access.destroy, { ...granted, params })}`
  }
  const insertion = (bounds: Bounds | undefined, way: WriteOfAll, declared: readonly FilledField[]): Statement => {
    const filled = new Map(declared.map(({ field, sql }) => [field.name, sql]))
    const rows = way.writes.map(({ row }) => row)
    const named = new Set(rows.flatMap((row) => Object.keys(row)))
    const fields = model.fields.filter((field) => named.has(field.name) || filled.has(field.name))
    // Without any value, the server sets all of them.
    const columns = fields.length === 0 ? model.fields.slice(0, 1) : fields
    const params = parameters()
    const place = (row: Row) => (field: FieldSpec) =>
      Object.hasOwn(row, field.name) ? writtenSql(field, row, params) : (filled.get(field.name) ?? 'default')
    const tuples = rows.map((row) => `(${columns.map(place(row)).join(', ')})`)
    const names = columns.map((field) => identifier(field.column)).join(', ')
    const checks = addedChecks(model, way, bounds, params)
    const seen = writtenSelect(model, boundProjection(projection, bounds, params), bounds, params)
    const returning = `${[...keyTexts(model), ...seen].join(', ')}${checks}`
    const insert = `insert into ${table} (${names}) values ${tuples.join(', ')} returning`
    const text = checks.includes(ADDED)
      ? `with ${ADDED} as (${insert} ${columnsIn(returning, model)}) select ${returning} from ${ADDED} ${tableAlias(model.table)}`
      : `${insert} ${returning}`
    return { text, values: params.values, resource }
  }

  return {
    createMany(bounds, given, filled) {
      const ways = waysToCreate(model, bounds, given)
      if (ways.length === 0) throw notGranted()
      return ways.map((way) => insertion(bounds, way, filled))
    },
    retrieveMany: (bounds, ids) =>
      among(
        { bounds, ids },
        (params) => `select ${returnedBy(bounds, params)} from ${table}`,
        () => order,
        true,
      ),
    findMany: (bounds, ids) => finding({ bounds, ids }, order),
    lockMany: (bounds, ids) => ({ ...finding({ bounds, ids }, `${order} for no key update`), locks: true }),
    destroyMany: (bounds, ids) =>
      among(
        { bounds, ids },
        () => `delete from ${table}`,
        (params) => destroyable(bounds?.granted, params),
        false,
      ),
    holds(bounds, id, row) {
      const written = model.fields.filter(({ name }) => Object.hasOwn(row, name))
      const isDocument = projection.tag !== undefined
      const granted = bounds?.granted
      const same = (field: FieldSpec, params: Parameters) => {
        const unchanged = () => sameSql(model, field, row, { params, isDocument })
        if (!isDocument || !isSent(row, field.name)) return unchanged()
        if (!isShown(field)) return 'true'
        const seen = granted && seenRule(granted.access, field.name)
        if (!seen) return unchanged()
        return `case when ${ruleSql(seen, tableAlias(model.table), { ...granted, params })} then ${unchanged()} else true end`
      }
      return among(
        { bounds, ids: [id] },
        () => `select from ${table}`,
        (params) => written.map((field) => ` and ${same(field, params)}`).join(''),
        true,
      )
    },
    digest(bounds, id, columns) {
      const row = columns ? `row(${columns.map((column) => identifier(column)).join(', ')})` : `(${table}.*)`
      return among(
        { bounds, ids: [id] },
        () => `select md5(${row}::text) from ${table}`,
        () => '',
        true,
      )
    },
  }
}

/** The condition for the records with some ids. */
function isAmong(keys: readonly string[], ids: readonly (readonly string[])[], params: Parameters): string {
  if (keys.length === 1) return `${keys[0]} = any(${params.add(arrayLiteral(ids.flat()))})`
  const rows = ids.map((id) => `(${id.map((value) => params.add(value)).join(', ')})`)
  return rows.length === 0 ? 'false' : `(${keys.join(', ')}) in (${rows.join(', ')})`
}
