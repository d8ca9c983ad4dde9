import type { Json, JsonSchema } from '../foundation/json.js'
import type { Typed } from './field-type.js'

/** The schema by which values other than null are validated. */
export function valueSchema({ type, options }: Typed): JsonSchema {
  return Object.assign({}, ...type.rules(options).map((rule) => rule.schema))
}

/**
 * Returns the name of the rule that a value breaks although it satisfies the schema; undefined for a valid value.
 * @param isWhole whether the value is stored as it is, rather than merged into another
 */
export function ruleBrokenBy({ type, options }: Typed, json: Json, source: string, isWhole = true): string | undefined {
  return type.admits?.(json, source, options) ?? (isWhole ? type.admitsWhole?.(json, source, options) : undefined)
}

/** The same as `valueSchema` for documents. */
export function describedSchema(typed: Typed): JsonSchema {
  const { type, options } = typed
  const described = type.rules(options).map((rule) => rule.described)
  return portable(
    Object.assign(valueSchema(typed), ...described, documented(typed), type.documentedRules?.(options)) as JsonSchema,
  )
}

/** The schema of the type, without the rules. */
export function comparedSchema(typed: Typed): JsonSchema {
  return portable({ ...typed.type.rules(typed.options)[0]?.schema, ...documented(typed) })
}

function documented({ type, options }: Typed): JsonSchema {
  return type.documented?.(options) ?? {}
}

const OWN_FORMATS: ReadonlySet<unknown> = new Set(['storable-text', 'base64', 'address', 'network', 'signed-duration'])

/** Removes keywords that other programs do not understand: our own formats, and bounds that JavaScript rounds, which the number's format implies. */
function portable(schema: JsonSchema): JsonSchema {
  const kept = Object.entries(schema).filter(([keyword, value]) => {
    if (keyword === 'format') return !OWN_FORMATS.has(value)
    return !['minimum', 'maximum'].includes(keyword) || schema['type'] !== 'integer' || Number.isSafeInteger(value)
  })
  return Object.fromEntries(kept)
}
