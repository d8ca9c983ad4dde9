import { identifier } from '../../fields/sql-literal.js'
import type { CatalogConstraint, CatalogIndex } from './catalog.js'

const listOf = (columns: readonly (string | null)[]): string => columns.join(', ').replaceAll('"', '')

/** Whether a part is of one column, and of which. */
export const isOnly = (columns: readonly (string | null)[], column: string): boolean =>
  columns.length === 1 && columns[0] === column

/** Whether a unique constraint is only that. */
export const isPlainUnique = ({ definition, columns }: CatalogConstraint): boolean =>
  definition.replaceAll('"', '') === `UNIQUE (${listOf(columns)})`

/** Whether an index is what `indexes:` makes: a B-tree of columns in their own order. */
export function isPlainIndex(table: string, { name, definition, columns }: CatalogIndex, unique?: 'unique'): boolean {
  const plain = `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${identifier(name)} ON ${identifier(table)} USING btree (${listOf(columns)})`
  return !columns.includes(null) && definition.replaceAll('"', '') === plain.replaceAll('"', '')
}
