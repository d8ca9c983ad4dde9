import { inspect } from 'node:util'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { suggest } from '../../config/words.js'
import { hasJsonForm, toJsonText } from '../../fields/spelling/exact-json.js'
import { readJsonBody } from '../../foundation/json-body.js'
import { Problem } from '../../foundation/problem.js'
import { compileBody } from './body.js'
import type { Row } from '../plan.js'
import type { CompileSchema } from '../validator.js'

/** Validates values set by code and returns them in the form of rows. */
export type ReadValues = (values: object) => Row

/**
 * Compiles the validation of values set by plugins. An invalid value of a private field is an error of the plugin, since no client may learn of it;
 * `what` says whose fields these are. Other invalid values throw Problem `validation`; unknown fields and values that JSON cannot represent throw an
 * Error.
 */
export function compileValues(fields: readonly FieldSpec[], what: string, compile: CompileSchema): ReadValues {
  const names = fields.map((field) => field.name)
  const hidden = new Set(fields.filter((field) => field.private).map((field) => field.name))
  const open = fields.map((field) => ({ ...field, readOnly: false, writeOnly: false, private: false }))
  const read = compileBody({ model: { fields: open } }, () => undefined, compile)

  return (values) => {
    const unknown = Object.keys(values).find((name) => !names.includes(name))
    if (unknown !== undefined) {
      throw new Error(`${what} has no field \`${unknown}\` to set; ${suggest(unknown, names, 'field').join('; ')}`)
    }
    const text = toJsonText(values)
    for (const [name, value] of Object.entries(values)) {
      if (!hasJsonForm(value))
        throw new Error(`${what} cannot have ${inspect(value)} as \`${name}\`: JSON has no such value`)
    }
    try {
      return read(readJsonBody(Buffer.from(text)), 'create')
    } catch (error) {
      const secret = error instanceof Problem && error.errors.find(({ field }) => hidden.has(field))
      if (!secret) throw error
      throw new Error(`${what}: ${secret.message}`, { cause: error })
    }
  }
}

/** The fields that the server sets, with the reason why code cannot. */
export function serverSet({ fields }: Pick<ModelSpec, 'fields'>): ReadonlyMap<string, string> {
  return new Map(
    fields
      .filter(({ assigned, auto }) => assigned || auto !== undefined)
      .map(({ name, assigned, auto }) => [name, assigned ? 'it is the primary key' : `it has \`auto: ${auto}\``]),
  )
}

/** Compiles the validation of fields that code may set: all fields except server-set ones, and none is required. It throws like `compileValues`. */
export function readSettable(model: ModelSpec, compile: CompileSchema): ReadValues {
  const reserved = serverSet(model)
  const fields = model.fields
    .filter(({ name }) => !reserved.has(name))
    .map((field) => ({ ...field, default: { call: 'now' } as const }))
  const what = `the model \`${model.name}\``
  const read = compileValues(fields, what, compile)
  return (values) => {
    for (const name of Object.keys(values)) {
      const reason = reserved.get(name)
      if (reason !== undefined) throw new Error(`${what} sets \`${name}\` itself, so code cannot: ${reason}`)
    }
    return read(values)
  }
}
