import { find } from '../../plan/compare/pair.js'
import { textColumn } from '../../../fields/text-rules.js'
import type { Catalog, CatalogColumn, CatalogTable } from '../catalog/catalog.js'
import {
  besidesForeignKey,
  isPrimary,
  readForeignKey,
  reasonAgainstCircle,
  reasonAgainstRelation,
} from '../catalog/foreign-key.js'
import { isOnly, isPlainIndex } from '../catalog/plain-parts.js'

/** The tables that relations can refer to. */
export interface RelationContext {
  /** The model of each table. */
  readonly names: ReadonlyMap<string, string>
  /** The columns of each new model's table that have a field. */
  readonly shown: ReadonlyMap<string, readonly CatalogColumn[]>
  readonly catalog: Catalog
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

/** Chooses the relation that describes the foreign key of a column. */
export function chooseRelation(
  column: CatalogColumn,
  { live, managed }: { readonly live: CatalogTable; readonly managed: boolean },
  { names, shown, catalog, unmanageable }: RelationContext,
): Related {
  const keys = live.constraints.filter((each) => each.kind === 'foreign_key' && isOnly(each.columns, column.name))
  const [key, ...others] = keys
  if (!key) return { relation: undefined, left: [] }
  const place = `${live.name}.${column.name}`
  const more = others.map(({ definition }) => `${place}: a second foreign key stays as it is: ${definition}`)
  const model = names.get(key.target ?? '')
  const target = find(catalog, key.target ?? '')
  const reason =
    model === undefined
      ? `the table ${key.target} has no model`
      : managed && unmanageable.has(key.target ?? '') && (textColumn(column) || !isIndexed(live, column.name))
        ? `migrations do not make ${key.target}`
        : (reasonAgainstRelation(key, live, target) ?? reasonAgainstCircle(key, live, catalog))
  const reference = readForeignKey(key)
  if (reason !== undefined || !reference || model === undefined)
    return { relation: undefined, left: [`${place}: no relation: ${reason}`, ...more] }
  const [to = ''] = reference.key
  const isOfKey = target !== undefined && isPrimary(target, [to])
  if (!isOfKey && !shown.get(reference.target)?.some(({ name }) => name === to)) {
    const why = `${reference.target}.${to} has no field, or a model that was there before`
    return { relation: undefined, left: [`${place}: no relation: ${why}`, ...more] }
  }
  const relation = {
    model,
    onDelete: reference.onDelete,
    to: isOfKey ? undefined : { table: reference.target, column: to },
  }
  if (!managed) return { relation, left: [] }
  const besides = besidesForeignKey(key)
  const kept = besides.length === 0 ? [] : [`${place}: the foreign key keeps ${besides.join(', ')}`]
  return { relation, left: [...kept, ...more] }
}
