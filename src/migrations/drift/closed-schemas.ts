import { identifier } from '../../fields/sql-literal.js'
import { formattedTable, PATH_SCHEMA, SEARCH_PATH } from '../../fields/table-name.js'

/** A schema that the database user may not use. */
export interface ClosedSchema {
  readonly role: string
  readonly schema: string
}

/** Tables in closed schemas, by their names without schemas. */
export type ClosedTables = Readonly<Record<string, ClosedSchema | undefined>>

/** SQL: the name of a table without its schema. */
const NAME = formattedTable('c', 'n', 'n.nspname')

/**
 * SQL: a JSON object of the tables and views in those schemas of the search path that the database user may not use.
 * @param names a JSON list of the tables to look for, without schemas
 */
export function closedTables(names: string): string {
  return `
  select jsonb_object_agg(t.name, jsonb_build_object('role', current_user, 'schema', t.schema))::text
  from (
    select distinct on (1) ${NAME} as name, n.nspname as schema
    from ${SEARCH_PATH}
    join pg_namespace n on n.nspname = ${PATH_SCHEMA}
    join pg_class c on c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
    where not has_schema_privilege(n.oid, 'usage') and ${NAME} in (select jsonb_array_elements_text(${names}))
    order by 1, p.place
  ) t`
}

/** The statement that the owner of a schema executes. */
export function grantUsage({ role, schema }: ClosedSchema): string {
  return `grant usage on schema ${identifier(schema)} to ${identifier(role)}`
}
