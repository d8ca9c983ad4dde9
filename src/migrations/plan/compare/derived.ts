import {
  checkName,
  foreignKeyName,
  indexName,
  primaryKeyName,
  uniqueName,
} from '../../../config/parse/constraint-names.js'
import { FIELD_TYPES } from '../../../fields/index.js'
import type { CatalogConstraint, CatalogIndex } from '../../introspect/catalog/catalog.js'

/** The names of all rules that are checks of a table. */
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
  // Files without a list of what they own come from versions that made no constraints over several columns.
  foreign_key: (table, columns, name) => columns.length === 1 && name === foreignKeyName(table, columns),
  check: (table, [column = '', ...others], name) =>
    others.length === 0 && [...RULES].some((rule) => name === checkName(table, column, rule)),
  other: () => false,
}

/**
 * Whether a constraint has the generated name, which is the only evidence in files without a list of what they own.
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
