import {
  type AppSpec,
  ANYONE,
  type FieldSpec,
  type ModelSpec,
  type Rule,
  type RuleCondition,
  SIGNED_IN,
} from '../config/spec.js'
import type { Json } from '../foundation/json.js'
import { exact } from '../lookups/exact.js'
import { kindOf, nextTo, type StoredText } from './decide/compare.js'
import { evaluateRule, type Known, type StoredRecord } from './decide/evaluate.js'
import { type Caller, knownBy } from './decide/situation.js'
import { validTexts } from './example-values.js'
import { writtenLiteral } from './format.js'

/** The records of every table, by the name of the table. */
export type World = ReadonlyMap<string, readonly StoredRecord[]>

/** The rules of an application, with the model of the records that they apply to. */
export function rulesOf({ resources }: AppSpec): readonly { readonly model: ModelSpec; readonly rule: Rule }[] {
  const own = resources.flatMap(({ model, access = [] }) =>
    (access ?? []).flatMap(({ rows, becomes }) => [rows, becomes].flatMap((rule) => (rule ? [{ model, rule }] : []))),
  )
  const sets = own.flatMap(({ rule }) =>
    rule.flat().flatMap(({ value }) => ('set' in value ? [{ model: value.set.model, rule: value.set.rows }] : [])),
  )
  return [...own, ...sets]
}

const SUBJECTS = ['verify-a', 'verify-b'] as const
const CLAIMS: Readonly<Record<string, readonly [Json, Json]>> = {
  number: [1, 2],
  boolean: [true, false],
  string: ['a', 'b'],
}

/**
 * Example callers: one without credentials; two with different subjects and claims for no role, for each role and for all roles; and one with all roles
 * and no claims, if the configuration declares claims.
 */
export function exampleCallers(spec: AppSpec): readonly (Caller | undefined)[] {
  const { auth } = spec
  if (!auth) return []
  const conditions = rulesOf(spec).flatMap(({ rule }) => rule.flat())
  const claimed = ([0, 1] as const).map((place) =>
    Object.fromEntries(
      auth.claims.map(({ name, type }) => {
        const uses = conditions.filter(({ value }) => 'claim' in value && value.claim === name)
        const choices = uses.flatMap(({ field }) => choicesOf(field))
        const formatted = uses.flatMap(({ field }) => (field.type.plainTexts ? [] : examplesOf(field)))
        const value = choices[place] ?? formatted[place] ?? CLAIMS[type]?.[place] ?? null
        return [name, uses.some(({ lookup }) => lookup.operand.list !== undefined) ? [value] : value] as const
      }),
    ),
  )
  const combinations = [[], ...auth.roles.map((role) => [role]), ...(auth.roles.length > 1 ? [auth.roles] : [])]
  const callers = combinations.flatMap((roles): readonly Caller[] => [
    ...SUBJECTS.map((subject, at) => ({ subject, roles, claims: claimed[at] ?? {} })),
  ])
  const unclaimed = auth.claims.length > 0 ? [{ subject: SUBJECTS[0], roles: auth.roles, claims: {} }] : []
  return [undefined, ...callers, ...unclaimed]
}

function choicesOf({ options }: FieldSpec): readonly string[] {
  return 'choices' in options && Array.isArray(options.choices) ? (options.choices as readonly string[]) : []
}

/** Values of a field, some of which its rules accept. A relation has the keys of the records that exist. */
export function exampleValues(spec: AppSpec, field: FieldSpec, world: World): readonly StoredText[] {
  const { target, nullable } = field
  const none = nullable ? [null] : []
  if (target) return [...(world.get(target.table) ?? []).map((record) => record[target.field] ?? null), ...none]
  const conditions = rulesOf(spec).flatMap(({ rule }) => rule.flat())
  const match = spec.auth && conditions.some(({ value }) => usersOf(value) === field)
  const callers = exampleCallers(spec)
  const wanted = conditions
    .filter((each) => each.field === field)
    .flatMap((condition) => valuesAround(condition, callers))
  const standard =
    field.default && 'literal' in field.default ? [writtenLiteral(field.default.literal, field, exact)] : []
  const { plain, accepts } = validTexts(field)
  const compared = [...(match ? SUBJECTS : []), ...wanted, ...standard]
    .map((value) => (value === null ? null : String(value)))
    .filter((text) => text === null || accepts(text))
  const choices = choicesOf(field)
  const values = [...compared, ...(choices.length > 0 ? choices : plain), ...none]
  return [...new Set(values)].filter((value) => value !== null || nullable).slice(0, 16)
}

function examplesOf({ type, options }: FieldSpec): readonly Json[] {
  return (type.examplesOf?.(options) ?? type.examples).map(({ json }) => json)
}

function usersOf(value: RuleCondition['value']): FieldSpec | undefined {
  if ('user' in value) return value.user.match
  const inner = 'set' in value ? value.set.rows.flat().find((each) => 'user' in each.value)?.value : undefined
  return inner && 'user' in inner ? inner.user.match : undefined
}

/** The values that a condition compares with, and others next to them. */
function valuesAround(
  { field, lookup, value }: RuleCondition,
  callers: readonly (Caller | undefined)[],
): readonly Json[] {
  const given: readonly unknown[] =
    'literal' in value
      ? [writtenLiteral(value.literal, field, lookup)].flat()
      : 'subject' in value
        ? SUBJECTS
        : 'claim' in value
          ? callers.flatMap((caller) => caller?.claims[value.claim] ?? []).flat()
          : []
  if (lookup.ofNull) return []
  return given.flatMap((each): readonly Json[] => {
    if (kindOf(field) === 'number') return [String(each), ...nextTo(String(each))]
    return choicesOf(field).length > 0 || kindOf(field) !== 'text'
      ? [String(each)]
      : [String(each), `${String(each)}x`, `x${String(each)}`]
  })
}

/** An alternative of a rule that a record meets, or of which a single condition fails. */
export interface Near {
  readonly alternative: number
  /** The place of the failing condition; undefined if all conditions hold. */
  readonly broken: number | undefined
}

/** Finds the alternatives of a rule that a record meets, or of which a single condition fails. */
export function nearTo(rule: Rule, record: StoredRecord, known: Known): readonly Near[] {
  return evaluateRule(rule, record, known).alternatives.flatMap((all, alternative): readonly Near[] => {
    const failing = all.flatMap(({ holds }, at) => (holds === true ? [] : [at]))
    return failing.length > 1 ? [] : [{ alternative, broken: failing[0] }]
  })
}

/**
 * Changes a record until it meets an alternative of a rule, or all of its conditions but one. Returns undefined if no example values lead there.
 */
export function towards(
  record: StoredRecord,
  all: readonly RuleCondition[],
  broken: number | undefined,
  { known, values }: { readonly known: Known; readonly values: (field: FieldSpec) => readonly StoredText[] },
): StoredRecord | undefined {
  const isRight = (candidate: StoredRecord, at: number) => {
    const condition = all[at]
    return condition !== undefined && (evaluateRule([[condition]], candidate, known).holds === true) === (at !== broken)
  }
  let made = record
  for (const at of all.keys()) {
    const field = all[at]?.relations[0]?.field ?? all[at]?.field
    if (field === undefined || isRight(made, at)) continue
    const found = values(field).find((value) => isRight({ ...made, [field.name]: value }, at))
    if (found === undefined) return undefined
    made = { ...made, [field.name]: found }
  }
  return [...all.keys()].every((at) => isRight(made, at)) ? made : undefined
}

/** The first example caller to whom a grant applies, with the data of the caller and of `world` that rules need. */
export function callerFor(
  spec: AppSpec,
  to: string,
  world: World,
): { readonly caller: Caller | undefined; readonly known: Known } {
  const caller = exampleCallers(spec).find(
    (each) => each !== undefined && (to === ANYONE || to === SIGNED_IN || each.roles.includes(to)),
  )
  return { caller, known: knownBy(spec, caller, (table) => world.get(table)) }
}
