import { CURRENT_SCHEMA } from '../../../fields/table-name.js'

/** SQL: the current schema. */
export const OWN = `coalesce((select oid from pg_namespace where nspname = ${CURRENT_SCHEMA}), 0::oid)`

/** SQL: whether an object belongs to an extension. */
export function extended(catalog: string, oid: string): string {
  return `exists (select from pg_depend e where e.classid = '${catalog}'::regclass and e.objid = ${oid} and e.deptype = 'e')`
}

/** SQL: the objects of the database that no table, enum type or sequence contains, one phrase each. */
export const OTHERS = `
  select coalesce(jsonb_agg(w order by w), '[]') from (
    select 'function ' || proname from pg_proc
      where pronamespace = ${OWN} and not ${extended('pg_proc', 'pg_proc.oid')}
        and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'i')
    union all select case typtype when 'd' then 'domain ' else 'type ' end || typname from pg_type
      where typnamespace = ${OWN} and (typtype in ('d', 'r') or exists (select from pg_class where oid = typrelid and relkind = 'c'))
        and not ${extended('pg_type', 'pg_type.oid')}
    union all select 'schema ' || nspname from pg_namespace n
      where nspname !~ '^pg_' and nspname <> 'information_schema' and n.oid <> ${OWN}
        and exists (select from pg_class where relnamespace = n.oid and relkind in ('r', 'p') and not ${extended('pg_class', 'pg_class.oid')})
    union all select 'extension ' || extname from pg_extension where extname <> 'plpgsql'
    union all select 'publication ' || pubname from pg_publication
    union all select 'event trigger ' || evtname from pg_event_trigger where not ${extended('pg_event_trigger', 'pg_event_trigger.oid')}
    union all select distinct 'default grant of ' || pg_get_userbyid(defaclrole) from pg_default_acl where defaclnamespace in (0, ${OWN})
  ) a(w)`
