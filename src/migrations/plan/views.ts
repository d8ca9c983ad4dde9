import { inDependencyOrder } from '../../foundation/dependency-order.js'
import type { AppSpec, ModelSpec } from '../../config/spec.js'
import type { Connection } from '../../db/database.js'
import { formattedTable, tableSql } from '../../fields/table-name.js'
import { MigrationError } from '../files/error.js'
import { splitStatements } from '../files/statements.js'
import { attempt, type ServerError } from '../run/session.js'
import { IS_UPDATABLE, VIEW_PARTS, type ViewState } from './view-parts.js'

/** A view as resources.yaml describes it. */
export interface WantedView {
  readonly name: string
  /** The name in resources.yaml. */
  readonly model: string
  /** SQL, without a semicolon at the end. */
  readonly query: string
}

/** A view as the catalogue of PostgreSQL describes it. */
export interface CatalogView extends ViewState {
  readonly name: string
  /** The query as PostgreSQL prints it, with names without the schema. */
  readonly query: string
  /** The tables and views that it reads. */
  readonly reads: readonly string[]
}

/** The views of a configuration, each after the views that it names, except where they name each other. */
export function wantedViews({ models }: Pick<AppSpec, 'models'>): readonly WantedView[] {
  const views = models.flatMap(wantedView)
  return inDependencyOrder(views, ({ query }) => views.filter(({ name }) => isNamedIn(name, query)))
}

function wantedView({ name: model, table: name, view: query }: ModelSpec): readonly WantedView[] {
  if (query === undefined) return []
  const [statement, ...others] = splitStatements(query)
  // Without a comment at the end, which would hide the semicolon in a file.
  return [{ name, model, query: statement && others.length === 0 ? statement.text : query }]
}

/** Whether a query may read a relation. After a false positive, `createViews` tries the view again. */
function isNamedIn(name: string, query: string): boolean {
  const word = name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  return new RegExp(String.raw`(?<![\w$])${word}(?![\w$])`, 'i').test(query)
}

/** A view to create. */
interface MadeView extends Pick<WantedView, 'name' | 'query'> {
  /** `security_invoker=true`; none by default. */
  readonly options?: readonly string[]
}

/** SQL that creates a view. */
export function createView(view: MadeView): string {
  return `create ${definitionOf(view)}`
}

/** SQL that changes the query and the options of a view, and keeps its columns. */
export function replaceView(view: MadeView): string {
  return `create or replace ${definitionOf(view)}`
}

function definitionOf({ name, query, options = [] }: MadeView): string {
  const list = options.length === 0 ? '' : ` with (${options.join(', ')})`
  return `view ${tableSql(name)}${list} as\n${query}`
}

/** SQL that drops a view. */
export function dropView({ name }: Pick<WantedView, 'name'>): string {
  return `drop view ${tableSql(name)}`
}

/**
 * Creates the views of a configuration in the schema of a session. Views that fail are tried again after the others, because they may read them.
 * @throws MigrationError with the model and the message of PostgreSQL for a query that does not fit the tables
 */
export async function createViews(session: Connection, views: readonly WantedView[]): Promise<void> {
  for (const { model, query } of views) {
    if (splitStatements(query).length !== 1)
      throw new MigrationError([`the view of the model \`${model}\` must be one query, without a semicolon within`])
  }
  for (let left = views; left.length > 0; ) {
    const failed: Failed[] = []
    for (const view of left) {
      const error = await attempt(session, () => session.query({ text: createView(view), values: [] }))
      if (error) failed.push({ view, error })
    }
    const [first] = failed
    if (first && failed.length === left.length) throw rejected(first)
    left = failed.map(({ view }) => view)
  }
}

interface Failed {
  readonly view: WantedView
  readonly error: ServerError
}

function rejected({ view, error }: Failed): MigrationError {
  const { message, hint } = error
  return new MigrationError(
    [`PostgreSQL rejects the view of the model \`${view.model}\`: ${message}`],
    hint ? [hint] : [],
    error,
  )
}

const SCHEMA = 'coalesce($1, current_schema())'

const VIEWS = `
  select coalesce(jsonb_agg(jsonb_build_object(
    'name', ${formattedTable('c', 'n', SCHEMA)},
    'query', rtrim(trim(pg_get_viewdef(c.oid)), ';'),
    'columns', (
      select jsonb_agg(concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod)) order by a.attnum)
      from pg_attribute a where a.attrelid = c.oid and a.attnum > 0
    ),
    'reads', (
      select coalesce(jsonb_agg(distinct ${formattedTable('o', 'm', SCHEMA)}), '[]')
      from pg_rewrite r
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
      join pg_class o on o.oid = d.refobjid and o.oid <> c.oid
      join pg_namespace m on m.oid = o.relnamespace
      where r.ev_class = c.oid
    ),
    'options', coalesce(to_jsonb(c.reloptions), '[]'),
    'parts', ${VIEW_PARTS},
    'updatable', ${IS_UPDATABLE}
  ) order by c.relname), '[]')::text
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = ${SCHEMA} and c.relkind = 'v'
    and not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')`

/** The views of a schema, which must be the session's search path; by default of the current one. */
export async function readViews(session: Connection, schema: string | null = null): Promise<readonly CatalogView[]> {
  const { rows } = await session.query({ text: VIEWS, values: [schema], name: `views of ${schema}` })
  return JSON.parse(rows[0]?.[0] ?? '[]') as readonly CatalogView[]
}
