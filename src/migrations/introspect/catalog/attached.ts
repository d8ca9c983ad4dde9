/** SQL: the storage parameters of the table `c`, and those of its TOAST table. */
export const STORAGE = `
  select coalesce(jsonb_agg(w), '[]') from (
    select unnest(c.reloptions)
    union all select 'toast.' || unnest(reloptions) from pg_class where oid = c.reltoastrelid
  ) o(w)`

const COLUMN_SETTINGS = `
  select concat_ws(' ', s.kind, 'of column', a.attname) from pg_attribute a join pg_type t on t.oid = a.atttypid
  cross join lateral (values
    ('storage', a.attstorage <> t.typstorage),
    ('compression', nullif(to_jsonb(a) ->> 'attcompression', '') is not null),
    ('statistics target', nullif(a.attstattarget, -1) is not null),
    ('settings', a.attoptions is not null)
  ) s(kind, is_set)
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and s.is_set`

const GRANTS = `
  select 'grant to ' || string_agg(g.name, ', ' order by g.name) from (
    select distinct case e.grantee when 0 then 'public' else pg_get_userbyid(e.grantee) end as name
    from (select c.relacl as acl union all select attacl from pg_attribute where attrelid = c.oid and attnum > 0) s
    cross join aclexplode(s.acl) e where e.grantee <> c.relowner
  ) g having count(*) > 0`

const COMMENTS = `
  select concat_ws(' ', 'comment on', o.kind, o.name) from (
    select 'pg_constraint'::regclass as class, oid, 'constraint' as kind, conname as name from pg_constraint where conrelid = c.oid
    union all select 'pg_class'::regclass, indexrelid, 'index', relname from pg_index join pg_class x on x.oid = indexrelid where indrelid = c.oid
  ) o join pg_description d on d.classoid = o.class and d.objoid = o.oid and d.objsubid = 0`

/** SQL: the objects and settings of the table `c` that the recorded statements do not create: `trigger touch`. */
export const ATTACHED = `
  select coalesce(jsonb_agg(w order by w), '[]') from (
    select 'trigger ' || tgname || case tgenabled when 'D' then ' (disabled)' else '' end from pg_trigger where tgrelid = c.oid and not tgisinternal
    union all select 'rule ' || rulename from pg_rewrite where ev_class = c.oid
    union all select 'policy ' || polname from pg_policy where polrelid = c.oid
    union all select 'statistics ' || stxname from pg_statistic_ext where stxrelid = c.oid
    union all select 'row-level security' where c.relrowsecurity
    union all select 'forced row-level security' where c.relforcerowsecurity
    union all select 'replica identity' where c.relreplident <> 'd'
    union all select 'clustering by ' || x.relname from pg_index i join pg_class x on x.oid = i.indexrelid where i.indrelid = c.oid and i.indisclustered
    union all select 'tablespace ' || spcname from pg_tablespace where oid = c.reltablespace
    union all ${COLUMN_SETTINGS}
    union all ${GRANTS}
    union all ${COMMENTS}
  ) a(w)`
