import type { Model, ModelClass } from 'objection'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { wireColumn } from '../statements/projections.js'

/** Objection's class for each model, by the model's name. */
export type Models = ReadonlyMap<string, ModelClass<Model>>

/** Where objection keeps the value of the field at a place, and the record of a relation: no column is named so. */
export const valueKey = (place: number): string => `@${place}`
export const relationKey = (name: string): string => `@${name}`

/** The modifier that selects every field. Columns that objection joins by it selects itself, and drops them again. */
export const FIELDS = 'fields'

/** Makes the classes. Objection is loaded here, because it takes longer to load than all the rest. */
export async function defineModels(specs: readonly ModelSpec[]): Promise<Models> {
  const { Model, raw } = await import('objection')
  const models: Models = new Map(specs.map((spec) => [spec.name, defineModel(spec)]))
  return models

  function defineModel({ table, primaryKey, fields }: ModelSpec): ModelClass<Model> {
    const columns = fields.map((field, place) => {
      // A question mark would be a parameter.
      const value = wireColumn(field).replaceAll('?', '\\?')
      return raw(`(${value})::text`).as(valueKey(place))
    })
    return class extends Model {
      static override tableName = table
      static override idColumn = primaryKey.column
      static override modifiers = { [FIELDS]: (query: ReturnType<typeof Model.query>) => void query.select(columns) }
      // Called at first use, when all classes are there: models may refer to each other in circles.
      static override relationMappings = () => Object.fromEntries(fields.flatMap((field) => mappingOf(table, field)))
      // A connection takes one statement at a time.
      static concurrency = 1
    }
  }

  function mappingOf(table: string, { name, column, target }: FieldSpec) {
    const modelClass = target && models.get(target.model)
    if (!modelClass) return []
    const join = { from: `${table}.${column}`, to: `${target.table}.${target.column}` }
    return [[relationKey(name), { relation: Model.BelongsToOneRelation, modelClass, modify: FIELDS, join }] as const]
  }
}
