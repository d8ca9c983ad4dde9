import type { ComputedSpec } from '../config/spec.js'
import { toJsonText } from '../fields/spelling/exact-json.js'
import { valueSchema } from '../fields/value-schema.js'
import type { Row } from './plan.js'
import type { SourceOf, ValueOf } from './typed.js'
import type { CompileSchema } from './validator.js'

/** Computes a field from stored values. Returns a value of the field's type, or null if it is nullable. */
export type Computation<Stored = Row, Value = unknown> = (values: Readonly<Stored>) => Value

/** The function for a resource with generated types, unless the plugin states `Stored` itself. */
export type ComputationOf<Name, Field, Stored> = [Stored] extends [never]
  ? Computation<SourceOf<Name, Field>, ValueOf<Name, Field>>
  : Computation<Stored>

/** The JSON text of a computed field. */
export type Compute = (values: Row) => string

/** By field name. */
export type Computations = ReadonlyMap<string, Compute>

/** For a resource without computed fields. */
export const NOTHING_COMPUTED: Computations = new Map()

/**
 * Compiles a function that validates and serialises computed values. It throws an Error that starts with `what` if the computation throws or returns
 * an invalid value.
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
    throw new TypeError(`it returned ${text.slice(0, MAX_SHOWN_LENGTH)}, which is not a valid ${type.name}`)
  }
  return (values) => {
    try {
      return toText(compute(values))
    } catch (cause) {
      throw new Error(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    }
  }
}

const MAX_SHOWN_LENGTH = 100

/** A document without its computed fields, and the text of these fields, which is empty without any. */
export interface DocumentParts {
  readonly stored: string
  readonly computed: string
}

/** Returns a function that splits documents at the first computed field. */
export function compileSplit([first]: readonly ComputedSpec[]): (document: string) => DocumentParts {
  if (first === undefined) return (document) => ({ stored: document, computed: '' })
  // Quotes inside JSON strings are escaped, and computed fields come last and are not objects, so this text is unambiguous.
  const start = `,${JSON.stringify(first.field.name)}:`
  return (document) => {
    const at = document.lastIndexOf(start)
    // No stored field is shown.
    if (at < 0) return { stored: '{}', computed: document }
    return { stored: `${document.slice(0, at)}}`, computed: document.slice(at) }
  }
}
