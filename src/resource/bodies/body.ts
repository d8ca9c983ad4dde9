import { type FieldSpec, isWritable, type ModelSpec } from '../../config/spec.js'
import type { LinkReader } from '../../features/feature.js'
import type { Rule } from '../../fields/field-type.js'
import { JsonMergePatch, unmergeable } from '../../fields/spelling/json-text.js'
import { bareObject } from '../../foundation/bare-object.js'
import type { JsonBody } from '../../foundation/json-body.js'
import { type FieldError, Problem } from '../../foundation/problem.js'
import { ruleBrokenBy, valueSchema } from '../../fields/value-schema.js'
import { brokenMessage, isOptional, rejectsEmpty } from '../field-schema.js'
import type { Row } from '../plan.js'
import { quote } from '../query.js'
import type { CompileSchema } from '../validator.js'

/**
 * Which fields a body must name: the required ones, all writable ones, or none. `assign` is `update` with values that replace stored ones instead of
 * being merged with them.
 */
export type BodyMode = 'create' | 'replace' | 'update' | 'assign'

const MAX_ERRORS = 20

/** Validates one member of a body. */
type MemberReader = (body: JsonBody, mode: BodyMode) => { readonly value: unknown } | { readonly broken: string }

interface Member {
  readonly field: FieldSpec
  readonly read: MemberReader
  readonly missing: (mode: BodyMode) => boolean
}

/**
 * Compiles a parser of bodies: it returns a value for each writable field, in the order of the fields. It throws Problem `validation` with every
 * error.
 */
export function compileBody(
  {
    model,
    ignored = [],
    granted,
  }: {
    readonly model: Pick<ModelSpec, 'fields'>
    /** Other members that bodies may have. */
    readonly ignored?: readonly string[]
    /** The fields that can be required; all if left out. */
    readonly granted?: ReadonlySet<string>
  },
  readLink: LinkReader,
  compile: CompileSchema,
) {
  const fields = model.fields.filter(isWritable)
  const members = fields.map(
    (field): Member => ({
      field,
      read: compileMember(field, readLink, compile),
      missing: granted?.has(field.name) === false ? () => false : isMissing(field),
    }),
  )
  const serverSet = model.fields.filter((field) => field.readOnly && !field.private).map((field) => field.name)
  const known = new Set([...fields.map((field) => field.name), ...serverSet, ...ignored])
  const names = fields.map((field) => field.name).join(', ')

  return (body: JsonBody, mode: BodyMode, ignore: readonly string[] = []): Row => {
    const errors: FieldError[] = []
    const row = bareObject<unknown>()
    const given = new Set(body.keys)
    for (const { field, read, missing } of members) {
      if (!given.has(field.name)) {
        if (missing(mode)) errors.push({ field: field.name, message: `${field.label} is required` })
        continue
      }
      const answer = read(body, mode)
      if ('value' in answer) row[field.name] = answer.value
      else errors.push({ field: field.name, message: answer.broken })
    }
    for (const key of body.keys) {
      if (known.has(key) || ignore.includes(key)) continue
      errors.push({
        field: quote(key).slice(1, -1),
        message: `${quote(key)} is not a field here; ${names === '' ? 'no field can be sent' : `the fields are ${names}`}`,
      })
    }
    if (errors.length > 0) throw invalid(errors)
    return row
  }
}

/** The problem of an invalid body; its detail is the first error. */
export function invalid(errors: readonly FieldError[]): Problem {
  const detail = errors.length === 1 ? errors[0]?.message : `${errors.length} fields are invalid`
  return new Problem('validation', detail, { errors: errors.slice(0, MAX_ERRORS) })
}

function isMissing(field: FieldSpec): (mode: BodyMode) => boolean {
  const optional = isOptional(field)
  return (mode) => (mode === 'create' ? !optional : mode === 'replace' && !field.primaryKey)
}

function compileMember(field: FieldSpec, readLink: LinkReader, compile: CompileSchema): MemberReader {
  const rules = field.type.rules(field.options)
  const failuresOf = compile(valueSchema(field))
  const fail = (name: string | undefined) => ({ broken: brokenMessage(field, name) })

  return (body, mode) => {
    const json = body.value(field.name) ?? null
    if (json === null && field.nullable) return { value: null }
    const linked = readLink(field, json)
    if (linked !== undefined) return { value: linked }
    const failed = failuresOf(json)
    if (failed.size > 0) return fail(brokenRule(rules, failed)?.name)
    const source = body.source(field.name)
    const { type, options } = field
    const changed = mode === 'update' ? type.patch?.(json, source, options) : undefined
    const rejected = ruleBrokenBy(field, json, source, changed === undefined)
    if (rejected !== undefined) return fail(rejected)
    if (json === '' && rejectsEmpty(field))
      return { broken: `${field.label} must not be empty, because it is part of the record's address` }
    const unmerged = changed instanceof JsonMergePatch ? unmergeable(changed) : undefined
    if (unmerged !== undefined) return { broken: `${field.label} ${unmerged}` }
    return { value: changed ?? type.fromJson(json, source, options) }
  }
}

/** The first violated rule: later ones often fail only because of it. */
function brokenRule(rules: readonly Rule[], failed: ReadonlySet<string>): Rule | undefined {
  return rules.find((rule) => Object.keys(rule.schema).some((keyword) => failed.has(keyword)))
}
