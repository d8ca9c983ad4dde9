import type { ModelSpec } from '../config/spec.js'
import { constraintFields } from './constraint-names.js'
import type { Guards } from './errors.js'

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
