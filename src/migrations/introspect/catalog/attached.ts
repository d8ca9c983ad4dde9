/** SQL: the storage parameters of the table `c`, and those of its TOAST table. */
export const STORAGE = `
  select coalesce(jsonb_agg(w), '[]') from (
    select unnest(c.reloptions)
    union all select 'toast.' || unnest(reloptions) from pg_class where oid = c.reltoastrelid
  ) o(w)`

/** SQL: the objects of the table `c` that `create table` cannot create: `trigger touch`. */
export const ATTACHED = `
  select coalesce(jsonb_agg(w order by w), '[]') from (
    select 'trigger ' || tgname from pg_trigger where tgrelid = c.oid and not tgisinternal
    union all select 'rule ' || rulename from pg_rewrite where ev_class = c.oid
    union all select 'policy ' || polname from pg_policy where polrelid = c.oid
    union all select 'statistics ' || stxname from pg_statistic_ext where stxrelid = c.oid
    union all select 'row-level security' where c.relrowsecurity
  ) a(w)`
