import type { Connection } from '../../db/database.js'
import { bareName, formattedTable, tableSql } from '../../fields/table-name.js'
import { type FileStatement, NAME, unquoted } from '../files/statements.js'
import { fits, HELD, HELD_BY_DEFAULT, IS_UPDATABLE, VIEW_PARTS, type ViewPart, type ViewState } from './view-parts.js'

/**
 * A grant, an option or another part that a view lost because it was dropped or replaced, or a privilege that default privileges gave to the new view and
 * the former one did not have.
 */
export interface LostViewPart {
  /** The name of the view. */
  readonly view: string
  /** The statement that restores the former state. */
  readonly sql: string
  /** A sentence with the statement. */
  readonly message: string
}

interface View extends Pick<ViewState, 'columns' | 'parts' | 'updatable'> {
  readonly oid: string
  readonly name: string
  /** The privileges that others than the owner have for it, including those by default. */
  readonly held: readonly string[]
  readonly heldByDefault: readonly string[]
  readonly owner: string
}

const OPTION = 'option '

/** SQL: the options of a view `c`, as parts. */
const OPTIONS = `(
  select coalesce(jsonb_agg(jsonb_build_object(
    'name', '${OPTION}' || split_part(o, '=', 1), 'columns', '[]'::jsonb, 'privileges', '[]'::jsonb, 'sql', format('alter view %s set (%s)', c.oid::regclass, o)
  )), '[]')
  from unnest(c.reloptions) o
)`

const PARTS = `
  select coalesce(jsonb_agg(jsonb_build_object(
    'oid', c.oid::text,
    'name', ${formattedTable('c', 'n')},
    'columns', (select coalesce(jsonb_agg(quote_ident(attname) || ' '), '[]') from pg_attribute where attrelid = c.oid and attnum > 0),
    'parts', ${VIEW_PARTS} || ${OPTIONS},
    'held', ${HELD},
    'heldByDefault', ${HELD_BY_DEFAULT},
    'owner', quote_ident(pg_get_userbyid(c.relowner)),
    'updatable', ${IS_UPDATABLE}
  ) order by c.relname), '[]')::text
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = current_schema() and c.relkind = 'v'`

/**
 * Runs a part of a migration, and finds the parts of views that it loses because it drops the views and creates them again, under the same name or another,
 * or replaces them, which resets their options.
 * They are not restored, because the new view can have another owner, and a grant or a rule acts with the rights of the owner.
 * @param reverse the statements of the other direction; they contain the parts that the files know
 */
export async function lostViewParts(
  session: Connection,
  statements: readonly FileStatement[],
  reverse: readonly FileStatement[],
  work: () => Promise<void>,
): Promise<readonly LostViewPart[]> {
  // Statements can drop a view without its name: `drop table … cascade`.
  const changes = statements.some(({ text }) => /^(?:create|drop)\b[^(]*\bview\b/i.test(text))
  const replaces = statements.some(({ text }) => /^create\s+or\s+replace\s+(?:recursive\s+)?view\b/i.test(text))
  const before = changes ? await readParts(session) : []
  await work()
  const after = changes ? await readParts(session) : []
  const made = after.filter(({ oid }) => !before.some((view) => view.oid === oid))
  return before.flatMap((former) => {
    const kept = after.find(({ oid }) => oid === former.oid)
    const parts = former.parts.filter((part) => !isKnown(part, former, reverse))
    if (kept) return replaces ? missingParts({ ...former, parts: parts.filter(isOption) }, kept) : []
    if (made.length === 0) return []
    const view = made.find(({ name }) => name === former.name)
    return [...missingParts({ ...former, parts }, view), ...(view ? addedPrivileges(former, view) : [])]
  })
}

function isOption({ name }: ViewPart): boolean {
  return name.startsWith(OPTION)
}

/** Whether statements create a part, or its view with an option. */
function isKnown(part: ViewPart, { name }: View, statements: readonly FileStatement[]): boolean {
  const isSame = (option: string) => part.sql.toLowerCase().endsWith(` (${option})`)
  return statements.some(({ text }) => text === part.sql || (isOption(part) && optionsIn(text, name).some(isSame)))
}

const WITH_OPTIONS = new RegExp(
  `^create\\s+(?:or\\s+replace\\s+)?(?:recursive\\s+)?view\\s+(?:${NAME}\\.)?(?<view>${NAME})\\s*(?:\\([^()]*\\)\\s*)?with\\s*\\((?<options>[^()]*)\\)`,
  'iu',
)

/** The options with which a statement creates a view, as PostgreSQL stores them: `security_barrier=true`. */
function optionsIn(statement: string, name: string): readonly string[] {
  const { view = '', options = '' } = WITH_OPTIONS.exec(statement)?.groups ?? {}
  if (unquoted(view) !== bareName(name)) return []
  const spelt = options.split(',').map((option) => option.toLowerCase().replaceAll(/[\s'"]/g, ''))
  return spelt.map((option) => (option.includes('=') ? option : `${option}=true`))
}

function missingParts(former: View, view: View | undefined): readonly LostViewPart[] {
  return former.parts
    .filter((part) => !view || !hasPart(view, part))
    .toSorted((a, b) => placeOf(a) - placeOf(b))
    .map((part) => ({ view: former.name, sql: part.sql, message: `${lossOf(part, former, view)}: ${part.sql}` }))
}

function hasPart({ parts, held }: View, { sql, privileges }: ViewPart): boolean {
  if (privileges.length === 0) return parts.some((part) => part.sql === sql)
  return privileges.every((each) => held.includes(each))
}

/**
 * The privileges that the former view did not have, perhaps because they were revoked, and that the new one has by default privileges. The former owner
 * is left out: it had all of them.
 */
function addedPrivileges(former: View, view: View): readonly LostViewPart[] {
  const [had, has] = [former, view].map(({ held }) => held.map((each) => each.replace(/ with grant option$/, '')))
  const byRole = new Map<string, readonly string[]>()
  for (const each of view.heldByDefault) {
    if (had?.includes(each) || !has?.includes(each)) continue
    const [privilege, role] = [each.slice(0, each.indexOf(' to ')), each.slice(each.indexOf(' to ') + ' to '.length)]
    if (role !== former.owner) byRole.set(role, [...(byRole.get(role) ?? []), privilege])
  }
  return [...byRole].map(([role, privileges]) => {
    const added = privileges.join(', ')
    const sql = `revoke ${added} on ${tableSql(view.name)} from ${role}`
    const message = `the view ${view.name} has the grant of ${added} to ${role} again, by default privileges; to revoke it: ${sql}`
    return { view: view.name, sql, message }
  })
}

/** The owner is restored first, because the others act with the rights of the owner; then the options, before grants let others in. */
function placeOf(part: ViewPart): number {
  return part.name.startsWith('owner ') ? 0 : isOption(part) ? 1 : 2
}

function lossOf(part: ViewPart, former: View, view: View | undefined): string {
  const name = part.name.replace(/^grant /, 'grant of ')
  if (!view) return `the view ${former.name} was dropped with the ${name}; it was`
  if (view.parts.some((each) => each.name === part.name)) return `the view ${former.name} has another ${name}; it was`
  const fitting = fits(part, view) && (view.updatable || part.name !== `${OPTION}check_option`)
  return `the view ${former.name} has lost the ${name}; ${fitting ? 'to restore it' : 'it was'}`
}

async function readParts(session: Connection): Promise<readonly View[]> {
  const { rows } = await session.query({ text: PARTS, values: [] })
  return JSON.parse(rows[0]?.[0] ?? '[]') as readonly View[]
}
