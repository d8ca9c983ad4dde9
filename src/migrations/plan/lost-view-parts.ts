import type { Connection } from '../../db/database.js'
import { formattedTable } from '../../fields/table-name.js'
import type { FileStatement } from '../files/statements.js'
import { fits, VIEW_PARTS, type ViewState } from './view-parts.js'

/** A grant, a comment or another part of a view that was dropped with it. */
export interface LostViewPart {
  /** The name of the view. */
  readonly view: string
  /** The statement that created it. */
  readonly sql: string
  /** A sentence with the statement. */
  readonly message: string
}

interface View extends Pick<ViewState, 'columns' | 'parts'> {
  readonly oid: string
  readonly name: string
}

const PARTS = `
  select coalesce(jsonb_agg(jsonb_build_object(
    'oid', c.oid::text,
    'name', ${formattedTable('c', 'n')},
    'columns', (select jsonb_agg(quote_ident(attname) || ' ') from pg_attribute where attrelid = c.oid and attnum > 0),
    'parts', ${VIEW_PARTS}
  ) order by c.relname), '[]')::text
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = current_schema() and c.relkind = 'v'`

/**
 * Runs a part of a migration, and finds the parts of views that it loses because it drops the views and creates them again, under the same name or another.
 * They are not restored, because the new view can have another owner, and a grant or a rule acts with the rights of the owner.
 * @param reverse the statements of the other direction; they contain the parts that the files know
 */
export async function lostViewParts(
  session: Connection,
  statements: readonly FileStatement[],
  reverse: readonly FileStatement[],
  work: () => Promise<void>,
): Promise<readonly LostViewPart[]> {
  const drops = statements.some(({ text }) => /^drop\s+view\b/i.test(text))
  const before = drops ? await readParts(session) : []
  await work()
  const after = drops ? await readParts(session) : []
  const made = after.filter(({ oid }) => !before.some((view) => view.oid === oid))
  const known = new Set(reverse.map(({ text }) => text))
  return before
    .filter(({ oid }) => !after.some((view) => view.oid === oid))
    .flatMap((view) => missingParts(view, made, known))
}

function missingParts(former: View, made: readonly View[], known: ReadonlySet<string>): readonly LostViewPart[] {
  if (made.length === 0) return []
  const view = made.find(({ name }) => name === former.name)
  const missing = former.parts.filter(
    ({ name, sql }) => !known.has(sql) && !view?.parts.some((part) => part.name === name),
  )
  // The owner is restored first, because the others act with the rights of the owner.
  return missing.toReversed().map((part) => {
    const lost = `the view ${former.name} ${view ? 'has lost' : 'was dropped with'} the ${part.name.replace(/^grant /, 'grant of ')}`
    const help = view && fits(part, view) ? 'to restore it' : 'it was'
    return { view: former.name, sql: part.sql, message: `${lost}; ${help}: ${part.sql}` }
  })
}

async function readParts(session: Connection): Promise<readonly View[]> {
  const { rows } = await session.query({ text: PARTS, values: [] })
  return JSON.parse(rows[0]?.[0] ?? '[]') as readonly View[]
}
