import { identifier, literal, unquote } from '../../../fields/sql-literal.js'
import type { Catalog, CatalogColumn, CatalogTable } from '../../introspect/catalog/catalog.js'
import { alter } from '../../files/steps.js'
import { inDependencyOrder } from '../../../foundation/dependency-order.js'
import { find, usesOf } from '../compare/pair.js'
import { type CatalogView, createView, dropView } from '../views.js'
import { withReaders } from './view-steps.js'

/** A column of an enum. */
export interface EnumColumn {
  readonly table: CatalogTable
  readonly column: CatalogColumn
}

/** The columns of all enums. */
export function enumColumns(catalog: Catalog): readonly EnumColumn[] {
  return catalog.flatMap((table) =>
    table.columns.flatMap((column) => (column.labels === null ? [] : [{ table, column }])),
  )
}

/** The type of a column of an enum, or of the items of its lists, as PostgreSQL spells it. */
export function enumOf({ type }: Pick<CatalogColumn, 'type'>): string {
  return type.replace(/\[\]$/, '')
}

/** The name of an enum, from its type without a schema. */
export function nameOfEnum(type: string): string {
  return unquote(type)
}

/** A name for a moment, while the old type still has its name. */
const ASIDE = 'snippetctl_replaced'

/**
 * SQL that recreates an enum with other values. It fails if rows have other values.
 * @param type as PostgreSQL spells it, without a schema
 * @param used all columns of the enum
 * @param views all views: those that read the tables of the columns are dropped and created again
 */
export function replaceEnum(
  type: string,
  labels: readonly string[],
  { used, views }: { readonly used: readonly EnumColumn[]; readonly views: readonly CatalogView[] },
): readonly string[] {
  const name = nameOfEnum(type)
  const other = identifier(ASIDE)
  const parts = used.flatMap((each) => partsThatName(type, each))
  const readers = viewsInTheWay(type, used, views)
  return [
    ...readers.toReversed().map(dropView),
    ...parts.map(({ drop }) => drop),
    `create type ${other} as enum (${labels.map(literal).join(', ')})`,
    ...used.flatMap((each) => retype(each, other)),
    `drop type ${type}`,
    `alter type ${other} rename to ${identifier(name)}`,
    ...parts.map(({ add }) => add),
    ...readers.flatMap((view) => [createView(view), ...view.parts.map(({ sql }) => sql)]),
  ]
}

/** The views that PostgreSQL does not permit during the change, each after the views that it reads. */
function viewsInTheWay(type: string, used: readonly EnumColumn[], views: readonly CatalogView[]) {
  const isReader = ({ reads, query }: CatalogView) =>
    used.some(({ table }) => reads.includes(table.name)) || query.includes(`::${type}`)
  const readers = withReaders(views.filter(isReader), views)
  return inDependencyOrder(readers, ({ reads }) => readers.filter(({ name }) => reads.includes(name)))
}

/** The values and the default of a column; the default keeps its text. */
function retype({ table, column }: EnumColumn, type: string): readonly string[] {
  const name = identifier(column.name)
  const change = (action: string) => alter(table.name, `alter column ${name} ${action}`)
  const { default: value } = column
  const list = column.type.slice(enumOf(column).length)
  return [
    ...(value === null ? [] : [change('drop default')]),
    change(`type ${type}${list} using ${name}::text${list}::${type}${list}`),
    ...(value === null ? [] : [change(`set default ${value.replaceAll(`::${enumOf(column)}`, `::${type}`)}`)]),
  ]
}

function isOfEnum(column: CatalogColumn | undefined, type: string): boolean {
  return column !== undefined && column.labels !== null && enumOf(column) === type
}

/** The checks and indexes that compare a column with values of the enum, which would prevent a change of its type. */
function partsThatName(type: string, { table, column }: EnumColumn) {
  const isNaming = (part: CatalogTable['constraints'][number] | CatalogTable['indexes'][number]) =>
    usesOf(part).find((name) => isOfEnum(find(table.columns, name), type)) === column.name &&
    part.definition.includes(`::${type}`)
  return [
    ...table.constraints.filter(isNaming).map(({ name, definition }) => ({
      drop: alter(table.name, `drop constraint ${identifier(name)}`),
      add: alter(table.name, `add constraint ${identifier(name)} ${definition}`),
    })),
    ...table.indexes
      .filter(isNaming)
      .map(({ name, definition }) => ({ drop: `drop index ${identifier(name)}`, add: definition })),
  ]
}
