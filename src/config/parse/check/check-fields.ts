import { canBeKey, type Conflict, type FieldType } from '../../../fields/field-type.js'
import { ruleBrokenBy } from '../../../fields/value-schema.js'
import { isRounded } from '../../../fields/spelling/json-text.js'
import { FORMATS } from '../../../fields/spelling/formats.js'
import { FIELD_TYPES } from '../../../fields/index.js'
import type { Json, JsonSchema, Literal } from '../../../foundation/json.js'
import { type Ajv2020, loadAjv, type ValidateFunction } from '../../schema/ajv.js'
import { checkRelation } from './check-relation.js'
import { type Drafts, type FieldDraft, isRelation, keySourceOf, typedOf } from '../drafts.js'
import type { Report } from '../report.js'
import { DEFAULT_FUNCTIONS } from '../../schema/models.js'
import { describe, show } from '../../words.js'
import type { FieldYaml } from '../../schema/yaml-shape.js'

/** Whether a value is valid by a schema of our own. */
export type ValidateValue = (schema: JsonSchema, value: Json) => boolean

/** Compiles each schema once, however many fields have it. */
export function createValidator(): ValidateValue {
  const known = new Map<string, ValidateFunction>()
  let ajv: Ajv2020 | undefined
  return (schema, value) => {
    const key = JSON.stringify(schema)
    ajv ??= new (loadAjv())({ strict: false, meta: false, validateSchema: false, formats: FORMATS })
    const validate = known.get(key) ?? ajv.compile(schema)
    known.set(key, validate)
    return validate(value)
  }
}

/** A field's part in its model. */
export interface FieldRole {
  /** Whether it is the primary key, or a part of it. */
  readonly isKey: boolean
  /** Whether the key has no other field. */
  readonly isWhole: boolean
  /** Whether migrations create the column. */
  readonly isManaged: boolean
}

interface FieldContext {
  readonly drafts: Drafts
  readonly report: Report
  readonly validate: ValidateValue
}

/** Reports mistakes within one field, and in its references. */
export function checkField(field: FieldDraft, role: FieldRole, { drafts, report, validate }: FieldContext): void {
  checkPairs(field, report)
  checkKey(field, role, report)
  checkGenerated(field, role, report)
  checkAuto(field, report)
  checkReadOnlyType(field, report)
  if (isRelation(field)) checkRelation(field, drafts, report)
  const options = typedOf(field, drafts)?.options
  if (options === undefined) return
  const conflicts = field.type.conflicts?.(options) ?? []
  for (const conflict of conflicts) {
    report.add({ code: 'SC304', path: [...field.path, laterOf(field, conflict, report)], message: conflict.message })
  }
  if (conflicts.length === 0 && !field.type.readOnly && field.yaml.default !== undefined)
    checkDefault(field, options, { role, report, validate })
}

function checkGenerated({ name, path, yaml }: FieldDraft, { isManaged }: FieldRole, report: Report): void {
  if (yaml.generated !== true || !isManaged) return
  const message = `${show(name)} cannot be \`generated\`: migrations create the column, but nothing that fills it`
  const help = [
    '`default` and `auto` fill a column',
    'or say `managed: false` of the model, if its table is made otherwise',
  ]
  report.add({ code: 'SC304', path: [...path, 'generated'], part: 'key', message, help })
}

const CONTRADICTIONS = [
  ['read_only', 'write_only'],
  ['private', 'read_only'],
  ['private', 'write_only'],
  ['auto', 'default'],
  ['auto', 'write_only'],
  ['generated', 'write_only'],
  ['generated', 'default'],
] as const satisfies readonly (readonly [keyof FieldYaml, keyof FieldYaml])[]

function isSet(yaml: FieldYaml, key: keyof FieldYaml): boolean {
  return yaml[key] !== undefined && yaml[key] !== false
}

function later(field: FieldDraft, one: string, other: string, report: Report): string {
  return report.offset([...field.path, one]) > report.offset([...field.path, other]) ? one : other
}

function checkPairs(field: FieldDraft, report: Report): void {
  for (const [one, other] of CONTRADICTIONS) {
    if (!isSet(field.yaml, one) || !isSet(field.yaml, other)) continue
    const second = later(field, one, other, report)
    const first = second === one ? other : one
    const message = `${show(field.name)} cannot have both \`${first}\` and \`${second}\``
    report.add({ code: 'SC304', path: [...field.path, second], part: 'key', message })
  }
}

/** Where a mistake is reported: at the later one of two options that bound each other. */
function laterOf(field: FieldDraft, { option, other }: Conflict, report: Report): string {
  const has = other !== undefined && Object.hasOwn(field.yaml, other)
  return has ? later(field, option, other, report) : option
}

/** Options that a field of a key cannot have. */
const NOT_FOR_KEYS = ['nullable', 'write_only', 'private'] as const
/** Options that a field of a key cannot have if the server assigns its values. */
const NOT_IF_ASSIGNED = ['default', 'auto'] as const

function checkKey(field: FieldDraft, { isKey, isWhole }: FieldRole, report: Report): void {
  const { type, yaml, path, name } = field
  const at = (key: string) => ({ code: 'SC303', path: [...path, key], part: 'key' }) as const
  if (!isKey) {
    if (yaml.key === undefined) return
    const help = ['add `primary_key: true`, or remove it']
    report.add({
      ...at('key'),
      code: 'SC319',
      message: `\`key\` has no effect: ${show(name)} is not a primary key`,
      help,
    })
    return
  }
  if (!canBeKey(type, yaml) || type.readOnly) {
    const place = yaml.primary_key === true ? at('primary_key') : ({ code: 'SC303', path, part: 'key' } as const)
    const reason = type.hasManySpellings?.(yaml) ? ': equal values can have several spellings' : ''
    const message = `a field of the type \`${type.name}\` cannot be a primary key${reason}`
    report.add({ ...place, message, help: [KEY_TYPES] })
    return
  }
  const by = keySourceOf(field, isWhole)
  if (by !== 'client' && by !== type.assigned?.key) {
    const [known] = FIELD_TYPES.filter(({ assigned }) => assigned?.key === by).map((each) => each.name)
    const message = `\`key: ${by}\` is for fields of the type \`${known}\`, and ${show(name)} is of the type \`${type.name}\``
    const help = [`\`key: client\` lets clients choose the key`]
    report.add({ code: 'SC303', path: [...path, 'key'], message, help })
  }
  for (const key of NOT_FOR_KEYS.filter((each) => isSet(yaml, each))) {
    report.add({ ...at(key), message: `a primary key cannot have \`${key}\`` })
  }
  if (by === 'client') return
  for (const key of NOT_IF_ASSIGNED.filter(
    (each) => isSet(yaml, each) && !(each === 'default' && isOfDatabase(yaml)),
  )) {
    const help = ['`key: client` lets clients choose the key']
    report.add({ ...at(key), message: `a primary key cannot have \`${key}\`: the server assigns its values`, help })
  }
}

/** Whether the default of the column applies, which the database can also give to a key that it assigns. */
function isOfDatabase({ default: given }: FieldYaml): boolean {
  return typeof given === 'object' && given !== null && 'function' in given && given.function === 'database'
}

const KEY_TYPES = `the types for primary keys: ${FIELD_TYPES.filter(({ key, readOnly }) => key && !readOnly)
  .map(({ name }) => `\`${name}\``)
  .join(', ')}`

function checkAuto(field: FieldDraft, report: Report): void {
  if (field.yaml.auto === undefined || fits('now', field.type)) return
  const message = `\`auto\` sets a time, so it cannot be used with the type \`${field.type.name}\``
  const help = [`\`auto\` is for fields of the type: ${DEFAULT_FUNCTIONS.now.join(', ')}`]
  report.add({ code: 'SC315', path: [...field.path, 'auto'], part: 'key', message, help })
}

/** Options that give a value to a field. */
const WRITES = ['default', 'write_only'] as const

function checkReadOnlyType({ type, yaml, path, name }: FieldDraft, report: Report): void {
  if (!type.readOnly) return
  for (const key of WRITES.filter((each) => isSet(yaml, each))) {
    const message = `${show(name)} cannot have \`${key}\`: fields of the type \`${type.name}\` are never written`
    report.add({ code: 'SC304', path: [...path, key], part: 'key', message })
  }
}

function fits(call: keyof typeof DEFAULT_FUNCTIONS, type: FieldType): boolean {
  return DEFAULT_FUNCTIONS[call].includes(type.name)
}

function checkDefault(
  field: FieldDraft,
  options: object,
  { role, report, validate }: Omit<FieldContext, 'drafts'> & { readonly role: FieldRole },
): void {
  const { default: given = null, nullable = false } = field.yaml
  const path = [...field.path, 'default']
  if (typeof given === 'object' && given !== null && 'function' in given) {
    if (isOfDatabase(field.yaml)) {
      if (!role.isManaged) return
      const message = `${show(field.name)} cannot have the default of the database: migrations create the column, with a default that is written here`
      report.add({
        code: 'SC315',
        path: [...path, 'function'],
        message,
        help: ['give the default, or say `managed: false` of the model'],
      })
      return
    }
    const call = given.function as keyof typeof DEFAULT_FUNCTIONS
    if (fits(call, field.type)) return
    const message = `the function \`${call}\` does not produce values of the type \`${field.type.name}\``
    const help = [`it is for fields of the type: ${DEFAULT_FUNCTIONS[call].join(', ')}`]
    report.add({ code: 'SC315', path: [...path, 'function'], message, help })
    return
  }
  if (given === null) {
    if (nullable || report.isUncertain(field.path)) return
    const message = `the default of ${show(field.name)} cannot be null: the field is not nullable`
    report.add({ code: 'SC314', path, part: 'key', message, help: ['give a value, or add `nullable: true`'] })
    return
  }
  const broken = brokenRule(field.type, options, given, validate)
  if (broken === undefined) return
  const message = `the default of ${show(field.name)} ${broken}; got ${describe(given)}`
  const isValid = (value: Json, source: string) =>
    brokenRuleOf({ value, source }, field.type, options, validate) === undefined
  report.add({ code: 'SC314', path, message, help: otherSpelling(given, isValid) })
}

/** The help if a text would be valid as a number, or a number as text. */
function otherSpelling(given: Json, isValid: (value: Json, source: string) => boolean): string[] {
  if (typeof given === 'number')
    return isValid(`${given}`, `"${given}"`) ? [`in quotes it is text: \`"${given}"\``] : []
  if (typeof given !== 'string' || !/^-?\d/.test(given)) return []
  const number = Number(given)
  const isExact = !isRounded(given) && (!Number.isInteger(number) || Number.isSafeInteger(number))
  const source = isExact ? `${number}` : given
  if (!Number.isFinite(number) || !isValid(number, source)) return []
  return [isExact ? `without quotes it is a number: \`${source}\`` : 'a default must be within ±9007199254740991']
}

/** The message of the first rule that a literal breaks. */
export function brokenRule(type: FieldType, options: object, given: Json, validate: ValidateValue): string | undefined {
  return brokenRuleOf({ value: given, source: JSON.stringify(given) }, type, options, validate)
}

/** The same for a literal with its JSON. */
export function brokenRuleOf(
  { value: given, source }: Literal,
  type: FieldType,
  options: object,
  validate: ValidateValue,
): string | undefined {
  const rules = type.rules(options)
  const failed = rules.find(({ schema }) => !validate(schema, given))
  if (failed !== undefined) return failed.message
  const name = ruleBrokenBy({ type, options }, given, source)
  return name === undefined ? undefined : (rules.find((rule) => rule.name === name)?.message ?? 'breaks a rule')
}
