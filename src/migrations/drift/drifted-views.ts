import type { Connection } from '../../db/database.js'
import { inDependencyOrder } from '../../foundation/dependency-order.js'
import { QUOTED } from '../files/statements.js'
import { both, find, has } from '../plan/compare/pair.js'
import { withReaders } from '../plan/steps/view-steps.js'
import { type CatalogView, createView, dropView, replaceView } from '../plan/views.js'
import { rolledBack, sqlState } from '../run/session.js'
import type { Drift } from './drifted-object.js'

/** The views that the files make, and the views of a database. */
export interface ViewSides {
  readonly files: readonly CatalogView[]
  readonly live: readonly CatalogView[]
}

/** The two queries of one view. */
type QueryPair = readonly [made: string, live: string]

/**
 * Spells the queries of a database as the files do.
 * @param findSame returns the pairs of queries that are the same
 */
export async function inSpellingOfFiles(
  { files, live }: ViewSides,
  findSame: (pairs: readonly QueryPair[]) => Promise<readonly QueryPair[]>,
): Promise<ViewSides> {
  const pairs = both(files, live).map(([made, there]): QueryPair => [made.query, there.query])
  const differing = pairs.filter(([made, there]) => made !== there)
  const same = differing.length === 0 ? [] : await findSame(differing)
  const isSame = (one: string, other: string) => same.some(([made, there]) => made === one && there === other)
  return {
    files,
    live: live.map((view) => {
      const made = find(files, view.name)
      return made && isSame(made.query, view.query) ? { ...view, query: made.query } : view
    }),
  }
}

/**
 * Finds the pairs of queries that are one query: versions of PostgreSQL print queries differently, so the scratch database parses both and prints them
 * again.
 * @param session a session in the schema of the files
 */
export async function findSameQueries(session: Connection, pairs: readonly QueryPair[]): Promise<readonly QueryPair[]> {
  const same: QueryPair[] = []
  for (const pair of pairs) {
    const [made, live] = pair
    if ((await printAgain(session, made)) === (await printAgain(session, live))) same.push(pair)
  }
  return same
}

const SPECIMEN = 'pg_temp."snippetctl view"'

/** A query that this database cannot parse stays as it is. */
async function printAgain(session: Connection, query: string): Promise<string> {
  try {
    return await rolledBack(session, async () => {
      await session.query({ text: `create view ${SPECIMEN} as\n${query}`, values: [] })
      const { rows } = await session.query({ text: `select pg_get_viewdef('${SPECIMEN}'::regclass)`, values: [] })
      return rows[0]?.[0] ?? query
    })
  } catch (error) {
    if (sqlState(error) === undefined) throw error
    return query
  }
}

/**
 * Finds the views of the files that a database lacks, or has with another query or other options.
 * @param isRetyped whether a table has a column with another type. Queries that read it print differently, so they are compared once the types match.
 */
export function findViewDrift({ files, live }: ViewSides, isRetyped: (table: string) => boolean): readonly Drift[] {
  const ordered = inDependencyOrder(files, ({ reads }) => files.filter(({ name }) => reads.includes(name)))
  return ordered.flatMap((made): readonly Drift[] => {
    const object = made.name
    const there = find(live, object)
    if (!there) {
      const text = `view ${object} is missing in the database`
      return [{ object, text, repair: { sql: makeView(made) } }]
    }
    const [was, is] = [describe(made), describe(there)]
    if (was === is || made.reads.some(isRetyped)) return []
    const text = `view ${object} is ${is} in the database and ${was} in the files`
    const readers = withReaders([made], files)
    const around = ordered.filter((view) => view !== made && readers.includes(view) && has(live, view.name))
    return [{ object, text, repair: { sql: restore([made, ...around], there) } }]
  })
}

function describe({ options, query }: CatalogView): string {
  return onOneLine(`${options.length === 0 ? '' : `with (${options.toSorted().join(', ')}) `}${query}`)
}

function makeView(view: CatalogView): string {
  return [createView(view), ...view.parts.map(({ sql }) => sql)].map(onOneLine).join('; ')
}

/**
 * PostgreSQL replaces a view only by one with the same columns, and possibly more after them.
 * @param views the view, and those that read it, in the order in which they can be created
 */
function restore(views: readonly [made: CatalogView, ...readers: CatalogView[]], there: CatalogView): string {
  const [made] = views
  if (there.columns.every((column, place) => column === made.columns[place])) return onOneLine(replaceView(made))
  return [...views.toReversed().map(dropView), ...views.map(makeView)].join('; ')
}

const QUOTED_OR_SPACE = new RegExp(String.raw`${QUOTED}|\s+`, 'g')

function onOneLine(sql: string): string {
  return sql.replaceAll(QUOTED_OR_SPACE, (part) => (/^\s/.test(part) ? ' ' : part))
}
