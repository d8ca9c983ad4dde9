import type { Catalog, CatalogColumn } from '../../introspect/catalog/catalog.js'
import type { WantedTable } from '../sql.js'
import { find } from './pair.js'
import type { TargetSchema } from './reconcile-pair.js'

/**
 * Gives a new column of a relation the enum of the existing key that it refers to. The models have no enums, only choices, so the column would be a text, of
 * which no foreign key can refer to an enum.
 */
export function withKeyEnums({ wanted, to }: TargetSchema, from: Catalog): TargetSchema {
  let tables = to
  const changed = wanted.map((table) => {
    const enums = enumsOfKeys(table, tables, from)
    if (enums.size === 0) return table
    const target = find(tables, table.name)
    const columns = target?.columns.map((column) => ({ ...column, ...typeOf(column, enums.get(column.name)) }))
    tables = tables.map((each) => (each === target && columns ? { ...each, columns } : each))
    return { ...table, columns: table.columns.map((column) => retyped(column, enums.get(column.name))) }
  })
  return { wanted: changed, to: tables }
}

/** The keys that are enums, by the new columns that refer to them. */
function enumsOfKeys(table: WantedTable, to: Catalog, from: Catalog): ReadonlyMap<string, CatalogColumn> {
  const there = find(from, table.name)
  const found = table.constraints.flatMap(({ kind, columns, target, targetColumns = [] }) => {
    const keys = kind === 'foreign_key' && target !== undefined ? find(to, target)?.columns : undefined
    return columns.flatMap((name, place) => {
      const key = keys && find(keys, targetColumns[place] ?? '')
      return key?.labels && !(there && find(there.columns, name)) ? [[name, key] as const] : []
    })
  })
  return new Map(found)
}

function typeOf(column: CatalogColumn, key: CatalogColumn | undefined): Partial<CatalogColumn> {
  if (!key) return {}
  const { type, collation, labels } = key
  return { type, collation, labels, default: column.default?.replace(/::text$/, `::${type}`) ?? null }
}

function retyped(
  column: WantedTable['columns'][number],
  key: CatalogColumn | undefined,
): WantedTable['columns'][number] {
  return key
    ? { ...column, type: key.type, definition: key.type + column.definition.slice(column.type.length) }
    : column
}
