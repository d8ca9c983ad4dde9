import { type AppSpec, isShown, type ModelSpec } from '../config/spec.js'
import { writeCell } from '../fields/cell.js'
import { identifier } from '../fields/sql-literal.js'
import type { Row } from '../resource/plan.js'
import { constraintFields, foreignKeyName } from './constraint-names.js'
import type { Database } from './database.js'
import { type Guards, tableOf, takenKeyOf, toProblem } from './errors.js'

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
export function referrersOf({ resources }: Pick<AppSpec, 'resources'>, model: ModelSpec): ReadonlyMap<string, string> {
  // Of several resources of one model the first gives its name.
  return new Map(
    [...resources]
      .reverse()
      .flatMap(({ name, model: { table, fields } }) =>
        fields
          .filter((field) => field.target?.model === model.name && isShown(field))
          .map((field) => [
            foreignKeyName(table, field.column),
            `A record of ${name} still refers to it, by ${field.name}`,
          ]),
      ),
  )
}

/** Which of several new rows has the key that is taken: the last, because it may be taken by another of them. */
export function placeOfTaken({ fields }: ModelSpec, rows: readonly Row[], error: unknown): number | undefined {
  const taken = takenKeyOf(error)
  if (!taken) return undefined
  const columns = taken.columns.split(', ')
  const named = columns.map((name) => fields.find(({ column }) => column === name || identifier(column) === name))
  const textOf = (row: Row) => named.map((field) => field && writeCell(field, row[field.name])).join(', ')
  const place = rows.findLastIndex((row) => textOf(row) === taken.texts)
  return place < 0 ? undefined : place
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
