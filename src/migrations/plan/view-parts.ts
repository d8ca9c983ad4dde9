import { BITS, executable } from '../introspect/catalog/privileges.js'

/** A grant, a comment or another object that is dropped with its view, and the statement that creates it. */
export interface ViewPart {
  /** `grant select to reporting`. */
  readonly name: string
  /** The columns that it needs, as SQL. */
  readonly columns: readonly string[]
  readonly sql: string
  /** The single privileges of a grant, as in `HELD`. */
  readonly privileges: readonly string[]
}

const COLUMNS = `(select jsonb_agg(quote_ident(attname)) from pg_attribute where attrelid = c.oid and attnum > 0)`

/** SQL: the grants `a` on a view `c` and on its columns `s.col`. */
const ALL_GRANTED = `
      from (
        select null as col, c.relacl as acl
        union all select quote_ident(attname), attacl from pg_attribute where attrelid = c.oid and attnum > 0
      ) s
      cross join aclexplode(s.acl) a
      where a.grantee <> c.relowner`

/** SQL: the grants `e` that the owner of a view `c` gives to every new view. */
const BY_DEFAULT = `
        from pg_default_acl d cross join aclexplode(d.defaclacl) e
        where d.defaclrole = c.relowner and d.defaclobjtype = 'r' and d.defaclnamespace in (0, c.relnamespace)`

function to(grant: string): string {
  return `concat('to ', case ${grant}.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(${grant}.grantee)) end)`
}

const GRANTEE = `concat(${to('a')}, case when a.is_grantable then ' with grant option' end)`

const PRIVILEGE = `concat_ws(' ', lower(a.privilege_type), '(' || s.col || ')', ${GRANTEE})`

/** SQL: the privileges that others than the owner have for a view `c`, such as `select to reporting`, as a JSON list. */
export const HELD = `(select coalesce(jsonb_agg(distinct ${PRIVILEGE}), '[]') ${ALL_GRANTED})`

/** SQL: those that every new view has. */
export const HELD_BY_DEFAULT = `(select coalesce(jsonb_agg(distinct concat_ws(' ', lower(e.privilege_type), ${to('e')})), '[]') ${BY_DEFAULT} and e.grantee <> c.relowner)`

/**
 * SQL: the parts of a view `c` of `pg_class`, as a JSON list in an order in which they can be created. All privileges are written as `all`, because
 * versions of PostgreSQL have different ones.
 */
export const VIEW_PARTS = `(
  select coalesce(jsonb_agg(jsonb_build_object('name', p.name, 'columns', p.columns, 'sql', p.sql, 'privileges', coalesce(p.privileges, '[]')) order by p.place, p.name, p.sql), '[]')
  from (
    select 1 as place, concat_ws(' ', 'grant', g.privileges, g.grantee) as name,
      case when g.col is null then '[]' else jsonb_build_array(g.col) end as columns,
      concat_ws(' ', 'grant', g.privileges, 'on', c.oid::regclass, g.grantee) as sql, g.single as privileges
    from (
      select s.col, jsonb_agg(distinct ${PRIVILEGE}) as single,
        case
          when s.col is null and count(distinct a.privilege_type) = (select count(*) from aclexplode(acldefault('r', c.relowner))) then 'all'
          else string_agg(distinct concat(lower(a.privilege_type), ' (' || s.col || ')'), ', ')
        end as privileges,
        ${GRANTEE} as grantee
      ${ALL_GRANTED}
      group by s.col, a.grantee, a.is_grantable
      -- PostgreSQL makes the grants of default privileges again by itself.
      having s.col is not null or array_agg(distinct a.privilege_type order by a.privilege_type) is distinct from (
        select array_agg(distinct e.privilege_type order by e.privilege_type) ${BY_DEFAULT} and e.grantee = a.grantee and e.is_grantable = a.is_grantable)
    ) g
    union all
    select 2, concat_ws(' ', 'comment', 'on ' || quote_ident(t.attname)),
      case when t.attname is null then '[]' else jsonb_build_array(quote_ident(t.attname)) end,
      format('comment on %s%s is %L', case when t.attname is null then 'view ' else 'column ' end,
        c.oid::regclass || coalesce('.' || quote_ident(t.attname), ''), d.description), null
    from pg_description d
    left join pg_attribute t on t.attrelid = c.oid and t.attnum = d.objsubid and d.objsubid > 0
    where d.classoid = 'pg_class'::regclass and d.objoid = c.oid
    union all
    select 3, 'default of ' || quote_ident(t.attname), jsonb_build_array(quote_ident(t.attname)),
      format('alter view %s alter column %I set default %s', c.oid::regclass, t.attname, pg_get_expr(f.adbin, f.adrelid)), null
    from pg_attrdef f join pg_attribute t on t.attrelid = f.adrelid and t.attnum = f.adnum where f.adrelid = c.oid
    union all
    select 4, format('rule %I', r.rulename), ${COLUMNS}, rtrim(pg_get_ruledef(r.oid, true), ';'), null
    from pg_rewrite r where r.ev_class = c.oid and r.rulename <> '_RETURN'
    union all
    select 5, format('trigger %I', t.tgname), ${COLUMNS}, pg_get_triggerdef(t.oid, true), null
    from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal
    union all
    select 6, concat_ws(' ', 'comment on', o.kind, quote_ident(o.name)), ${COLUMNS},
      format('comment on %s %I on %s is %L', o.kind, o.name, c.oid::regclass, d.description), null
    from (
      select 'pg_rewrite'::regclass as class, oid, 'rule' as kind, rulename as name from pg_rewrite where ev_class = c.oid
      union all select 'pg_trigger'::regclass, oid, 'trigger', tgname from pg_trigger where tgrelid = c.oid
    ) o
    join pg_description d on d.classoid = o.class and d.objoid = o.oid
    union all
    select 7, format('owner %I', pg_get_userbyid(c.relowner)), '[]', format('alter view %s owner to %I', c.oid::regclass, pg_get_userbyid(c.relowner)), null
    where pg_get_userbyid(c.relowner) <> current_user
  ) p
)`

/** SQL: whether PostgreSQL can update through the query of a view `c`. */
export const IS_UPDATABLE = `(${executable(false)}) & ${BITS.update} <> 0`

/** A view without its query. */
export interface ViewState {
  /** The name and the type of each column, as SQL. */
  readonly columns: readonly string[]
  /** `security_invoker=true`. */
  readonly options: readonly string[]
  readonly parts: readonly ViewPart[]
  /** Whether PostgreSQL can write through its query, which `check_option` requires. */
  readonly updatable: boolean
}

/** The options and parts that a view passes on to its successor, and descriptions of the others. */
interface Inherited extends Pick<ViewState, 'options' | 'parts'> {
  readonly lost: readonly string[]
}

/** Determines which options and parts of a view fit its successor. */
export function inherited(former: ViewState, { columns, updatable }: Omit<ViewState, 'options' | 'parts'>): Inherited {
  const isPossible = (option: string) => updatable || !option.startsWith('check_option=')
  const isFitting = (part: ViewPart) => fits(part, { columns })
  const lostParts = former.parts.filter((part) => !isFitting(part))
  return {
    options: former.options.filter(isPossible),
    parts: former.parts.filter(isFitting),
    lost: [...former.options.filter((option) => !isPossible(option)), ...lostParts.map(({ name }) => name)],
  }
}

/** Whether a view has the columns that a part needs. */
export function fits(part: ViewPart, { columns }: Pick<ViewState, 'columns'>): boolean {
  return part.columns.every((name) => columns.some((column) => column.startsWith(`${name} `)))
}
