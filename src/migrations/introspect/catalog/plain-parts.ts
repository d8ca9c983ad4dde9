import { tableSql } from '../../../fields/table-name.js'
import { identifier } from '../../../fields/sql-literal.js'
import { asBase, type CatalogConstraint, type CatalogIndex, type CatalogTable } from './catalog.js'

type Columns = readonly (string | null)[]

function listOf(columns: Columns): string {
  return columns.join(', ').replaceAll('"', '')
}

/** Names can contain commas, so lists of names are not compared as texts. */
export function sameColumns(columns: Columns, others: Columns): boolean {
  return columns.length === others.length && columns.every((column, at) => column === others[at])
}

/** Whether a part belongs to this column alone. */
export function isOnly(columns: Columns, column: string): boolean {
  return sameColumns(columns, [column])
}

/** Whether a unique constraint is a plain one, which holds for all rows. */
export function isPlainUnique({ definition, columns, validated }: CatalogConstraint): boolean {
  return validated && definition.replaceAll('"', '') === `UNIQUE (${listOf(columns)})`
}

/** Whether `indexes:` can declare an index: a valid B-tree of columns in their own order. */
export function isPlainIndex(
  table: string,
  { name, definition, columns, valid }: CatalogIndex,
  unique?: 'unique',
): boolean {
  const plain = `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${identifier(name)} ON ${tableSql(table)} USING btree (${listOf(columns)})`
  return valid && !columns.includes(null) && definition.replaceAll('"', '') === plain.replaceAll('"', '')
}

const STORAGE = /(?<=\)) WITH \([^()]*\)(?= WHERE |$)/

/**
 * A table as an unmanaged model describes it: a domain counts as its base type, the collation is not declared, and storage parameters of keys and indexes,
 * such as `fillfactor`, do not matter.
 */
export function asUsed(table: CatalogTable): CatalogTable {
  const withoutStorage = <Part extends { readonly definition: string }>(part: Part): Part => ({
    ...part,
    definition: part.definition.replace(STORAGE, ''),
  })
  return {
    ...table,
    columns: table.columns.map((column) => ({ ...asBase(column), collation: null })),
    constraints: table.constraints.map(withoutStorage),
    indexes: table.indexes.map(withoutStorage),
  }
}

/** Whether a plain unique constraint or index belongs to this column alone. */
export function isUnique(table: CatalogTable, column: string): boolean {
  return (
    table.constraints.some((each) => each.kind === 'unique' && isOnly(each.columns, column) && isPlainUnique(each)) ||
    table.indexes.some((each) => isOnly(each.columns, column) && isPlainIndex(table.name, each, 'unique'))
  )
}
