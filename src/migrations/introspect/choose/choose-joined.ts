import { ADDED_ID, EXPANDED } from '../../../config/core-spec.js'
import type { ModelSpec } from '../../../config/spec.js'
import { find } from '../../plan/compare/pair.js'
import type { Catalog, CatalogConstraint, CatalogTable } from '../catalog/catalog.js'
import { type Choice, chooseModels, type ChosenModel, type ChosenRelation, partitionsOf } from './choose.js'
import { formatRelation } from '../render-models.js'
import { NO_PLAN, PLANS_INDEX, UPDATE } from './advice.js'
import { reasonWithoutModel } from './choose-relation.js'
import { freeName } from './field-names.js'
import { asUnmanaged, besidesForeignKey, readForeignKey, reasonAgainstRelation } from '../catalog/foreign-key.js'
import { asUsed } from '../catalog/plain-parts.js'
import { isRepresentableName } from '../catalog/representable.js'

interface Context {
  readonly models: ReadonlyMap<string, ChosenModel>
  /** The models that were there before, by table. */
  readonly existing: ReadonlyMap<string, ModelSpec>
  readonly catalog: Catalog
  readonly managed: boolean
  readonly inDialect: (table: string) => boolean
  readonly partitions: ReadonlySet<string>
}

/** Chooses a model for each table and view, with the relations that describe foreign keys of several columns. */
export function chooseModelsWithRelations(...[inspected, all, options]: Parameters<typeof chooseModels>): Choice {
  const { existing, managed, inDialect } = options
  const { models, ...choice } = chooseModels(inspected, all, options)
  const catalog = managed ? all : all.map(asUsed)
  const context = {
    models: new Map(models.map((model) => [model.table, model])),
    existing,
    catalog,
    managed,
    inDialect,
    partitions: partitionsOf(inspected),
  }
  return { ...choice, models: models.map((model) => withRelations(model, context)) }
}

function withRelations(model: ChosenModel, context: Context): ChosenModel {
  const live = find(context.catalog, model.table)
  const keys = live?.constraints.filter(({ kind, columns }) => kind === 'foreign_key' && columns.length > 1) ?? []
  if (!live || keys.length === 0) return model
  const used = new Set([
    ...model.fields.map(({ name }) => name),
    EXPANDED,
    ...(context.inDialect(model.table) ? [ADDED_ID] : []),
  ])
  const seen = new Set<string>()
  const relations: ChosenRelation[] = []
  const left: string[] = []
  for (const key of keys) {
    const place = `${live.name}.${key.name}`
    const columns = JSON.stringify(key.columns.toSorted())
    const found = seen.has(columns) ? 'another foreign key has the same columns' : choose(key, { model, live, context })
    if (typeof found === 'string') {
      const advice = seen.has(columns) ? NOTHING : adviceFor(key, { model, live, context }, used)
      left.push(`${place}: no relation: ${found}; ${advice}`)
      continue
    }
    seen.add(columns)
    const { name } = freeName(candidatesOf(found), used)
    used.add(name)
    relations.push({ ...found, name })
    const besides = context.managed ? besidesForeignKey(key) : []
    if (besides.length > 0) left.push(`${place}: the foreign key keeps ${besides.join(', ')}; ${NO_PLAN}`)
  }
  return { ...model, relations, left: [...model.left, ...left] }
}

const NOTHING = 'nothing can be added: the fields show the values, and the foreign key stays as it is'

/** How a model can have a relation for a foreign key that introspection makes none for. */
function adviceFor(key: CatalogConstraint, referring: Referring, used: ReadonlySet<string>): string {
  const { models, existing, managed, partitions } = referring.context
  if (partitions.has(key.target ?? '')) return NOTHING
  if (!models.has(key.target ?? ''))
    // An update only changes models of unmanaged tables.
    return managed || existing.get(key.target ?? '')?.managed
      ? 'once it has one, declare the relation under `relations`'
      : `once it has one: ${UPDATE}`
  const found = managed ? describe(key, referring) : choose(asUnmanaged(key), referring)
  if (typeof found === 'string') return NOTHING
  const { name } = freeName(candidatesOf(found), used)
  return `the model can still have \`relations: { ${formatRelation({ ...found, name })} }\`${managed ? PLANS_INDEX : ''}`
}

/** A relation has the name of the other model, if that name is free. */
function candidatesOf({ model, fields }: Omit<ChosenRelation, 'name'>): readonly string[] {
  return [model, `${model}_by_${fields.join('_')}`].filter(isRepresentableName)
}

interface Referring {
  readonly model: ChosenModel
  readonly live: CatalogTable
  readonly context: Context
}

/** The relation for a foreign key, or the reason why there is none. */
function choose(key: CatalogConstraint, referring: Referring): Omit<ChosenRelation, 'name'> | string {
  const { model, context } = referring
  const found = describe(key, referring)
  const target = context.models.get(key.target ?? '')
  // The next plan would add an index.
  return typeof found !== 'string' && target?.isUnmanageable && !model.isUnmanageable && !isIndexed(model, found.fields)
    ? `migrations do not create ${target.table}`
    : found
}

function isIndexed({ key, indexes }: ChosenModel, fields: readonly string[]): boolean {
  const plain = indexes.filter((index) => !index.where && !index.ignore_case && !index.using)
  return [key, ...plain.map((index) => index.fields)].some(
    (list) => list.length >= fields.length && list.slice(0, fields.length).every((name) => fields.includes(name)),
  )
}

/** The relation for a foreign key, even if the next plan would add an index for it. */
function describe(
  key: CatalogConstraint,
  { model, live, context: { models, catalog, managed, partitions } }: Referring,
): Omit<ChosenRelation, 'name'> | string {
  const target = models.get(key.target ?? '')
  if (target === undefined)
    return `${reasonWithoutModel(key, partitions)}${partitions.has(key.target ?? '') ? '' : ', or one that was there before'}`
  const reason = reasonAgainstRelation(key, { live, managed }, find(catalog, target.table))
  const reference = readForeignKey(key)
  if (reason !== undefined || !reference) return reason ?? 'the file cannot express it'
  const pairs = reference.columns.map((column, place) => ({
    own: fieldOf(model, column),
    other: fieldOf(target, reference.key[place] ?? ''),
  }))
  const named = pairs.flatMap(({ own, other }) => (own === undefined || other === undefined ? [] : [{ own, other }]))
  if (named.length < pairs.length) return 'one of its columns has no field'
  const isAll = (names: readonly string[]) =>
    names.length === named.length && named.every(({ other }) => names.includes(other))
  const isKey = isAll(target.key)
  const unique = isKey
    ? target.key
    : target.indexes.find((index) => index.unique && !index.where && !index.ignore_case && isAll(index.fields))?.fields
  if (!unique) return `${target.name} has neither a key nor a unique index of these fields`
  const fields = unique.flatMap((name) => named.find(({ other }) => other === name)?.own ?? [])
  const { onDelete } = reference
  return { model: target.name, fields, references: isKey ? undefined : unique, onDelete }
}

function fieldOf({ fields }: ChosenModel, column: string): string | undefined {
  return fields.find((field) => field.column === column)?.name
}
