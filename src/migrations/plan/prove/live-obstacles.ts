import type { Connection } from '../../../db/database.js'
import { formattedTable } from '../../../fields/table-name.js'
import { shellWord } from '../../../foundation/shell-word.js'
import { partsOf, type Step } from '../../files/steps.js'
import type { FormerNames } from '../compare/pair.js'
import type { Plan } from '../generate.js'

const NAMES = `
  with here as (select c.oid, c.relkind, ${formattedTable('c', 'n')} as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = current_schema())
  select name, null from here
  union all
  select name, attname from here join pg_attribute on attrelid = oid where relkind in ('r', 'p') and attnum > 0 and not attisdropped
  union all
  select name, conname from here join pg_constraint o on conrelid = here.oid
  union all
  select name, x.relname from here join pg_index on indrelid = here.oid join pg_class x on x.oid = indexrelid`

const READERS = `
  select distinct ${formattedTable('t', 'n')}, a.attname, v.oid::regclass::text, case when v.relnamespace = n.oid then ${formattedTable('v', 'n')} end
  from pg_depend d
  join pg_rewrite r on r.oid = d.objid
  join pg_class v on v.oid = r.ev_class
  join pg_class t on t.oid = d.refobjid
  join pg_namespace n on n.oid = t.relnamespace
  join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
  where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and v.oid <> t.oid
    and n.nspname = current_schema()`

/**
 * Rejects steps that the migration files allow and the database does not: a view that no migration made reads the column, or the name is taken.
 * @param database one that has applied every file
 */
export async function rejectObstacles<Planned extends Plan>(planned: Planned, database: Connection): Promise<Planned> {
  const names = await database.query({ text: NAMES, values: [] })
  const taken = new Set(names.rows.map(([table, part]) => (part === null ? table : `${table}.${part}`)))
  const readers = (await database.query({ text: READERS, values: [] })).rows
  const was = formerSubject(planned.former)
  const gone = new Set(
    planned.steps
      .filter(({ change, renamed }) => change === 'drop' || renamed !== undefined)
      .map(({ subject }) => was(subject)),
  )
  const changed = new Set(planned.steps.map(({ subject }) => subject))
  const rejections = planned.steps.flatMap((step) => {
    const subject = was(step.subject)
    const isTaken = step.change === 'add' && taken.has(subject) && !gone.has(subject)
    const blocking = readers.filter(
      ([table, column, , name]) =>
        dropsOrRetypes({ ...step, subject }, `${table}.${column}`) && !changed.has(name ?? ''),
    )
    return [
      ...(isTaken ? [takenName(subject)] : []),
      ...blocking.map(
        ([, , view]) =>
          `${step.subject} cannot be ${step.change === 'drop' ? 'dropped' : 'changed'}, because the view ${view} of this database reads it: ` +
          `drop the view, apply the migration, and create the view again: select pg_get_viewdef('${view}')`,
      ),
    ]
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
function dropsOrRetypes({ change, subject, up }: Step, column: string): boolean {
  if (change === 'drop') return column === subject || partsOf(column)[0] === subject
  return change === 'change' && column === subject && up.some((sql) => / alter column .* type /.test(sql))
}

function takenName(subject: string): string {
  const isTable = partsOf(subject).length === 1
  const ways = isTable
    ? 'give the model another `table`, use the table as it is with `managed: false`, or rename it in the database'
    : `keep it: snippetctl migrate adopt ${shellWord(subject)}; or rename it in the database`
  return `${subject} exists in this database, and no migration created it: ${ways}`
}
