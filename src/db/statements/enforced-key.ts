import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { arrayLiteral } from '../../fields/cell.js'
import { literal } from '../../fields/sql-literal.js'
import { tableSql } from '../../fields/table-name.js'

interface Keyed extends Pick<ModelSpec, 'table'> {
  readonly key: readonly Pick<FieldSpec, 'column'>[]
}

/**
 * The SQL condition that an index keeps the keys of all rows of a table unique, and that they are not null, which is not so for views, foreign tables,
 * inheriting tables and most declared keys. An index counts only if it compares values as the columns do.
 */
export function enforcesKey({ table, key }: Keyed): string {
  const names = literal(arrayLiteral(key.map(({ column }) => column)))
  // Since version 18, `attnotnull` is also true for a NOT NULL that was not validated.
  return `exists (select from pg_class c join pg_index i on i.indrelid = c.oid
    where c.oid = to_regclass(${literal(tableSql(table))}) and (c.relkind = 'p' or c.relkind = 'r' and not c.relhassubclass)
      and i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null
      and not exists (
        select from unnest(i.indkey::int2[], i.indcollation::oid[], i.indclass::oid[]) with ordinality k(attnum, collation_of, class, place)
        left join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
        left join pg_opclass o on o.oid = k.class
        where k.place <= i.indnkeyatts
          and (a.attname = any(${names}::name[]) and a.attcollation = k.collation_of and o.opcdefault) is not true)
      and not exists (
        select from pg_attribute a left join pg_constraint n on n.conrelid = c.oid and n.contype = 'n' and n.conkey[1] = a.attnum
        where a.attrelid = c.oid and a.attname = any(${names}::name[]) and not (a.attnotnull and coalesce(n.convalidated, true))))`
}

/** The name of the query with this condition. No table has it. */
export const ENFORCED = '@key'
