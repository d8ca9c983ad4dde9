import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../foundation/json.js'
import { mayFold } from '../../fields/compared-column.js'
import { isIn } from '../../lookups/in.js'
import { exact } from '../../lookups/exact.js'
import type { Lookup } from '../../lookups/lookup.js'
import {
  type AppSpec,
  type GrantSpec,
  isToAll,
  loneKey,
  type ModelRelation,
  type ModelSpec,
  type ResourceSpec,
  type Rule,
  type RuleCondition,
} from '../spec.js'
import { comparesAlike } from '../model-spec.js'
import { itemsOf } from '../schema/yaml-shape.js'
import { show } from '../words.js'
import type { ConfigDocument } from '../yaml/document.js'
import { findValue } from '../yaml/located.js'
import type { Rejection } from './rejection.js'

/** An action of a resource, which a plugin has added. */
interface GrantedAction {
  readonly resource: { readonly spec: Pick<ResourceSpec, 'name'> }
  readonly name: string
  readonly on: 'record' | 'collection'
}

/** Warnings about what grants let callers learn or destroy beyond their records, and about grants without effect. */
export function checkAccessEffects(
  { value }: ConfigDocument,
  spec: AppSpec,
  actions: readonly GrantedAction[],
): readonly Rejection[] {
  const onRecords = actions.filter(({ on }) => on === 'record')
  const actionsOf = ({ name }: ResourceSpec) =>
    onRecords.filter(({ resource }) => resource.spec.name === name).map((action) => action.name)
  return spec.resources.flatMap((resource) => [
    ...takenValues(resource),
    ...unreachable(resource, actionsOf(resource)),
    ...(resource.access ?? []).flatMap((grant, place) => [
      ...reachOf(spec, resource, grant, place),
      ...nulledBy(spec, resource, grant, place),
      ...shownByComputed(value, resource, grant, place),
    ]),
  ])
}

/** A computed field is shown although `except` takes out a field that it is computed from. */
function shownByComputed(
  root: Json,
  { name, computed }: ResourceSpec,
  { to, may, fields }: GrantSpec,
  place: number,
): readonly Rejection[] {
  const path = ['resources', name, 'access', place, 'fields', 'except']
  const excepted = itemsOf(findValue(root, path)).map(String)
  if (may.every((each) => each === 'destroy')) return []
  return computed.flatMap(({ field, from }): readonly Rejection[] => {
    const sources = from.filter((each) => excepted.includes(each.name)).map((each) => show(each.name))
    if (sources.length === 0 || !fields.includes(field.name)) return []
    const hidden = sources.join(' and ')
    return [
      {
        code: 'SC414',
        path,
        part: 'value',
        message: `the grant to ${show(to)} hides ${hidden}, and shows ${show(field.name)}, which is computed from ${sources.length > 1 ? 'them' : 'it'}`,
        help: [
          `hide it, too: \`except: [${[...excepted, field.name].join(', ')}]\``,
          'or list the fields that the grant shows, if its values may be seen',
        ],
      },
    ]
  })
}

const OF_RECORDS: readonly string[] = ['update', 'partial_update', 'destroy']

/**
 * Callers can only change records, or run actions on them, that they may retrieve. A caller may have several roles, so `retrieve` in a grant to any
 * role is enough.
 */
function unreachable(
  { name, operations, access = [] }: ResourceSpec,
  actions: readonly string[],
): readonly Rejection[] {
  if (access.some(({ may }) => may.includes('retrieve'))) return []
  const isChange = ({ may }: GrantSpec) => may.some((each) => OF_RECORDS.includes(each))
  const actionIn = ({ may }: GrantSpec) => actions.find((each) => may.includes(each) || may.includes('all'))
  const place = access.findIndex((each) => isChange(each) || actionIn(each) !== undefined)
  const grant = access[place]
  if (grant === undefined) return []
  const reached = isChange(grant)
    ? 'that it may change or delete'
    : `on which it may run the action ${show(actionIn(grant) ?? '')}`
  return [
    {
      code: 'SC415',
      path: ['resources', name, 'access', place, 'may'],
      part: 'value',
      message: `no grant of ${show(name)} has \`retrieve\`, so ${show(grant.to)} gets 404 for each record ${reached}`,
      help: [
        `add \`retrieve\`${operations.includes('retrieve') ? '' : ' to `operations` and here'}, with the same \`rows\`, and \`fields\` for what it may see`,
      ],
    },
  ]
}

const NARROWING: readonly Lookup[] = [exact, isIn]

/** The field by which a grant separates records of some callers from others: it is compared with a claim or the subject of the caller. */
function separatingField({ may, rows = [] }: GrantSpec) {
  if (!['create', 'update', 'partial_update'].some((each) => may.includes(each))) return undefined
  const [all, ...others] = rows
  if (all === undefined || others.length > 0) return undefined
  return all.find(
    ({ relations, lookup, value }) => relations.length === 0 && NARROWING.includes(lookup) && !('literal' in value),
  )?.field
}

/** A 409 reveals to callers that a unique value is taken, even by a record that they cannot see. */
function takenValues({ name, model, access = [] }: ResourceSpec): readonly Rejection[] {
  const unique = [
    ...model.fields
      .filter((field) => field.unique && !field.primaryKey && !field.readOnly)
      .map(({ column }) => [column]),
    ...model.indexes.filter((index) => index.unique).map(({ columns }) => [...columns]),
  ]
  return access.flatMap((grant, place) => {
    const field = separatingField(grant)
    if (field === undefined) return []
    const named = (columns: readonly string[]) => model.fields.filter(({ column }) => columns.includes(column))
    const wide = unique.filter(
      (columns) =>
        !columns.includes(field.column) &&
        // Only callers who may send all the values can probe for them.
        named(columns).every((each) => grant.fields.includes(each.name)),
    )
    return wide.map((columns): Rejection => {
      const names = named(columns)
        .map((each) => show(each.name))
        .join(' and ')
      return {
        code: 'SC411',
        path: ['resources', name, 'access', place],
        part: 'value',
        message: `${names} must be unique among all records, and this grant separates them by ${show(field.name)}: a 409 reveals that a hidden record has a value`,
        help: [
          field.unique || field === loneKey(model)
            ? `${show(field.name)} differs in every record, so values cannot be unique within it: add a field that has the same value in all records of one caller, use it in the grant, and make ${names} unique within it`
            : `make it unique within ${show(field.name)}: \`indexes: [{ fields: [${[field, ...named(columns)].map((each) => each.name).join(', ')}], unique: true }]\``,
        ],
      }
    })
  })
}

function reachOf(spec: AppSpec, { name, model }: ResourceSpec, grant: GrantSpec, place: number): readonly Rejection[] {
  return ungrantedCascades(spec, model, grant).map(({ from, through, isGranted }) => ({
    code: 'SC412',
    path: ['resources', name, 'access', place],
    part: 'value',
    message: `deleting a ${show(model.name)} record also deletes ${recordsOf(from, through)}, ${isGranted ? 'some of which' : 'which'} ${show(grant.to)} may not delete`,
    help: [`grant it \`destroy\` there, or write \`on_delete: restrict\` in the model ${show(from.name)}`],
  }))
}

/** Records in which `on_delete: set_null` changes a field that no grant lets the caller change. */
function nulledBy(spec: AppSpec, { name, model }: ResourceSpec, grant: GrantSpec, place: number): readonly Rejection[] {
  if (!grant.may.includes('destroy')) return []
  const cascaded = ungrantedCascades(spec, model, grant)
  const gone = new Set(cascaded.map(({ from }) => from))
  const deleted = [
    { model, rows: grant.rows, through: [] },
    ...cascaded.map(({ from, through }) => ({ model: from, rows: undefined, through: [...through, from] })),
  ]
  const seen = new Set<ModelRelation>()
  return deleted.flatMap(({ model: target, rows, through }) =>
    spec.models.flatMap((from) => {
      const grants = changesOf(spec, from, grant.to)
      const relations = from.relations.filter(
        (relation) =>
          !gone.has(from) &&
          !seen.has(relation) &&
          relation.target.table === target.table &&
          relation.target.onDelete === 'set_null' &&
          !grants.some((each) => coversRelation(each, relation) && followsFrom(rows, each.rows, relation)),
      )
      for (const relation of relations) seen.add(relation)
      return relations.map((relation): Rejection => {
        const isGranted = grants.some((each) => coversRelation(each, relation))
        return {
          code: 'SC412',
          path: ['resources', name, 'access', place],
          part: 'value',
          message: `deleting a ${show(model.name)} record also sets ${show(relation.name)} of ${recordsOf(from, through)} to null, ${isGranted ? 'some of which' : 'which'} ${show(grant.to)} may not change`,
          help: [`grant it \`change\` there, or write \`on_delete: restrict\` in the model ${show(from.name)}`],
        }
      })
    }),
  )
}

/** The grants by which callers may change records of a model. */
function changesOf({ resources }: AppSpec, model: ModelSpec, to: string): readonly GrantSpec[] {
  return resources
    .filter((each) => each.model === model)
    .flatMap(({ access = [] }) =>
      access.filter(
        ({ may, to: other }) => (may.includes('update') || may.includes('partial_update')) && isToAll(other, to),
      ),
    )
}

function coversRelation({ fields }: GrantSpec, { parts }: ModelRelation): boolean {
  return parts.every(({ field }) => fields.includes(field.name))
}

function recordsOf(from: ModelSpec, through: readonly ModelSpec[]): string {
  const between = through.map(({ name }) => show(name)).join(' and ')
  return through.length === 0 ? `its ${show(from.name)} records` : `${show(from.name)} records (through ${between})`
}

interface Cascade {
  /** The model whose records are deleted, too. */
  readonly from: ModelSpec
  readonly relations: readonly ModelRelation[]
  /** The models between them, whose records are deleted first; empty for one step. */
  readonly through: readonly ModelSpec[]
  /** Whether callers may delete some of these records. */
  readonly isGranted: boolean
}

/**
 * Finds models whose records `on_delete: cascade` deletes with the records of a grant, at any number of steps, although no grant lets its callers delete
 * all of them. Records that a grant lets them delete are not followed further, because that grant has cascades of its own.
 * @param cascades decides which relations with `on_delete: cascade` to follow
 */
export function ungrantedCascades(
  { models, resources }: AppSpec,
  model: ModelSpec,
  { to, may, rows }: GrantSpec,
  cascades: (from: ModelSpec, relation: ModelRelation) => boolean = () => true,
): readonly Cascade[] {
  if (!may.includes('destroy')) return []
  const found = new Map<ModelSpec, Cascade>()
  const follow = (deleted: ModelSpec, rule: Rule | undefined, through: readonly ModelSpec[]): void => {
    const next = models.flatMap((from) => {
      const grants = resources
        .filter((each) => each.model === from)
        .flatMap(({ access = [] }) => access.filter((grant) => grant.may.includes('destroy') && isToAll(grant.to, to)))
      const relations = from.relations.filter(
        (relation) =>
          relation.target.table === deleted.table &&
          relation.target.onDelete === 'cascade' &&
          cascades(from, relation) &&
          !grants.some((grant) => followsFrom(rule, grant.rows, relation)),
      )
      return relations.length === 0 || found.has(from)
        ? []
        : [{ from, relations, through, isGranted: grants.length > 0 }]
    })
    for (const cascade of next) found.set(cascade.from, cascade)
    // Any of these records may be deleted.
    for (const { from } of next) follow(from, undefined, [...through, from])
  }
  follow(model, rows, [])
  return [...found.values()]
}

/**
 * Whether `rule` holds for every record that refers, by a relation, to a record for which `from` holds. It does if both have the same conditions:
 * those of `rule` may follow the relation, or be on the fields of the relation, whose values are the same in both records.
 */
function followsFrom(from: Rule | undefined, rule: Rule | undefined, { parts }: ModelRelation): boolean {
  if (rule === undefined) return true
  const isOver = ({ relations: [first] }: RuleCondition) => parts.length === 1 && first?.field === parts[0]?.field
  const isSame = (one: RuleCondition, { relations, field, lookup, value }: RuleCondition) =>
    isDeepStrictEqual([one.relations.slice(1), one.field, one.lookup, one.value], [relations, field, lookup, value])
  const isShared = (one: RuleCondition, { relations, field, lookup, value }: RuleCondition) =>
    one.relations.length + relations.length === 0 &&
    parts.some((part) => part.field === one.field && part.to.name === field.name) &&
    comparesAlike(one.field, field) &&
    // Two texts that are equal for the relation may still differ in case.
    (!mayFold(one.field) || (NARROWING.includes(lookup) && !('subject' in value))) &&
    isDeepStrictEqual([one.lookup, one.value], [lookup, value])
  return (from ?? [[]]).every((known) =>
    rule.some((all) =>
      all.every((one) => known.some((each) => (isOver(one) && isSame(one, each)) || isShared(one, each))),
    ),
  )
}
