import type { CoreSpec } from '../config/core-spec.js'
import type { FieldSpec, ModelSpec } from '../config/model-spec.js'
import { totalOrder, uniformStart } from '../config/indexes/coverage.js'
import type { ModelDraft } from '../config/parse/drafts.js'
import { checkUsable, type FieldUse, type NamePlace } from '../config/parse/field-names.js'
import type { ResourceDraft } from '../config/parse/resource-drafts.js'
import { doc, listOf } from '../config/schema/parts.js'
import { itemsOf, membersOf } from '../config/schema/yaml-shape.js'
import { nameOf, show } from '../config/words.js'
import { fail } from '../foundation/fail.js'
import type { Json, JsonSchema } from '../foundation/json.js'
import { exact } from '../lookups/exact.js'
import { lookupOfType, LOOKUPS, lookupsOfType, parameterOf } from '../lookups/index.js'
import type { Lookup } from '../lookups/lookup.js'
import { MAX_VALUES } from '../lookups/operands.js'
import { comparedSchema, valueSchema } from '../fields/value-schema.js'
import { LINK } from '../resource/field-schema.js'
import type { Feature, IndexUse, QueryParameter, Scope } from './feature.js'
import { typeOfValue } from './names.js'
import { operandSource } from './operand-source.js'
import type { OrderableSpec } from './orderable.js'
import { buildPath, checkPath, isWhole, type RelatedRecords, splitPath } from './related-filter.js'

export interface FilterableSpec {
  readonly filters: readonly FilterSpec[]
}

interface FilterSpec {
  /** As clients name it: the field, after the relations that lead to it. */
  readonly name: string
  readonly field: FieldSpec
  /** The related records that have the field; undefined for a field of the record itself. */
  readonly related: RelatedRecords | undefined
  readonly lookups: readonly Lookup[]
}

/** One comparison of a list. `value` is the parsed operand. */
export interface Condition {
  readonly field: FieldSpec
  /** The related record to compare; undefined for the record itself. */
  readonly related?: RelatedRecords | undefined
  readonly lookup: Lookup
  readonly value: unknown
}

export interface FilterPlan {
  /** Left out if the request has no filters. */
  where?: readonly Condition[]
}

/** `filterable: [title]`: lists have a parameter for each lookup of these fields, and return the records that match all given ones. */
export const filterable: Feature<FilterableSpec, FilterPlan, OrderableSpec> = {
  keys: {
    filterable: doc(
      filterableSchema(),
      'The fields that lists can be filtered by: names for exact matches, or a mapping with the lookups of each. `author.name` is a field of a related record.',
      'filterable: [title]\nfilterable: { title: [exact, contains], author.name: [exact] }',
    ),
  },

  synonyms: { filterable: ['filters'] },

  parse(resource, scope) {
    if (resource.model) checkFilters(resource, resource.model, scope)
    return (declared) => ({
      filters: entriesOf(resource.given('filterable')).map(([name, lookups]) => {
        const { field, related } = buildPath(name, declared)
        return {
          name,
          field,
          related,
          lookups: lookups.map(
            (each) => lookupOfType(field.type, each) ?? fail(`a lookup that was never checked: ${each}`),
          ),
        }
      }),
    })
  },

  parameters: (spec, readLink) =>
    spec.dialect === undefined
      ? filtersOf(spec).map((filter): QueryParameter<FilterPlan> => {
          const { name, field, related, lookup } = filter
          const source = operandSource({ parameter: name, field, readLink: related ? undefined : readLink })
          return {
            ...describeFilter(filter, spec),
            read(text, plan) {
              const value = lookup.operand.parse(text, source)
              plan.where = [...(plan.where ?? []), { field, lookup, value, ...(related && { related }) }]
            },
          }
        })
      : [],

  restrict: ({ filters }, { asks, expansion }) => ({
    filters: filters.flatMap((filter): readonly FilterSpec[] => {
      if (filter.related === undefined) return asks(filter.field.name) ? [filter] : []
      const related = expansion(filter.related)
      return isWhole(filter.related, related) ? [{ ...filter, related }] : []
    }),
  }),

  mount: ({ filters }, at) => {
    const within = (related: RelatedRecords): RelatedRecords => ({
      ...related,
      resource: at.resource(related.resource),
      expand: related.expand.map(within),
    })
    return { filters: filters.map((filter) => ({ ...filter, related: filter.related && within(filter.related) })) }
  },

  options: (spec) =>
    spec.operations.includes('list') && spec.dialect === undefined
      ? { filters: filtersOf(spec).map(({ name }) => name) }
      : {},

  indexes: (spec) => spec.filters.flatMap((filter, place) => indexesOf(spec, filter, place)),
}

function filterableSchema(): JsonSchema {
  const lookups = listOf({ enum: LOOKUPS.map(({ name }) => name) })
  const long = { type: 'object', additionalProperties: lookups }
  return { type: ['array', 'object'], if: { type: 'array' }, then: listOf({}, { minItems: 0 }), else: long }
}

/** A filter, by the name of its parameter. */
interface NamedFilter extends Omit<FilterSpec, 'lookups'> {
  /** The name of the filter without its lookup. */
  readonly path: string
  readonly lookup: Lookup
}

function filtersOf({ filters }: FilterableSpec): readonly NamedFilter[] {
  return filters.flatMap(({ name, lookups, ...filter }) =>
    lookups.map((lookup) => ({ ...filter, name: parameterOf(name, lookup), path: name, lookup })),
  )
}

/** Describes a filter for documents, types and pages. */
export function describeFilter(
  { name, path, field, related, lookup }: NamedFilter,
  { links }: Pick<CoreSpec, 'links'>,
): Omit<QueryParameter, 'read'> {
  const { operand } = lookup
  const isLink = related === undefined && field.name in links
  const compared = comparedSchema(field)
  const schema = operand.schema(isLink ? { anyOf: [compared, LINK] } : compared)
  const type = typeOfValue(field)
  const choices = operand.choices ?? choicesOf(field, lookup)
  return {
    name,
    on: ['list'],
    role: 'filter',
    description: `Only records whose \`${path}\` ${lookup.description}.`,
    ...(operand.list
      ? {
          several: true,
          schema: { type: 'array', items: schema, minItems: 1, ...operand.list.limits(MAX_VALUES) },
        }
      : { schema }),
    typescript: operand.typescript(isLink ? `${type} | string` : type),
    hint: operand.placeholder ?? '',
    ...(choices && { choices }),
    ...(lookup.proposes && related === undefined && { findsText: true }),
  }
}

function choicesOf(field: FieldSpec, lookup: Lookup): readonly string[] | undefined {
  const { type, enum: names } = valueSchema(field)
  if (type === 'boolean') return ['true', 'false']
  return lookup === exact && Array.isArray(names) ? names.map(String) : undefined
}

function indexesOf(
  spec: CoreSpec & OrderableSpec,
  { name, field, related, lookups }: FilterSpec,
  place: number,
): readonly IndexUse[] {
  const help = new Set(lookups.map((lookup) => lookup.index(field)))
  const owner = related && { model: ownerOfField(related) }
  if (!help.has('needed')) return help.has('useful') ? [{ field, ...owner }] : []
  if (owner) {
    const cost = `no index serves the filter ${show(name)}: it reads the whole table of ${show(owner.model.name)}`
    const wanted = { equal: [field], order: [] }
    return [{ field, ...owner, need: { key: 'filterable', place, entry: name, cost, wanted, best: [field] } }]
  }
  // An index orders rows by its later columns only while the earlier ones have one value, unlike in a range.
  const order = lookups.includes(exact) ? uniformStart(totalOrder(spec, spec.defaultOrder)) : totalOrder(spec, [])
  const after = order.map((each) => each.field).filter((each) => each !== field)
  const cost = `no index serves the filter ${show(field.name)}: it reads the whole table`
  const wanted = { equal: [field], order: [] }
  return [{ field, need: { key: 'filterable', place, cost, wanted, best: [field, ...after] } }]
}

/** The model of the last related record. */
function ownerOfField({ model, expand: [next] }: RelatedRecords): ModelSpec {
  return next === undefined ? model : ownerOfField(next)
}

type Entry = readonly [name: string, lookups: readonly string[]]

function entriesOf(given: Json | undefined): readonly Entry[] {
  return Array.isArray(given)
    ? (given as readonly Json[]).map((name) => [nameOf(name), [exact.name]])
    : membersOf(given).map(([name, lookups]) => [name, itemsOf(lookups).map(nameOf)])
}

const FILTERED: FieldUse = {
  used: 'filtered',
  whyNot: () => undefined,
}

const RENAME = ['rename the field; its column can keep the name: see `column`']

/** Reports mistakes in the filters of a resource. */
function checkFilters(resource: ResourceDraft, model: ModelDraft, scope: Scope): void {
  const { report, reserved } = scope
  const given = resource.given('filterable')
  const isShort = Array.isArray(given)
  const entries = entriesOf(given)
  const taken = reserved(resource)
  for (const [position, [name, lookups]] of entries.entries()) {
    const path = [...resource.path, 'filterable', isShort ? position : name]
    if (report.isInvalid(path)) continue
    const place: NamePlace = { path, ...(!isShort && { part: 'key' }) }
    const [relations, last] = splitPath(name)
    const owning = checkPath(relations, model, place, scope)
    const field = owning && checkUsable(owning, last, place, { report, use: FILTERED })
    if (field === undefined) continue
    if (taken.has(name)) {
      const message = `a filter cannot be called ${show(name)}: lists use that parameter`
      report.add({ ...place, code: 'SC313', message, help: RENAME })
    }
    const owner = ownerOf(name, entries)
    if (owner !== undefined)
      report.add({
        ...place,
        code: 'SC313',
        message: `the filter ${show(name)} is also a lookup of ${show(owner)}`,
        help: RENAME,
      })
    const offered = lookupsOfType(field.type).map((lookup) => lookup.name)
    for (const [index, lookup] of lookups.entries()) {
      if (offered.includes(lookup)) continue
      const message = `the type \`${field.type.name}\` of ${show(name)} has no lookup \`${lookup}\``
      const help = [`its lookups: ${offered.join(', ')}`]
      report.add({ code: 'SC312', path: isShort ? path : [...path, index], message, help })
    }
  }
}

/** A field called `title__in` would have the same parameter as the lookup `in` of `title`. */
function ownerOf(name: string, entries: readonly Entry[]): string | undefined {
  if (!name.includes('__')) return undefined
  const owner = entries.find(([other, lookups]) => lookups.some((lookup) => `${other}__${lookup}` === name))
  return owner?.[0]
}
