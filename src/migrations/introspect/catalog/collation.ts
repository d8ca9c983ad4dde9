import { identifier } from '../../../fields/sql-literal.js'

/**
 * SQL: the collation of a column, null for the type's default: the name of a built-in collation or of one in the schema, or else SQL with the
 * name of its schema. It reads the rows of the column, its type, the base type of a domain and the collation.
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
