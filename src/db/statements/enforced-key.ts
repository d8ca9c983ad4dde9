import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { arrayLiteral } from '../../fields/cell.js'
import { literal } from '../../fields/sql-literal.js'
import { tableSql } from '../../fields/table-name.js'

interface Keyed extends Pick<ModelSpec, 'table'> {
  readonly key: readonly Pick<FieldSpec, 'column'>[]
}

/**
 * The SQL condition that constraints keep the keys of all rows of a table unique and not null, which none do for views, foreign tables, inheriting tables
 * and most declared keys. An index without a constraint does not count: it may compare by another collation than the column.
 */
export function enforcesKey({ table, key }: Keyed): string {
  const names = literal(arrayLiteral(key.map(({ column }) => column)))
  // Since version 18, `attnotnull` is also true for a NOT NULL that was not validated.
  return `exists (select from pg_class c join pg_constraint k on k.conrelid = c.oid join pg_index i on i.indexrelid = k.conindid
    where c.oid = to_regclass(${literal(tableSql(table))}) and (c.relkind = 'p' or c.relkind = 'r' and not c.relhassubclass)
      and k.contype in ('p', 'u') and i.indisvalid and i.indimmediate
      and not exists (
        select from pg_attribute a where a.attrelid = c.oid
          and case when a.attname = any(${names}::name[]) then not a.attnotnull else a.attnum = any(k.conkey) end)
      and not exists (select from pg_constraint n where n.conrelid = c.oid and n.contype = 'n' and not n.convalidated))`
}

/** The name of the query with this condition. No table has it. */
export const ENFORCED = '@key'
