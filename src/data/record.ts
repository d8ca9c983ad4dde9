import type { FieldSpec, ModelSpec } from '../config/spec.js'
import type { JsonBody } from '../json-body.js'
import type { Fault } from '../problem.js'
import { compileBody } from '../resource/body.js'
import type { Row } from '../resource/plan.js'
import { createCompiler } from '../resource/validator.js'

/** What a file of data says of one record, and the line on which it does. */
export interface Entry {
  readonly line: number
  readonly body: JsonBody
}

/** Something wrong in a file of data. */
export interface DataFault {
  readonly line: number
  /** Of the record; left out where the whole of it is meant. */
  readonly field?: string
  readonly message: string
}

export type EntryOrFault = Entry | { readonly fault: DataFault }

/** Nothing in the file can be used, because what is written in it is not of its format. */
export class UnreadableData extends Error {
  override readonly name = 'UnreadableData'
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

/**
 * @returns the reader of records of a model as files have them: by the rules that bodies of requests are held to, but with every
 * stored field, those too that the server sets or keeps to itself. It throws Problem `validation` with every fault.
 */
export function compileRecord(model: ModelSpec): (body: JsonBody) => Row {
  const spec = { model: { ...model, fields: model.fields.map(openField) }, url: false }
  const read = compileBody(spec, () => undefined, createCompiler())
  return (body) => read(body, 'create')
}

/** What the server sets may be left to it. */
function openField(field: FieldSpec): FieldSpec {
  const preset = field.default ?? (field.readOnly ? { call: 'now' } : undefined)
  return { ...field, readOnly: false, writeOnly: false, private: false, default: preset }
}

/** Faults of fields, where they stand. */
export function faultsAt(line: number, faults: readonly Fault[]): readonly DataFault[] {
  return faults.map(({ field, message }) => ({ line, field, message }))
}
