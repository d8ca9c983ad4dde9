import type { Connection } from '../../db/database.js'
import { identifier } from '../../fields/sql-literal.js'
import { formattedTable, tableSql } from '../../fields/table-name.js'
import { alter, partsOf, type Step } from '../files/steps.js'
import type { Difference } from './compare/diff.js'
import type { FormerNames } from './compare/pair.js'

/** The columns that are stored or compressed in another way than their type says. */
const STORAGE = `
  select ${formattedTable('c', 'n')}, a.attname, concat_ws(', ',
    case when a.attstorage <> t.typstorage
      then 'storage ' || case a.attstorage when 'p' then 'plain' when 'e' then 'external' when 'm' then 'main' else 'extended' end end,
    'compression ' || case to_jsonb(a) ->> 'attcompression' when 'p' then 'pglz' when 'l' then 'lz4' end)
  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace join pg_type t on t.oid = a.atttypid
  where n.nspname = current_schema() and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
    and (a.attstorage <> t.typstorage or to_jsonb(a) ->> 'attcompression' <> '')`

/** Whether values of a type can be stored in more than one way. */
const STORABLE = `select (select typstorage <> 'p' from pg_type where oid = to_regtype($1::text))::text`

/** Adds a note for each column whose storage or compression a change of its type resets. */
export async function noteStorage<Planned extends Difference & { readonly former: FormerNames }>(
  planned: Planned,
  connection: Connection,
): Promise<Planned> {
  const retyped = planned.steps.filter(retypes)
  if (retyped.length === 0) return planned
  const { rows } = await connection.query({ text: STORAGE, values: [] })
  const notes: string[] = []
  for (const { subject, up } of retyped) {
    const [table, column = ''] = partsOf(subject)
    const { former } = planned
    const own = rows.find(([name, of]) => name === former.table(table) && of === former.column(table, column))
    if (!own || !(await isStorable(typeOf(table, column, up), connection))) continue
    const settings = (own[2] ?? '').split(', ')
    const actions = settings.map((setting) => `alter column ${identifier(column)} set ${setting}`)
    notes.push(
      `${subject} has ${settings.join(' and ')}, which the change of its type resets: to keep it, add this to the migration: ` +
        `alter table ${tableSql(table)} ${actions.join(', ')}`,
    )
  }
  return { ...planned, notes: [...new Set([...planned.notes, ...notes])] }
}

/** The type that a step gives its column, as the catalogue spells it. */
function typeOf(table: string, column: string, up: readonly string[]): string | undefined {
  const start = alter(table, `alter column ${identifier(column)} type `)
  const action = up.find((sql) => sql.startsWith(start))?.slice(start.length)
  return action?.split(/ collate | using /, 1)[0]
}

/** Whether a note helps: not for a type without other storage, nor for an enum that the plan makes. */
async function isStorable(type: string | undefined, connection: Connection): Promise<boolean> {
  if (type === undefined) return true
  const { rows } = await connection.query({ text: STORABLE, values: [type] })
  return rows[0]?.[0] === 'true'
}

/** Whether a step gives its column another type. */
export function retypes({ change, up }: Step): boolean {
  return change === 'change' && up.some((sql) => / alter column .* type /.test(sql))
}
