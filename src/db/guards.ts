import type { AppSpec, ModelSpec } from '../config/spec.js'
import { constraintFields, foreignKeyName } from './constraint-names.js'
import type { Database } from './database.js'
import { type Guards, tableOf, toProblem } from './errors.js'

const BROKEN = {
  unique: 'is taken by another record',
  foreign_key: 'names a record that does not exist',
  check: 'is not valid',
} as const

/** What a client is told when the database refuses a change, by what did. Of a private field it is told nothing. */
export function guardsOf(model: ModelSpec): Guards {
  const { fields, table } = model
  const labels = new Map(fields.filter((field) => !field.private).map(({ name, label }) => [name, label]))
  const faultOf = (field: string, broken: string) =>
    labels.has(field) ? { field, message: `${labels.get(field)} ${broken}` } : undefined
  return {
    table,
    constraints: new Map(
      [...constraintFields(model)].flatMap(([name, { field, kind }]) => {
        const fault = faultOf(field, BROKEN[kind])
        return fault ? [[name, fault] as const] : []
      }),
    ),
    required: new Map(
      fields.filter((field) => !field.nullable).map(({ name, column }) => [column, faultOf(name, 'is required')]),
    ),
  }
}

/**
 * What a client is told when a record cannot be deleted because others refer to it, by the name of the constraint: of relations that are
 * public, and no others.
 */
export function referrersOf({ models, resources }: AppSpec, model: ModelSpec): ReadonlyMap<string, string> {
  return new Map(
    models.flatMap(({ name, table, fields }) => {
      const shown = resources.find((resource) => resource.model.name === name)
      const relations = fields.filter(
        (field) => field.target?.model === model.name && !field.private && !field.writeOnly,
      )
      if (!shown) return []
      return relations.map(
        (field) =>
          [
            foreignKeyName(table, field.column),
            `A record of ${shown.name} still refers to it, by ${field.name}`,
          ] as const,
      )
    }),
  )
}

/** The transactions of a database, whose end blames a field as statements do. What the work throws passes as it is. */
export function guardTransactions(database: Database, models: readonly ModelSpec[]): Database['transaction'] {
  const guards = new Map(models.map((model) => [model.table, guardsOf(model)]))
  return async (work, options) => {
    let worked = false
    try {
      return await database.transaction(async (connection) => {
        worked = false
        const result = await work(connection)
        worked = true
        return result
      }, options)
    } catch (error) {
      // Only the end itself is left to fail: for what the work has swallowed, or for a constraint that is held then.
      throw worked ? toProblem(error, guards.get(tableOf(error))) : error
    }
  }
}
