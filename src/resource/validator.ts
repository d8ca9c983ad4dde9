import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { FORMATS } from '../fields/formats.js'
import type { JsonSchema } from '../json.js'

/** Tells which keywords of a schema a value fails; none when it is valid. */
export type Validate = (value: unknown) => ReadonlySet<string>

/** Compiles the schemas of an application's fields, each when it is first asked. */
export type CompileSchema = (schema: JsonSchema) => Validate

const NONE: ReadonlySet<string> = new Set()

/** One compiler serves a whole application: making one takes longer than any schema. */
export function createCompiler(): CompileSchema {
  let ajv: Ajv2020 | undefined
  return (schema) => {
    let validate: ValidateFunction | undefined
    return (value) => {
      // The schemas are made of the rules of our own field types.
      ajv ??= new Ajv2020({
        allErrors: true,
        strict: true,
        validateSchema: false,
        ownProperties: true,
        formats: FORMATS,
      })
      validate ??= ajv.compile(schema)
      return validate(value) ? NONE : new Set(validate.errors?.map((error) => error.keyword))
    }
  }
}
