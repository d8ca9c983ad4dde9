import type { CatalogColumn } from '../introspect/catalog.js'
import type { WantedColumn } from '../plan/sql.js'

/** By the column type that a field would get: other existing types that can hold its values. */
const SERVES: Readonly<Record<string, readonly string[]>> = {
  integer: ['smallint'],
  'double precision': ['real'],
  text: ['character varying'],
  'timestamp with time zone': ['timestamp(6) with time zone'],
}

/**
 * Whether an existing column can hold the values of a field that would be created with another type. Parameters take the type of the column, so
 * the statements are the same.
 * @param type the type that would be created, as in the catalogue
 */
export function serves(
  type: string,
  { longest }: Pick<WantedColumn, 'longest'>,
  live: Pick<CatalogColumn, 'type' | 'labels'>,
): boolean {
  if (type === 'text') {
    // The values of an enum are compared with the checks, as with choices stored as text.
    if (live.labels) return true
    const room = /^character varying\((\d+)\)$/.exec(live.type)?.[1]
    if (room !== undefined) return longest !== undefined && longest <= Number(room)
  }
  return SERVES[type]?.includes(live.type) ?? false
}
