import type { Operation } from '../../../config/core-spec.js'
import type { CatalogTable } from './catalog.js'

/** The commands that write. */
export type Command = 'insert' | 'update' | 'delete'

/** The privileges of the database user for a table or view: whether it may execute each command on the whole table. */
export interface Privileges extends Readonly<Record<Command, boolean>> {
  /** The sequences in column defaults that the user may not use. If there are any, the user cannot insert rows. */
  readonly unusable: readonly string[]
  /** The columns that it may not read. */
  readonly unreadable: readonly string[]
}

/** SQL joins: the columns `d.refobjsubid` of tables and views `s` that the query of the view `v` reads; 0 for one of which it reads no column. */
const READ = `
  join pg_rewrite r on r.ev_class = v.oid and r.ev_type = '1'
  join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass and d.refobjid <> v.oid
  join pg_class s on s.oid = d.refobjid and s.relkind in ('r', 'p', 'v', 'm', 'f')`

/** SQL: the view `c` and the views that it reads. */
const VIEWS = `with recursive views(oid) as (select c.oid union select s.oid from views v ${READ} where s.relkind = 'v')`

/** SQL: the columns of the primary keys of the tables that the query of the view `c` reads, also by other views. */
export const SOURCE_KEYS = `
  ${VIEWS}
  select coalesce(jsonb_agg(distinct k.names), '[]') from views join pg_class v using (oid) ${READ}
  join pg_constraint o on o.conrelid = s.oid and o.contype = 'p'
  cross join lateral (
    select jsonb_agg(a.attname order by a.attname) from pg_attribute a where a.attrelid = o.conrelid and a.attnum = any(o.conkey)
  ) k(names)
  where c.relkind in ('v', 'm')`

/**
 * SQL: whether `c` is a view with `security_invoker`, or reads one, whose query reads a column that the user may not read. Misses references to whole
 * rows, which `pg_depend` does not have.
 */
const READS_UNREADABLE = `c.relkind = 'v' and exists (
  ${VIEWS}
  select from views join pg_class v using (oid) ${READ}
  where exists (select from pg_options_to_table(v.reloptions) where case option_name when 'security_invoker' then option_value::boolean end)
    and case d.refobjsubid when 0 then not has_any_column_privilege(s.oid, 'select')
      else not has_column_privilege(s.oid, d.refobjsubid::smallint, 'select') end
)`

/** SQL: whether `c` is a view, or reads one, whose query calls a function that the user may not call; the owner of the view does not matter. */
const CALLS_FORBIDDEN = `c.relkind = 'v' and exists (
  ${VIEWS}
  select from views join pg_rewrite r on r.ev_class = views.oid and r.ev_type = '1'
  join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_proc'::regclass
  where not has_function_privilege(d.refobjid, 'execute')
)`

/**
 * SQL: the sequences `s` in the defaults of the table `c` that the user may not use. An identity needs no privilege. The `case` keeps PostgreSQL from calling the function of sequences for
 * indexes, which is an error.
 */
export const FORBIDDEN_SEQUENCES = `
  from pg_attrdef f
  join pg_depend p on p.classid = 'pg_attrdef'::regclass and p.objid = f.oid and p.refclassid = 'pg_class'::regclass
  join pg_class s on s.oid = p.refobjid
  where f.adrelid = c.oid and case when s.relkind = 'S' then not has_sequence_privilege(s.oid, 'usage, update') end`

/** The privileges for the table `c` in the schema `n`, as JSON. `offset 0` keeps PostgreSQL from asking for each column what holds for the table. */
export const PRIVILEGES = `
  select jsonb_build_object(
    'unreadable', (
      select coalesce(jsonb_agg(a.attname order by a.attnum), '[]')
      from (select not has_schema_privilege(n.oid, 'usage') or ${READS_UNREADABLE} or ${CALLS_FORBIDDEN} as whole offset 0) u cross join pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        and (u.whole or not has_column_privilege(c.oid, a.attnum, 'select'))
    ),
    'unusable', (select coalesce(jsonb_agg(s.oid::regclass::text), '[]') ${FORBIDDEN_SEQUENCES}),
    'insert', has_table_privilege(c.oid, 'insert'),
    'update', has_table_privilege(c.oid, 'update'),
    'delete', has_table_privilege(c.oid, 'delete'))`

/**
 * SQL: the commands that PostgreSQL can execute on the table or view `c`, as the bits of `pg_relation_is_updatable`. Asking PostgreSQL is an error if `c`
 * is, or reads, a foreign table whose wrapper has no handler.
 */
export function executable(withTriggers: boolean): string {
  return `case when c.relkind not in ('v', 'f') or not exists (
    ${VIEWS}
    select from (select c.oid union select s.oid from views v ${READ}) f(oid)
    join pg_foreign_table t on t.ftrelid = f.oid
    join pg_foreign_server o on o.oid = t.ftserver
    join pg_foreign_data_wrapper w on w.oid = o.srvfdw
    where w.fdwhandler = 0
  ) then pg_relation_is_updatable(c.oid, ${withTriggers}) else 0 end`
}

/** The commands as `pg_rewrite` has them. */
const EVENTS: Readonly<Record<Command, string>> = { update: '2', insert: '3', delete: '4' }

/** The bits of the commands. */
export const BITS: Readonly<Record<Command, number>> = { update: 4, insert: 8, delete: 16 }

/** SQL: whether rows of the table or view `c` can be inserted, updated and deleted without triggers. */
export const WRITABLE = `(${executable(false)}) & 28 = 28`

/** SQL: whether the row `u` of `pg_rewrite` replaces commands of the table or view `c`. */
const REPLACES = `u.ev_class = c.oid and u.is_instead and u.ev_enabled in ('O', 'A')`

/** The SQL of the commands that enabled rules of a table replace. Rules of views make them writable. */
export const REPLACED = `
  select coalesce(jsonb_agg(distinct case ev_type when '2' then 'update' when '3' then 'insert' else 'delete' end), '[]')
  from pg_rewrite u where ${REPLACES} and c.relkind in ('r', 'p')`

/**
 * SQL: whether rules of the table or view `c` make a command an error: they replace it, and none of them replaces it for all rows and returns these.
 * Single records are deleted without `returning`, so only conditional rules of views stop that.
 */
export function isStopped(command: Command): string {
  const rules = `select from pg_rewrite u where ${REPLACES} and u.ev_type = '${EVENTS[command]}'`
  const whole = `u.ev_qual::text = '<>'`
  return command === 'delete'
    ? `(c.relkind = 'v' and exists (${rules} and not ${whole}) and not exists (${rules} and ${whole}))`
    : `(exists (${rules}) and not exists (${rules} and ${whole} and u.ev_action::text ~ ':returningList \\('))`
}

/** The command of a write, whose privilege it needs besides reading. */
export const COMMANDS: Partial<Record<Operation, Command>> = {
  create: 'insert',
  update: 'update',
  partial_update: 'update',
  destroy: 'delete',
}

/** Whether the database user may perform an operation. */
export function isPermitted(operation: Operation, privileges: Privileges): boolean {
  const command = COMMANDS[operation]
  if (command === undefined) return true
  return privileges[command] && (command !== 'insert' || privileges.unusable.length === 0)
}

/** A table without some columns, and without the constraints and indexes that need them. */
export function withoutColumns(table: CatalogTable, hidden: readonly string[]): CatalogTable {
  if (hidden.length === 0) return table
  const isHidden = (column: string | null) => column !== null && hidden.includes(column)
  return {
    ...table,
    columns: table.columns.filter(({ name }) => !isHidden(name)),
    constraints: table.constraints.filter(({ columns }) => !columns.some(isHidden)),
    indexes: table.indexes.filter(({ uses }) => !uses.some(isHidden)),
  }
}
