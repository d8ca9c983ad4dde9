import type { FieldSpec, ModelRelation, ModelSpec } from '../../config/spec.js'
import { comparedColumn } from '../../fields/compared-column.js'
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
