import {
  checkName,
  foreignKeyName,
  indexName,
  primaryKeyName,
  uniqueName,
} from '../../../config/parse/constraint-names.js'
import { FIELD_TYPES } from '../../../fields/index.js'
import type { CatalogConstraint, CatalogIndex } from '../../introspect/catalog/catalog.js'

/** The names of all rules that become check constraints. */
const RULES = new Set(
  FIELD_TYPES.flatMap((type) =>
    type.examples.flatMap(({ options }) =>
      type.rules((options ?? {}) as never).flatMap(({ name, check }) => (check ? [name] : [])),
    ),
  ),
)

type Derive = (table: string, columns: readonly string[], name: string) => boolean

const DERIVED: Readonly<Record<CatalogConstraint['kind'], Derive>> = {
  primary_key: (table, _columns, name) => name === primaryKeyName(table),
  unique: (table, columns, name) => name === uniqueName(table, columns),
  // Files without `-- owns:` come from versions that made no foreign keys over several columns.
  foreign_key: (table, columns, name) => columns.length === 1 && name === foreignKeyName(table, columns),
  check: (table, [column = '', ...others], name) =>
    others.length === 0 && [...RULES].some((rule) => name === checkName(table, column, rule)),
  other: () => false,
}

/**
 * Whether a constraint has a generated name. In files without `-- owns:`, only the name shows that the constraint belongs to us.
 * @param columns the names of its columns at the time
 */
export function isDerivedConstraint(
  table: string,
  columns: readonly string[],
  { kind, name }: CatalogConstraint,
): boolean {
  return DERIVED[kind](table, columns, name)
}

/** The same for an index. The generator makes none on expressions. */
export function isDerivedIndex(table: string, columns: readonly (string | null)[], { name }: CatalogIndex): boolean {
  const named = columns.filter((column) => column !== null)
  return named.length === columns.length && name === indexName(table, named)
}
