import { checkName, foreignKeyName, indexName, primaryKeyName, uniqueName } from '../db/constraint-names.js'
import { FIELD_TYPES } from '../fields/index.js'
import type { CatalogConstraint, CatalogIndex } from './catalog.js'

/** The names of all rules that a field can have. */
const RULES = new Set(
  FIELD_TYPES.flatMap((type) =>
    type.examples.flatMap(({ options }) => type.rules((options ?? {}) as never).map(({ name }) => name)),
  ),
)

type Derive = (table: string, columns: readonly string[], name: string) => boolean

const DERIVED: Readonly<Record<CatalogConstraint['kind'], Derive>> = {
  primary_key: (table, _columns, name) => name === primaryKeyName(table),
  unique: (table, columns, name) => name === uniqueName(table, columns),
  foreign_key: (table, [column = ''], name) => name === foreignKeyName(table, column),
  check: (table, [column = '', ...others], name) =>
    others.length === 0 &&
    [...RULES, ruleOf(table, column, name)].some((rule) => name === checkName(table, column, rule)),
  other: () => false,
}

/** PostgreSQL itself calls unnamed ones `books_title_check` and `books_title_check1`, and no rule is called so. */
function ruleOf(table: string, column: string, name: string): string {
  const rule = name.slice(`${table}_${column}_`.length)
  return /^check\d*$/.test(rule) ? 'none' : rule
}

/**
 * Whether a constraint is one that the generator made. Nothing marks it as such but its name: whoever names one as the
 * generator would, hands it over.
 * @param columns the names of its columns at the time
 */
export function isDerivedConstraint(
  table: string,
  columns: readonly string[],
  { kind, name }: CatalogConstraint,
): boolean {
  return DERIVED[kind](table, columns, name)
}

/** Whether an index is one that the generator made. An index of an expression never is. */
export function isDerivedIndex(table: string, columns: readonly (string | null)[], { name }: CatalogIndex): boolean {
  const named = columns.filter((column) => column !== null)
  return named.length === columns.length && name === indexName(table, named)
}
