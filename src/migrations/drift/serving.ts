import type { CatalogColumn } from '../introspect/catalog.js'
import type { WantedColumn } from '../plan/sql.js'

/** Column types that hold the values of a field although the field would be made as another, by that other one. */
const SERVES: Readonly<Record<string, readonly string[]>> = {
  integer: ['smallint'],
  'double precision': ['real'],
  text: ['character varying'],
  'timestamp with time zone': ['timestamp(6) with time zone'],
}

/**
 * Whether a column that is there holds the values of a field that would be made as another type. Parameters take the type of the
 * column, so that statements are the same for both.
 * @param type what would be made, as the catalogue spells it
 */
export function serves(
  type: string,
  { longest }: Pick<WantedColumn, 'longest'>,
  live: Pick<CatalogColumn, 'type' | 'labels'>,
): boolean {
  if (type === 'text') {
    // Which of an enum's values there are is a matter of checks, as with choices that are kept as text.
    if (live.labels) return true
    const room = /^character varying\((\d+)\)$/.exec(live.type)?.[1]
    if (room !== undefined) return longest !== undefined && longest <= Number(room)
  }
  return SERVES[type]?.includes(live.type) ?? false
}
