import type { FieldSpec, ModelRelation, ModelSpec } from '../../config/spec.js'
import type { ExistingColumn } from '../../fields/existing-column.js'
import { identifier } from '../../fields/sql-literal.js'

/** The select expression of a column in its wire form. */
export function wireColumn(field: FieldSpec): string {
  const column = identifier(field.column)
  return field.type.select?.(column, field.options) ?? column
}

/** The column as text, as `readCell` expects it. */
export function cellColumn(field: FieldSpec): string {
  return `(${wireColumn(field)})::text`
}

/** The parts of a field on which comparisons of its values depend. */
type Compared = Pick<FieldSpec, 'type' | 'options' | 'managed'>

const AN_ENUM: ExistingColumn = { type: '', collation: null, labels: [] }

/**
 * The SQL of a stored value in comparisons. In a table of another program, a field can serve a domain over an enum. PostgreSQL has no operators for such a
 * domain, but the result of `case` has the base type. The planner removes the `case`, so that an index on the column still helps.
 */
export function compared({ managed, type, options }: Compared, sql: string): string {
  return !managed && type.serves?.(AN_ENUM, options) ? `(case when true then ${sql} end)` : sql
}

/** The SQL of a column in comparisons; `owner` is the name of its table in statements with several. */
export function comparedColumn(field: Compared & Pick<FieldSpec, 'column'>, owner?: string): string {
  const column = identifier(field.column)
  return compared(field, owner === undefined ? column : `${owner}.${column}`)
}

interface Relation {
  readonly target: Pick<ModelRelation['target'], 'managed'>
  readonly parts: readonly { readonly field: FieldSpec; readonly to: Pick<FieldSpec, 'column'> }[]
}

/** The condition that the record of the table `related` is the one to which a relation of the table `owner` refers. */
export function refersSql({ target, parts }: Relation, owner: string, related: string): string {
  const same = parts.map(({ field, to }) => {
    const referred = { ...field, column: to.column, managed: target.managed }
    return `${comparedColumn(referred, related)} = ${comparedColumn(field, owner)}`
  })
  return same.join(' and ')
}

/** The SQL of the value that replaces a stored one; a stored value that is read as null stays if null is given. */
export function replacing({ nullable, type }: FieldSpec, stored: string, given: string): string {
  const isReadAsNull = nullable ? type.isReadAsNull?.(stored) : undefined
  return isReadAsNull === undefined ? given : `coalesce(${given}, case when ${isReadAsNull} then ${stored} end)`
}

/** The columns of a model that some SQL names, in place of `*`: the database user may lack the privilege to read other columns. */
export function columnsIn(sql: string, { fields }: Pick<ModelSpec, 'fields'>): string {
  const columns = fields.map(({ column }) => identifier(column))
  return columns.filter((column) => sql.includes(column)).join(', ')
}

/** The columns of a model's key as `readCell` expects them. */
export function keyTexts({ key }: Pick<ModelSpec, 'key'>): readonly string[] {
  return key.map(cellColumn)
}
