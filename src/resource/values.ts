import type { FieldSpec } from '../config/spec.js'
import { suggest } from '../config/words.js'
import { toJsonText } from '../fields/exact-json.js'
import { readJsonBody } from '../json-body.js'
import { Problem } from '../problem.js'
import { compileBody } from './body.js'
import type { Row } from './plan.js'
import type { CompileSchema } from './validator.js'

/** Holds values, as handlers have them, to the rules of their fields; answers them as rows have them. */
export type ReadValues = (values: object) => Row

/**
 * @returns the reader of values that come from code of plugins. A value of a private field that breaks a rule is a mistake of that code,
 * since no client may hear of it; `what` says there whose fields these are. It throws Problem `validation` for any other, and an Error for a
 * name that no field has and for what has no JSON text.
 */
export function compileValues(fields: readonly FieldSpec[], what: string, compile: CompileSchema): ReadValues {
  const names = fields.map((field) => field.name)
  const hidden = new Set(fields.filter((field) => field.private).map((field) => field.name))
  const open = fields.map((field) => ({ ...field, readOnly: false, writeOnly: false, private: false }))
  const read = compileBody({ model: { fields: open }, url: false }, () => undefined, compile)

  return (values) => {
    const unknown = Object.keys(values).find((name) => !names.includes(name))
    if (unknown !== undefined) {
      throw new Error(`${what} has no field \`${unknown}\` to set; ${suggest(unknown, names, 'field').join('; ')}`)
    }
    const text = toJsonText(values)
    try {
      return read(readJsonBody(Buffer.from(text)), 'create')
    } catch (error) {
      const secret = error instanceof Problem && error.faults.find(({ field }) => hidden.has(field))
      if (!secret) throw error
      throw new Error(`${what}: ${secret.message}`, { cause: error })
    }
  }
}

/** What code may set of a record: all that the server does not set by itself, and none of it has to be there. */
export function settable(fields: readonly FieldSpec[]): readonly FieldSpec[] {
  return fields
    .filter((field) => !field.primaryKey && field.auto === undefined)
    .map((field) => ({ ...field, default: field.default ?? { call: 'now' } }))
}
