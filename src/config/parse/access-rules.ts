import type { Typed } from '../../fields/field-type.js'
import type { Json, Literal } from '../../foundation/json.js'
import { codeSource } from '../../lookups/code-source.js'
import { exact } from '../../lookups/exact.js'
import { isIn } from '../../lookups/in.js'
import { lookupOfType, lookupsOfType, parameterOf, splitParameter } from '../../lookups/index.js'
import { isnull } from '../../lookups/isnull.js'
import type { Lookup } from '../../lookups/lookup.js'
import type { ModelSpec } from '../model-spec.js'
import type { Rule, RuleCondition, RuleValue, SetSpec, UserSpec } from '../access-spec.js'
import { membersOf } from '../schema/yaml-shape.js'
import { describe, show, suggest } from '../words.js'
import type { Path } from '../yaml/located.js'
import type { AuthDraft } from './auth-draft.js'
import { type Drafts, isRelation, type FieldDraft, type ModelDraft, typedOf } from './drafts.js'
import { checkFieldName } from './field-names.js'
import type { Report } from './report.js'

/** The models and variables of conditions, and the report for mistakes. */
export interface RuleScope {
  readonly models: Drafts
  readonly auth: AuthDraft
  readonly report: Report
  /** Whether the conditions belong to a set, which cannot refer to sets. */
  readonly inSet?: boolean
}

/** Conditions whose fields and values exist; built once the models are. */
export type RuleDraft = readonly (readonly ConditionDraft[])[]

interface ConditionDraft {
  readonly relations: readonly string[]
  readonly field: string
  readonly lookup: Lookup
  readonly value: ValueDraft
}

/** The right side of a condition: a literal, or a variable by name. */
export type ValueDraft = { readonly literal: unknown } | { readonly variable: string }

/** The parts that rules are built from. */
export interface RuleParts {
  readonly models: ReadonlyMap<string, ModelSpec>
  readonly user: UserSpec | undefined
  readonly sets: ReadonlyMap<string, SetSpec>
}

/** Reads conditions on the records of a model, and reports every mistake. */
export function readRule(given: Json, model: ModelDraft, path: Path, scope: RuleScope): RuleDraft {
  return Array.isArray(given)
    ? (given as readonly Json[]).map((each, index) => readConditions(each, model, [...path, index], scope))
    : [readConditions(given, model, path, scope)]
}

function readConditions(given: Json, model: ModelDraft, path: Path, scope: RuleScope): readonly ConditionDraft[] {
  return membersOf(given).flatMap(([name, value]) => {
    const at = [...path, name]
    return scope.report.isInvalid(at) ? [] : (readCondition(name, value, { model, path: at }, scope) ?? [])
  })
}

interface RulePlace {
  readonly model: ModelDraft
  readonly path: Path
}

function readCondition(
  text: string,
  given: Json,
  { model, path }: RulePlace,
  scope: RuleScope,
): ConditionDraft | undefined {
  const { models, report } = scope
  const place = { path, part: 'key' } as const
  const names = text.split('.')
  const last = names.pop() ?? ''
  let owner = model
  for (const name of names) {
    if (!checkFieldName(owner, name, place, report)) return undefined
    const field = owner.fields.get(name)
    if (field === undefined) return undefined
    const target = isRelation(field) ? models.get(field.yaml.model ?? '') : undefined
    if (target === undefined) {
      if (!isRelation(field))
        report.add({ ...place, code: 'SC311', message: `${show(name)} leads to no other record: it is not a relation` })
      return undefined
    }
    owner = target
  }
  const { fields } = owner
  const [name, wanted] = splitParameter(last, (each) => fields.has(each))
  if (!checkFieldName(owner, name, place, report)) return undefined
  const field = owner.fields.get(name)
  const typed = field && typedOf(field, models)
  if (field === undefined || typed === undefined) return undefined
  const lookup = lookupOfType(field.type, wanted)
  if (lookup === undefined) {
    const offered = lookupsOfType(field.type).map((each) => each.name)
    const message = `the type \`${field.type.name}\` of ${show(name)} has no lookup \`${wanted}\``
    report.add({ ...place, code: 'SC312', message, help: [`its lookups: ${offered.join(', ')}`] })
    return undefined
  }
  const value = readValue(given, { field, typed, lookup, path }, scope)
  return value && { relations: names, field: name, lookup, value }
}

interface ValuePlace {
  readonly field: FieldDraft
  readonly typed: Typed
  readonly lookup: Lookup
  readonly path: Path
  /** The message of the first rule that a literal breaks, if the value is stored, not compared. */
  readonly brokenRule?: (literal: Literal) => string | undefined
}

/** Reads the value of a comparison: a variable such as `$sub`, or a literal; a literal text that begins with `$` is written with `$$`. */
export function readValue(given: Json, place: ValuePlace, scope: RuleScope): ValueDraft | undefined {
  if (typeof given === 'string' && given.startsWith('$') && !given.startsWith('$$'))
    return readVariable(given.slice(1), place, scope)
  const { field, typed, lookup, path, brokenRule } = place
  const item = variableIn(given)
  if (item !== undefined) {
    const message = `an item of a list cannot be a variable, and ${show(item)} begins with one \`$\``
    const help = [
      `write ${show(`$${item}`)} for the text ${show(item)}`,
      'a variable is the whole value, without a list',
    ]
    scope.report.add({ code: 'SC331', path, message, help })
    return undefined
  }
  const isPreset = brokenRule !== undefined
  const literal = plain(given)
  const reject = (help: string) => {
    scope.report.add({
      code: 'SC331',
      path,
      message: `${show(field.name)} cannot be ${isPreset ? 'set to' : 'compared with'} ${given === null ? 'null' : describe(given)}`,
      help: [help],
    })
    return undefined
  }
  try {
    const source = codeSource(typed, (wanted) => new Error(wanted))
    const checked = lookup.operand.check(literal, source)
    const broken = brokenRule?.(literalOf(literal, checked))
    return broken === undefined ? { literal: checked } : reject(`it ${broken}`)
  } catch (error) {
    const wanted = error instanceof Error ? error.message : String(error)
    if (given !== null) return reject(`it ${isPreset ? 'takes' : 'is compared with'} ${wanted}`)
    return reject(
      isPreset
        ? '`set` cannot store null; to keep the field null, write a grant of its own for writing, whose `fields` lack this field'
        : `compare by \`${parameterOf(field.name, isnull)}\``,
    )
  }
}

/** A value with its JSON. Long integers are given as text. */
function literalOf(given: Json, checked: unknown): Literal {
  if (typeof checked === 'bigint') return { value: Number(checked), source: `${checked}` }
  if (!Array.isArray(given) || !Array.isArray(checked)) return { value: given, source: JSON.stringify(given) }
  const items = checked.map((item, at) => literalOf(given[at] as Json, item))
  return { value: items.map(({ value }) => value), source: `[${items.map(({ source }) => source).join()}]` }
}

/** A text of a list, or of lists within it, that is written as a variable. */
function variableIn(given: Json): string | undefined {
  const texts = Array.isArray(given) ? (given as readonly Json[]).flat(Infinity as 1) : []
  return texts.find((text): text is string => typeof text === 'string' && /^\$(?!\$)/.test(text))
}

function plain(given: Json): Json {
  if (Array.isArray(given)) return (given as readonly Json[]).map(plain)
  return typeof given === 'string' && given.startsWith('$$') ? given.slice(1) : given
}

/** The TypeScript type of a field's values, of the items of a list, or of the referenced field, by which variables are compared with it. */
function kindOf({ type, options }: Typed): string {
  const other = type.items?.(options) ?? ('key' in options ? (options.key as Typed) : undefined)
  return other ? kindOf(other) : type.typescript
}

function readVariable(
  variable: string,
  { field, typed, lookup, path, brokenRule }: ValuePlace,
  { models, auth, report, inSet = false }: RuleScope,
): ValueDraft | undefined {
  const reject = (message: string, ...help: readonly string[]) => {
    report.add({ code: 'SC331', path, message, help: [...help] })
    return undefined
  }
  const differ = (kind: string | undefined) =>
    kind !== undefined && kind !== kindOf(typed)
      ? reject(`${show(field.name)} is of the type \`${field.type.name}\`, and ${show(`$${variable}`)} is a ${kind}`)
      : { variable }
  if (lookup.operand.choices !== undefined) return reject(`the lookup \`${lookup.name}\` takes true or false`)
  if (brokenRule !== undefined && field.type.items && ['sub', 'user'].includes(variable))
    return reject(`${show(field.name)} is a list, and ${show(`$${variable}`)} is one value`, 'let a hook set the list')
  if (variable === 'sub' && lookup.operand.list !== undefined)
    return reject(
      `\`$sub\` is one value, and the lookup \`${lookup.name}\` takes a list`,
      `write \`${parameterOf(field.name, lookup.forOne ?? exact)}: $sub\``,
    )
  if (variable === 'sub') return differ('string')
  if (variable === 'user') {
    if (auth.user === undefined)
      return reject('`$user` needs `auth.user`, which says which record stands for the caller')
    if (lookup !== exact) return reject('`$user` is one value; compare it without a lookup')
    const [key] = models.get(auth.user.model)?.key ?? []
    const known = key && typedOf(key, models)
    return differ(known && kindOf(known))
  }
  const claim = auth.claims.get(variable)
  if (claim !== undefined) return differ(kindOf({ type: claim, options: {} }))
  const set = inSet ? undefined : auth.sets.get(variable)
  if (set !== undefined) {
    if (lookup !== isIn) return reject(`${show(`$${variable}`)} is a set; compare by \`${field.name}__in\``)
    const values = models.get(set.model)?.fields.get(set.field)
    const known = values && typedOf(values, models)
    return differ(known && kindOf(known))
  }
  const known = ['sub', ...(auth.user ? ['user'] : []), ...auth.claims.keys(), ...(inSet ? [] : auth.sets.keys())]
  return reject(`${show(`$${variable}`)} is not a variable`, ...suggest(variable, known, 'variable'))
}

/** Builds the conditions of a rule without mistakes. */
export function buildRule(draft: RuleDraft, model: ModelSpec, parts: RuleParts): Rule {
  return draft.map((all) => all.map((each) => buildCondition(each, model, parts)))
}

function buildCondition(
  { relations: names, field, lookup, value }: ConditionDraft,
  model: ModelSpec,
  parts: RuleParts,
): RuleCondition {
  let owner = model
  const relations = names.map((name) => {
    const relation = fieldOf(owner, name)
    const target = relation.target ?? missing(name)
    owner = parts.models.get(target.model) ?? missing(target.model)
    return { field: relation, target }
  })
  return { relations, field: fieldOf(owner, field), lookup, value: buildValue(value, parts) }
}

/** Builds a value without mistakes. */
export function buildValue(value: ValueDraft, { user, sets }: RuleParts): RuleValue {
  if ('literal' in value) return value
  if (value.variable === 'sub') return { subject: true }
  if (value.variable === 'user') return { user: user ?? missing('user') }
  const set = sets.get(value.variable)
  return set === undefined ? { claim: value.variable } : { set }
}

function fieldOf({ fields }: ModelSpec, name: string) {
  return fields.find((each) => each.name === name) ?? missing(name)
}

function missing(name: string): never {
  throw new Error(`the configuration passed its checks, yet ${name} is missing`)
}
