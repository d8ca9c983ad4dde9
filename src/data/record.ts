import type { FieldSpec, ModelSpec } from '../config/spec.js'
import type { JsonBody } from '../foundation/json-body.js'
import type { FieldError } from '../foundation/problem.js'
import { compileBody } from '../resource/bodies/body.js'
import type { Row } from '../resource/plan.js'
import { createCompiler } from '../resource/validator.js'

/** A record in a data file, and its line. */
export interface Entry {
  readonly line: number
  readonly body: JsonBody
}

/** An error in a data file. */
export interface DataError {
  readonly line: number
  /** The field; undefined if the error is about the whole record. */
  readonly field?: string
  readonly message: string
}

export type EntryOrError = Entry | { readonly error: DataError }

export const NOT_UTF8 = 'the file is not valid UTF-8'

/** The file as a whole cannot be read because its format is invalid. */
export class UnreadableData extends Error {
  override readonly name = 'UnreadableData'
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/**
 * Compiles the validation of a model's records in files: the same rules as for request bodies, but for every stored field, including server-set and
 * private ones. It throws Problem `validation` with every error.
 */
export function compileRecord(model: ModelSpec): (body: JsonBody) => Row {
  const spec = { model: { ...model, fields: model.fields.map(openField) } }
  const read = compileBody(spec, () => undefined, createCompiler())
  return (body) => read(body, 'create')
}

/** Fields that the server sets are optional. */
function openField(field: FieldSpec): FieldSpec {
  const preset = field.default ?? (field.readOnly ? { call: 'now' } : undefined)
  return { ...field, readOnly: false, writeOnly: false, private: false, default: preset }
}

/** Adds the line to errors of fields. */
export function errorsAt(line: number, errors: readonly FieldError[]): readonly DataError[] {
  return errors.map(({ field, message }) => ({ line, field, message }))
}
