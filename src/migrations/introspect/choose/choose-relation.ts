import { find } from '../../plan/compare/pair.js'
import { textColumn } from '../../../fields/text-rules.js'
import { formatValue } from '../../../config/edit/format-value.js'
import type { ModelSpec } from '../../../config/spec.js'
import type { Catalog, CatalogColumn, CatalogConstraint, CatalogTable } from '../catalog/catalog.js'
import {
  asUnmanaged,
  besidesForeignKey,
  isPrimary,
  readForeignKey,
  reasonAgainstCircle,
  reasonAgainstRelation,
} from '../catalog/foreign-key.js'
import { isOnly, isPlainIndex } from '../catalog/plain-parts.js'
import { nameOfColumn, nameOfTable } from './field-names.js'
import { NO_PLAN, PLANS_INDEX, UPDATE } from './advice.js'

/** The tables that relations can refer to. */
export interface RelationContext {
  /** The model of each table. */
  readonly names: ReadonlyMap<string, string>
  /** The models that were there before, by table. */
  readonly existing: ReadonlyMap<string, ModelSpec>
  /** The columns of each new model's table that have a field. */
  readonly shown: ReadonlyMap<string, readonly CatalogColumn[]>
  readonly catalog: Catalog
  /** The partitions, which get no model. */
  readonly partitions: ReadonlySet<string>
  /** The tables that migrations cannot make, although they make others, with the reasons. */
  readonly unmanageable: ReadonlyMap<string, string>
}

/** The relation of a column. */
export interface Related {
  readonly relation:
    | {
        readonly model: string
        readonly onDelete: string
        /** The column that it refers to, if that is not the primary key. */
        readonly to: { readonly table: string; readonly column: string } | undefined
      }
    | undefined
  /** Foreign keys without a relation, with the reasons, and parts of the foreign key that the relation does not describe. */
  readonly left: readonly string[]
}

/** Whether a plan would find an index that begins with a column. */
function isIndexed({ name, constraints, indexes }: CatalogTable, column: string): boolean {
  return [
    ...constraints.filter(({ kind }) => kind === 'unique' || kind === 'primary_key'),
    ...indexes.filter((index) => isPlainIndex(name, index)),
  ].some(({ columns: [first] }) => first === column)
}

/** Why a table has no model that a relation could refer to. */
export function reasonWithoutModel({ target }: CatalogConstraint, partitions: ReadonlySet<string>): string {
  return partitions.has(target ?? '')
    ? `${target} is a partition, and only the table that it belongs to has a model`
    : `the table ${target} has no model`
}

/** Chooses the relation that describes the foreign key of a column. */
export function chooseRelation(
  column: CatalogColumn,
  { live, managed }: { readonly live: CatalogTable; readonly managed: boolean },
  { names, existing, shown, catalog, partitions, unmanageable }: RelationContext,
): Related {
  const keys = live.constraints.filter((each) => each.kind === 'foreign_key' && isOnly(each.columns, column.name))
  const [key, ...others] = keys
  if (!key) return { relation: undefined, left: [] }
  const place = `${live.name}.${column.name}`
  const more = others.map(
    ({ definition }) => `${place}: a second foreign key stays as it is: ${definition}; ${NO_PLAN}`,
  )
  const model = names.get(key.target ?? '')
  const target = find(catalog, key.target ?? '')
  const reason =
    model === undefined
      ? reasonWithoutModel(key, partitions)
      : managed && unmanageable.has(key.target ?? '') && (textColumn(column) || !isIndexed(live, column.name))
        ? `migrations do not create ${key.target}`
        : (reasonAgainstRelation(key, { live, managed }, target) ?? reasonAgainstCircle(key, live, catalog))
  const reference = readForeignKey(key)
  if (reason !== undefined || !reference || model === undefined)
    return {
      relation: undefined,
      left: [
        `${place}: no relation: ${reason}; ${adviceFor(key, { column, live, managed, model, target, catalog, partitions })}`,
        ...more,
      ],
    }
  const [to = ''] = reference.key
  const isOfKey = target !== undefined && isPrimary(target, [to])
  if (!isOfKey && !shown.get(reference.target)?.some(({ name }) => name === to)) {
    const why = `${reference.target}.${to} has no field, or its model existed before`
    const before = existing.get(reference.target)
    const field = before?.fields.find((each) => each.column === to)?.name ?? nameOfColumn(to)
    const settings = formatBelongsTo({ model, references: field, column: column.name })
    // An update only changes models of unmanaged tables.
    const advice =
      managed || before?.managed ? `if it has a field: ${settings} in this field` : `${UPDATE} adds the relation`
    return { relation: undefined, left: [`${place}: no relation: ${why}; ${advice}`, ...more] }
  }
  const relation = {
    model,
    onDelete: reference.onDelete,
    to: isOfKey ? undefined : { table: reference.target, column: to },
  }
  if (!managed) return { relation, left: [] }
  const besides = besidesForeignKey(key)
  const kept = besides.length === 0 ? [] : [`${place}: the foreign key keeps ${besides.join(', ')}; ${NO_PLAN}`]
  return { relation, left: [...kept, ...more] }
}

function formatBelongsTo(settings: Readonly<Record<string, string>>): string {
  const parts = Object.entries(settings).map(([key, value]) => `${key}: ${formatValue(value)}`)
  return `\`type: belongs_to, ${parts.join(', ')}\``
}

interface Unrelated {
  readonly column: CatalogColumn
  readonly live: CatalogTable
  readonly managed: boolean
  readonly model: string | undefined
  readonly target: CatalogTable | undefined
  readonly catalog: Catalog
  readonly partitions: ReadonlySet<string>
}

/** How the field of a foreign key without a relation can have one. */
function adviceFor(
  key: CatalogConstraint,
  { column, live, managed, model, target, catalog, partitions }: Unrelated,
): string {
  if (model === undefined && !partitions.has(key.target ?? '')) {
    const settings = formatBelongsTo({ model: nameOfTable(key.target ?? ''), column: column.name })
    return `once it has one: ${managed ? `${settings} in this field` : UPDATE}`
  }
  const isPossible =
    reasonAgainstRelation(asUnmanaged(key), { live, managed }, target) === undefined &&
    reasonAgainstCircle(key, live, catalog) === undefined
  const isDeclared =
    !managed || (reasonAgainstRelation(key, { live, managed }, target) === undefined && !textColumn(column))
  return isDeclared && model !== undefined && isPossible && target && isPrimary(target, key.targetColumns)
    ? `the field can still have ${formatBelongsTo({ model, column: column.name })}${managed ? PLANS_INDEX : ''}`
    : 'nothing can be added: the field shows the value, and the foreign key stays as it is'
}
