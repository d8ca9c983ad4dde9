import { type Ajv2020, type ErrorObject, loadAjv, type ValidateFunction } from '../config/schema/ajv.js'
import { FORMATS } from '../fields/spelling/formats.js'
import type { JsonSchema } from '../foundation/json.js'

/** Returns the keywords of a schema that a value violates; empty if it is valid. */
export type Validate = (value: unknown) => ReadonlySet<string>

/** Compiles the schemas of fields lazily. */
export type CompileSchema = (schema: JsonSchema) => Validate

const NONE: ReadonlySet<string> = new Set()

/** The keyword of the schema itself: `items` if an item violates a keyword of its own. */
function keywordOf({ schemaPath }: ErrorObject): string {
  return schemaPath.split('/')[1] ?? ''
}

/** One compiler serves a whole application, and fields with the same rules share a validator. */
export function createCompiler(): CompileSchema {
  const known = new Map<string, ValidateFunction>()
  let ajv: Ajv2020 | undefined

  const compile = (schema: JsonSchema): ValidateFunction => {
    const key = JSON.stringify(schema)
    // The schemas come from our own field types, so they need no validation.
    ajv ??= new (loadAjv())({
      allErrors: true,
      strict: true,
      meta: false,
      validateSchema: false,
      ownProperties: true,
      formats: FORMATS,
    })
    const validate = known.get(key) ?? ajv.compile(schema)
    known.set(key, validate)
    return validate
  }

  return (schema) => {
    let validate: ValidateFunction | undefined
    return (value) => {
      validate ??= compile(schema)
      return validate(value) ? NONE : new Set(validate.errors?.map(keywordOf))
    }
  }
}
