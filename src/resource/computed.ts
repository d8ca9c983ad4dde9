import type { ComputedSpec } from '../config/spec.js'
import { toJsonText } from '../fields/exact-json.js'
import { valueSchema } from './field-schema.js'
import type { Row } from './plan.js'
import type { SourceOf, ValueOf } from './typed.js'
import type { CompileSchema } from './validator.js'

/** Makes a field of answers out of stored values, which are as handlers have them; a value of its type, or null where it may be. */
export type Computation<Stored = Row, Value = unknown> = (values: Readonly<Stored>) => Value

/** The function of a resource whose types are written, unless its plugin says itself what is `Stored`. */
export type ComputationOf<Name, Field, Stored> = [Stored] extends [never]
  ? Computation<SourceOf<Name, Field>, ValueOf<Name, Field>>
  : Computation<Stored>

/** The JSON text of a computed field. */
export type Compute = (values: Row) => string

/** By the name of the field. */
export type Computations = ReadonlyMap<string, Compute>

/** Of a resource of which nothing is computed. */
export const NOTHING_COMPUTED: Computations = new Map()

/**
 * Holds what a function answers to the type of its field. The result throws an Error that starts with `what`: for what the function
 * throws, and for what is no value of the type.
 */
export function compileComputation(
  { field }: ComputedSpec,
  { what, compute, compile }: { readonly what: string; readonly compute: Computation; readonly compile: CompileSchema },
): Compute {
  const { type, options, nullable } = field
  const failuresOf = compile(valueSchema(field))
  const toText = (value: unknown): string => {
    if (value === null && nullable) return 'null'
    const text = toJsonText(value)
    const json = JSON.parse(text) as never
    if (failuresOf(json).size === 0 && type.admits?.(json, text, options) === undefined) return text
    throw new TypeError(`it answered ${text.slice(0, LONGEST_SHOWN)}, which is no value of the type ${type.name}`)
  }
  return (values) => {
    try {
      return toText(compute(values))
    } catch (cause) {
      throw new Error(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    }
  }
}

const LONGEST_SHOWN = 100

/** @returns what gives, of a document, the part that is stored, of which its entity tag is made */
export function compileStored([first]: readonly ComputedSpec[]): (document: string) => string {
  if (first === undefined) return (document) => document
  // In a text of JSON every quote is escaped, and what is computed stands last and is no object.
  const start = `,${JSON.stringify(first.field.name)}:`
  return (document) => `${document.slice(0, document.lastIndexOf(start))}}`
}
