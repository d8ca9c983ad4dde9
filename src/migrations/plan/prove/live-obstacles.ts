import type { Connection } from '../../../db/database.js'
import { formattedTable } from '../../../fields/table-name.js'
import { shellWord } from '../../../foundation/shell-word.js'
import { partsOf, type Step } from '../../files/steps.js'
import type { FormerNames } from '../compare/pair.js'
import type { Plan } from '../generate.js'
import { retypes } from '../lost-storage.js'

const NAMES = `
  with here as (select c.oid, c.relkind, ${formattedTable('c', 'n')} as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = current_schema())
  select name, null from here
  union all
  select name, attname from here join pg_attribute on attrelid = oid where relkind in ('r', 'p') and attnum > 0 and not attisdropped
  union all
  select name, conname from here join pg_constraint o on conrelid = here.oid
  union all
  select name, x.relname from here join pg_index on indrelid = here.oid join pg_class x on x.oid = indexrelid`

/** The views, rules, policies and triggers that use a column, each with the view or table that it belongs to, and a query of its definition. */
const USERS = `
  select distinct ${formattedTable('t', 'n')}, a.attname, u.kind, u.name, case when o.relnamespace = n.oid then ${formattedTable('o', 'm')} end, u.definition
  from (
    select 'pg_rewrite'::regclass as class, oid, ev_class as owner, 'view' as kind, ev_class::regclass::text as name,
      format('select pg_get_viewdef(%L::regclass)', ev_class::regclass) as definition
    from pg_rewrite where rulename = '_RETURN'
    union all select 'pg_rewrite'::regclass, oid, ev_class, 'rule', quote_ident(rulename),
      format('select pg_get_ruledef(oid) from pg_rewrite where rulename = %L and ev_class = %L::regclass', rulename, ev_class::regclass)
    from pg_rewrite where rulename <> '_RETURN'
    union all select 'pg_policy'::regclass, p.oid, polrelid, 'policy', quote_ident(polname),
      format('select * from pg_policies where policyname = %L and tablename = %L and schemaname = %L', polname, relname, nspname)
    from pg_policy p join pg_class c on c.oid = polrelid join pg_namespace s on s.oid = relnamespace
    union all select 'pg_trigger'::regclass, oid, tgrelid, 'trigger', quote_ident(tgname),
      format('select pg_get_triggerdef(oid) from pg_trigger where tgname = %L and tgrelid = %L::regclass', tgname, tgrelid::regclass)
    from pg_trigger where not tgisinternal
  ) u
  join pg_class o on o.oid = u.owner
  join pg_namespace m on m.oid = o.relnamespace
  join pg_depend d on d.classid = u.class and d.objid = u.oid and d.refclassid = 'pg_class'::regclass
  join pg_class t on t.oid = d.refobjid
  join pg_namespace n on n.oid = t.relnamespace
  join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
  where (u.kind <> 'view' or t.oid <> o.oid) and n.nspname = current_schema()`

/** The views that read a view, also through others, in an order in which they can be dropped. A cast of its name would need the right to use its schema. */
const VIEWS_ABOVE = `
  with recursive above(oid, depth) as (
    select oid, 0 from pg_class where oid::regclass::text = $1 and relkind in ('v', 'm')
    union
    select v.oid, depth + 1
    from above
    join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = above.oid and d.classid = 'pg_rewrite'::regclass
    join pg_rewrite r on r.oid = d.objid
    join pg_class v on v.oid = r.ev_class and v.oid <> above.oid and v.relkind in ('v', 'm')
  )
  select oid::regclass::text from above where depth > 0 group by oid order by max(depth) desc, 1`

/**
 * Rejects steps that the migration files allow and the database does not: a view, a rule, a policy or a trigger
 * that no migration made uses the column, or the name is taken.
 * @param database one that has applied every file
 */
export async function rejectObstacles<Planned extends Plan>(planned: Planned, database: Connection): Promise<Planned> {
  const names = await database.query({ text: NAMES, values: [] })
  const taken = new Set(names.rows.map(([table, part]) => (part === null ? table : `${table}.${part}`)))
  const users = (await database.query({ text: USERS, values: [] })).rows
  const was = formerSubject(planned.former)
  const gone = new Set(
    planned.steps
      .filter(({ change, renamed }) => change === 'drop' || renamed !== undefined)
      .map(({ subject }) => was(subject)),
  )
  const changed = new Set(planned.steps.map(({ subject }) => subject))
  const blockedBy = (step: Step) =>
    users.filter(
      ([table, column, , , owner]) =>
        dropsOrRetypes({ ...step, subject: was(step.subject) }, `${table}.${column}`) && !changed.has(owner ?? ''),
    )
  const views = planned.steps.flatMap(blockedBy).flatMap(([, , kind, name]) => (kind === 'view' ? [name ?? ''] : []))
  const above = new Map<string, readonly string[]>()
  for (const view of new Set(views)) {
    const { rows } = await database.query({ text: VIEWS_ABOVE, values: [view] })
    above.set(
      view,
      rows.map(([name]) => name ?? ''),
    )
  }
  const rejections = planned.steps.flatMap((step) => {
    const subject = was(step.subject)
    const isTaken = step.change === 'add' && taken.has(subject) && !gone.has(subject)
    const blocking = blockedBy(step).map(([, , kind, name, , definition]) =>
      blocked(step, { kind, name, definition, above: above.get(name ?? '') ?? [] }),
    )
    return [...(isTaken ? [takenName(subject)] : []), ...blocking]
  })
  if (rejections.length === 0) return planned
  return { ...planned, rejections: [...planned.rejections, ...rejections], text: undefined, proof: undefined }
}

/** The subject of a step under the names before the renames of the plan, which the database still has. */
function formerSubject(former: FormerNames): (subject: string) => string {
  return (subject) => {
    const [table, part] = partsOf(subject)
    const before = former.table(table)
    return part === undefined ? before : `${before}.${former.column(table, part)}`
  }
}

/** Whether a step drops a column or its table, or gives the column another type. */
function dropsOrRetypes(step: Step, column: string): boolean {
  const { change, subject } = step
  if (change === 'drop') return column === subject || partsOf(column)[0] === subject
  return column === subject && retypes(step)
}

interface Obstacle {
  readonly kind: string | null | undefined
  readonly name: string | null | undefined
  /** A query. */
  readonly definition: string | null | undefined
  /** The views that read it. */
  readonly above: readonly string[]
}

function blocked({ subject, change }: Step, { kind, name, definition, above }: Obstacle): string {
  const [done, without] = change === 'drop' ? ['dropped', ` without ${subject}`] : ['changed', '']
  const start = `${subject} cannot be ${done}, because the ${kind} ${name} of this database reads it: keep its definition (${definition})`
  if (above.length === 0)
    return `${start}, drop the ${kind}, apply the migration, and create the ${kind} again${without}`
  const others = above.join(', ')
  return `${start} and those of the views that read it (${others}), drop ${others}, ${name}, apply the migration, and create all of them again${without}`
}

function takenName(subject: string): string {
  const isTable = partsOf(subject).length === 1
  const ways = isTable
    ? 'give the model another `table`, use the table as it is with `managed: false`, or rename it in the database'
    : `keep it: snippetctl migrate adopt ${shellWord(subject)}; or rename it in the database`
  return `${subject} exists in this database, and no migration created it: ${ways}`
}
