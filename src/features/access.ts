import { ANYONE, type GrantSpec, SIGNED_IN } from '../config/access-spec.js'
import { type CoreSpec, OPERATIONS, READS } from '../config/core-spec.js'
import { totalOrder, uniformStart } from '../config/indexes/coverage.js'
import { type ModelDraft, typedOf, whyHidden } from '../config/parse/drafts.js'
import {
  buildRule,
  buildValue,
  readRule,
  readValue,
  type RuleDraft,
  type ValueDraft,
} from '../config/parse/access-rules.js'
import { checkFieldName } from '../config/parse/field-names.js'
import { offers, type ResourceDraft } from '../config/parse/resource-drafts.js'
import { accessSchema } from '../config/schema/access.js'
import { doc } from '../config/schema/parts.js'
import { itemsOf, membersOf } from '../config/schema/yaml-shape.js'
import { nameOf, show, suggest } from '../config/words.js'
import { findValue, type Path } from '../config/yaml/located.js'
import type { Json, Literal } from '../foundation/json.js'
import { exact } from '../lookups/exact.js'
import { isIn } from '../lookups/in.js'
import type { Lookup } from '../lookups/lookup.js'
import { cursor } from '../pagination/cursor.js'
import type { Declared, Feature, IndexUse, Scope } from './feature.js'
import type { OrderableSpec } from './orderable.js'

export interface AccessSpec {
  /** The grants; other requests are denied. Undefined without `auth`: nothing limits callers. */
  readonly access: readonly GrantSpec[] | undefined
}

interface GrantDraft {
  readonly to: string
  readonly may: readonly string[]
  readonly rows: RuleDraft | undefined
  readonly becomes: RuleDraft | undefined
  /** Whether the grant names a field; undefined for all fields. */
  readonly fields: ((name: string) => boolean) | undefined
  readonly set: readonly { readonly field: string; readonly value: ValueDraft }[]
}

const CHANGES: readonly string[] = ['update', 'partial_update']
/** Short words for several operations. */
const SHORT: ReadonlyMap<string, readonly string[]> = new Map([
  ['read', READS],
  ['change', CHANGES],
])
const ALL = 'all'

/** `access: [{ to: member, may: read, rows: { owner: $sub } }]`: the operations of each role, on some records and fields. */
export const access: Feature<AccessSpec, object, Pick<OrderableSpec, 'defaultOrder'>> = {
  keys: {
    access: doc(
      accessSchema(),
      'Grants: the operations of a role, on some records and fields. The service denies all others. Needs `auth`.',
      'access:\n  - { to: anyone, may: read }\n  - { to: signed_in, may: all, rows: { owner: $sub } }',
    ),
  },

  synonyms: { access: ['permissions', 'policies', 'grants', 'authorization'] },

  parse(resource, scope) {
    const given = resource.given('access')
    const { auth } = scope
    if (auth === undefined) {
      if (given !== undefined) reportWithoutAuth(resource, scope)
      return () => ({ access: undefined })
    }
    const drafts = itemsOf(given).map((grant, place) => readGrant(resource, grant, place, { ...scope, auth }))
    checkTogether(resource, drafts, scope)
    const computed = membersOf(resource.given('computed')).map(([name]) => name)
    return (declared) => ({
      access: drafts.flatMap((draft) => (draft ? [buildGrant(draft, computed, declared)] : [])),
    })
  },

  indexes: (spec) => (spec.access ?? []).flatMap((grant, place) => ruleIndexes(grant, spec, place)),

  responses: ({ access: grants }, { operation }) =>
    grants === undefined
      ? {}
      : {
          problems: ['unauthorized', 'forbidden'],
          mayLackBody: operation === 'create',
          ...(['update', 'partial_update'].includes(operation) && { answers: CHANGED_UNSEEN }),
        },
}

const NARROWING: readonly Lookup[] = [exact, isIn]

/** The indexes that lists under a grant need: for each combination of conditions, one for the first condition that is slow without an index. */
function ruleIndexes(
  { may, rows = [] }: GrantSpec,
  spec: CoreSpec & Pick<OrderableSpec, 'defaultOrder'>,
  place: number,
): readonly IndexUse[] {
  if (!may.includes('list')) return []
  const narrowing = rows.flatMap(
    (all) =>
      all.find(
        ({ relations, field, lookup }) =>
          relations.length === 0 && NARROWING.includes(lookup) && lookup.index(field) === 'needed',
      ) ?? [],
  )
  const order = spec.defaultOrder.length === 0 ? [] : uniformStart(totalOrder(spec, spec.defaultOrder))
  return narrowing.map(({ field }): IndexUse => {
    const after = (order.length > 0 ? order : totalOrder(spec, [])).map((each) => each.field)
    const cost = `no index serves the rule on ${show(field.name)} in the order of lists: each list reads all records that it allows`
    const best = [field, ...after.filter((each) => each !== field)]
    return { field, need: { key: 'access', place, cost, wanted: { equal: [field], order }, best } }
  })
}

/** Describes the response to a change of a record that the caller may not see. */
export const UNSEEN = 'The change is stored; the caller may not see the record.'
const CHANGED_UNSEEN = { 204: { description: UNSEEN, headers: [] } }

function reportWithoutAuth({ path }: ResourceDraft, { report }: Scope): void {
  report.add({
    code: 'SC330',
    path: [...path, 'access'],
    part: 'key',
    message: '`access` needs `auth`, which says how callers sign in',
    help: ['add `auth` at the top of the file'],
  })
}

type AuthScope = Scope & { readonly auth: NonNullable<Scope['auth']> }

function readGrant(resource: ResourceDraft, given: Json, place: number, scope: AuthScope): GrantDraft | undefined {
  const { model, path: start } = resource
  const path = [...start, 'access', place]
  const { report } = scope
  if (model === undefined || report.isInvalid([...path, 'to']) || report.isInvalid([...path, 'may'])) return undefined
  const at = (key: string) => findValue(given, [key])
  const usable = (key: string) => (report.isInvalid([...path, key]) ? undefined : at(key))
  const to = readTo(nameOf(at('to') ?? ''), [...path, 'to'], scope)
  const may = readMay(resource, at('may') ?? '', [...path, 'may'], scope)
  const rule = (key: string) => {
    const rows = usable(key)
    return rows === undefined ? undefined : readRule(rows, model, [...path, key], scope)
  }
  const rows = rule('rows')
  const becomes = rule('becomes')
  if (becomes && !may.some((each) => CHANGES.includes(each)))
    report.add({
      code: 'SC332',
      path: [...path, 'becomes'],
      part: 'key',
      message: '`becomes` is for grants that allow `change`',
    })
  const set = membersOf(usable('set')).flatMap(([name, value]) =>
    readSet(name, value, { model, path: [...path, 'set', name] }, scope),
  )
  if (set.length > 0 && may.every((each) => each !== 'create' && !CHANGES.includes(each)))
    report.add({
      code: 'SC332',
      path: [...path, 'set'],
      part: 'key',
      message: '`set` is for grants that allow `create` or `change`',
    })
  const fields = readFields(resource, model, usable('fields'), { path: [...path, 'fields'], scope })
  return { to, may, rows, becomes, fields, set }
}

/** The SQL of records has a `case` branch for each combination of these sets, so their number is limited. */
const MAX_FIELD_SETS = 4

/** Reports grants that do not fit together. */
function checkTogether(
  { path, given, model }: ResourceDraft,
  drafts: readonly (GrantDraft | undefined)[],
  { report }: Scope,
): void {
  const names = [...(model?.fields.keys() ?? [])]
  const allowing = (operation: string) => drafts.filter((draft) => draft?.may.includes(operation))
  const countSets = (reading: string) =>
    new Set(allowing(reading).map((draft) => names.filter((name) => draft?.fields?.(name) ?? true).join())).size
  const reading = READS.find((each) => countSets(each) > MAX_FIELD_SETS)
  if (reading)
    report.add({
      code: 'SC334',
      path: [...path, 'access'],
      part: 'key',
      message: `the grants of \`${reading}\` show ${countSets(reading)} different sets of fields; at most ${MAX_FIELD_SETS} are allowed`,
    })
  const lists = allowing('list')
  const hidesKey = lists.some((draft) => model?.key.some(({ name }) => draft?.fields?.(name) === false))
  if (hidesKey && findValue(given('pagination') ?? null, ['style']) === cursor.name)
    report.add({
      code: 'SC334',
      path: [...path, 'pagination', 'style'],
      message: 'cursors contain the key of records, and a grant of `list` does not show it',
      help: ['choose another style, or add the key to the `fields` of each grant of `list`'],
    })
  for (const [index, term] of itemsOf(given('default_order')).entries()) {
    const name = nameOf(term).replace(/^-/, '')
    const hiding = drafts.findIndex((draft) => draft?.may.includes('list') && draft.fields?.(name) === false)
    if (hiding < 0) continue
    report.add({
      code: 'SC334',
      path: [...path, 'default_order', index],
      message: `lists cannot be ordered by ${show(name)}: a grant of \`list\` does not show it, and the order would reveal its values`,
      help: ['order by fields that every grant of `list` shows'],
    })
  }
}

function readTo(to: string, path: Path, { auth, report }: AuthScope): string {
  const known = [ANYONE, SIGNED_IN, ...auth.roles]
  if (!known.includes(to)) {
    const help = suggest(to, known, 'role')
    report.add({ code: 'SC333', path, message: `${show(to)} is not a role in \`auth.roles\``, help })
  }
  return to
}

/** Actions belong to plugins, so their names are checked when the application is compiled. */
function readMay(resource: ResourceDraft, given: Json, path: Path, { report }: AuthScope): readonly string[] {
  const offered: readonly string[] = OPERATIONS.filter((operation) => offers(resource, operation, report) !== false)
  const names = Array.isArray(given) ? (given as readonly Json[]).map(nameOf) : [nameOf(given)]
  const all = names.flatMap((name, index): readonly string[] => {
    if (name === ALL) return [ALL]
    const meant = SHORT.get(name) ?? [name]
    const some = meant.filter((each) => offered.includes(each) || !(OPERATIONS as readonly string[]).includes(each))
    if (some.length === 0) {
      const at = Array.isArray(given) ? [...path, index] : path
      const help = [`it has ${offered.map(show).join(', ')}`]
      report.add({
        code: 'SC333',
        path: at,
        message: `the resource ${show(resource.name)} has no operation ${show(name)}`,
        help,
      })
    }
    return some
  })
  return [...new Set(all.flatMap((name) => (name === ALL ? [...offered, ALL] : [name])))]
}

interface SetPlace {
  readonly model: ModelDraft
  readonly path: Path
}

function readSet(name: string, given: Json, { model, path }: SetPlace, scope: AuthScope): GrantDraft['set'] {
  const { models, report } = scope
  if (report.isInvalid(path) || !checkFieldName(model, name, { path, part: 'key' }, report)) return []
  const field = model.fields.get(name)
  const typed = field && typedOf(field, models)
  if (field === undefined || typed === undefined) return []
  const brokenRule = (literal: Literal) => scope.brokenRule(typed, literal)
  const value = readValue(given, { field, typed, lookup: exact, path, brokenRule }, scope)
  return value ? [{ field: name, value }] : []
}

function readFields(
  { given }: ResourceDraft,
  model: ModelDraft,
  fields: Json | undefined,
  { path, scope: { report } }: { readonly path: Path; readonly scope: AuthScope },
): GrantDraft['fields'] {
  if (fields === undefined) return undefined
  const except = findValue(fields, ['except'])
  const listed = except ?? fields
  const at = except === undefined ? path : [...path, 'except']
  const computed = membersOf(given('computed')).map(([name]) => name)
  const names = itemsOf(listed).map(nameOf)
  for (const [index, name] of names.entries()) {
    const place = { path: [...at, index] }
    if (computed.includes(name) || report.isInvalid(place.path) || !checkFieldName(model, name, place, report)) continue
    const field = model.fields.get(name)
    if (field?.yaml.private === true)
      report.add({ ...place, code: 'SC311', message: `${show(name)} cannot be granted: ${whyHidden(field)}` })
  }
  return except === undefined ? (name) => names.includes(name) : (name) => !names.includes(name)
}

function buildGrant(
  { to, may, rows, becomes, fields, set }: GrantDraft,
  computed: readonly string[],
  { model, rules, field }: Declared,
): GrantSpec {
  const rule = (draft: RuleDraft | undefined) => draft && buildRule(draft, model, rules)
  const all = model.fields.filter((each) => !each.private).map(({ name }) => name)
  const granted = [...all, ...computed].filter((name) => fields?.(name) ?? true)
  // A relation over several fields is shown if all of them are.
  const members = model.relations
    .filter(({ member, parts }) => member && parts.every((part) => granted.includes(part.field.name)))
    .map(({ name }) => name)
  return {
    to,
    may,
    rows: rule(rows),
    becomes: rule(becomes) ?? rule(rows),
    fields: [...granted, ...members],
    set: set.map((each) => ({ field: field(each.field), value: buildValue(each.value, rules) })),
  }
}
