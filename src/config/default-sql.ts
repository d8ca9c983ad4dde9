import { literal } from '../fields/sql-literal.js'
import { type FieldSpec, isUnmanaged, type ModelSpec } from './model-spec.js'

/** The SQL of the value that a field declares for new records; undefined if it declares none, or leaves it to the database. */
export function defaultSql({ auto, default: given, type, options }: FieldSpec): string | undefined {
  if (auto !== undefined) return type.functions?.now
  if (given === undefined) return undefined
  if ('call' in given) return given.call === 'database' ? undefined : type.functions?.[given.call]
  const json = given.literal
  if (json === null) return undefined
  const source = JSON.stringify(json)
  return literal(type.write(type.fromJson(json, source, options), options))
}

/** A field that statements fill, and the SQL of its value. */
export interface FilledField {
  readonly field: FieldSpec
  readonly sql: string
}

/** The fields of an unmanaged table with a declared value, which their columns need not have as their default. */
export function filledFields(model: ModelSpec): readonly FilledField[] {
  if (!isUnmanaged(model)) return []
  return model.fields.flatMap((field) => {
    const sql = field.generated ? undefined : defaultSql(field)
    return sql === undefined ? [] : [{ field, sql }]
  })
}
