import type { FieldSpec, ModelSpec } from '../config/spec.js'
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

/** What the server sets by itself, and why code cannot. */
export const serverSet = ({ fields }: Pick<ModelSpec, 'fields'>): ReadonlyMap<string, string> =>
  new Map(
    fields
      .filter(({ primaryKey, auto }) => primaryKey || auto !== undefined)
      .map(({ name, primaryKey, auto }) => [name, primaryKey ? 'it is the primary key' : `it has \`auto: ${auto}\``]),
  )

/**
 * @returns the reader of what code sets of a record: all that the server does not set by itself, and none of it has to be there. It throws
 * as those of `compileValues` do
 */
export function readSettable(model: ModelSpec, compile: CompileSchema): ReadValues {
  const reserved = serverSet(model)
  const fields = model.fields
    .filter(({ name }) => !reserved.has(name))
    .map((field) => ({ ...field, default: field.default ?? ({ call: 'now' } as const) }))
  const what = `the model \`${model.name}\``
  const read = compileValues(fields, what, compile)
  return (values) => {
    for (const name of Object.keys(values)) {
      const reason = reserved.get(name)
      if (reason !== undefined) throw new Error(`${what} sets \`${name}\` by itself, so that code cannot: ${reason}`)
    }
    return read(values)
  }
}
