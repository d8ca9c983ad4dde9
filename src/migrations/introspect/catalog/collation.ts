import { identifier } from '../../../fields/sql-literal.js'

/**
 * Returns an SQL expression for the collation of a column: null for the default of its type, the bare name of a collation that is built in or in
 * the schema, otherwise the quoted name with its schema. The query must name the column `a`, its type `t`, the base type of a domain `b`, and the
 * collation `l`.
 */
export function collationOfColumn(schema: string): string {
  return `
  case when a.attcollation <> coalesce(b.typcollation, t.typcollation) then
    case when l.collnamespace = 'pg_catalog'::regnamespace or l.collnamespace::regnamespace::text in (${schema}, quote_ident(${schema}))
      then l.collname::text
      else (select '"' || replace(n.nspname, '"', '""') || '"."' || replace(l.collname, '"', '""') || '"'
            from pg_namespace n where n.oid = l.collnamespace) end end`
}

/** A collation of the catalogue in SQL. */
export function collationSql(collation: string): string {
  return collation.startsWith('"') ? collation : identifier(collation)
}

/** The collations that are built into a database. */
export const BUILT_IN_COLLATIONS = `select json_agg(distinct collname)::text from pg_collation where collnamespace = 'pg_catalog'::regnamespace
  and collencoding in (-1, pg_char_to_encoding(getdatabaseencoding()))`
