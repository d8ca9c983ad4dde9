import { identifier } from '../../../fields/sql-literal.js'
import { bareName, tableSql } from '../../../fields/table-name.js'
import type { Connection } from '../../../db/database.js'
import { MigrationError } from '../../files/error.js'
import { splitStatements } from '../../files/statements.js'
import type { Step } from '../../files/steps.js'
import type { Catalog, CatalogColumn } from '../../introspect/catalog/catalog.js'
import { runAll } from '../../run/scratch.js'
import { attempt, rolledBack } from '../../run/session.js'
import { both, find, isRetyped } from '../compare/pair.js'
import type { GivenConversion } from '../steps/type-change.js'

interface Sides {
  /** The tables of the files after the steps `before`. */
  readonly from: Catalog
  readonly to: Catalog
  readonly before: readonly Step[]
}

/**
 * Checks the conversions that a person gives, in the schema of the files.
 * @throws MigrationError naming each conversion of a column whose type does not change, and each expression that PostgreSQL rejects
 */
export async function checkConversions(
  session: Connection,
  given: readonly GivenConversion[],
  { from, to, before }: Sides,
): Promise<void> {
  if (given.length === 0) return
  const retyped = both(from, to).flatMap(([old, now]) =>
    both(old.columns, now.columns)
      .filter(([was, is]) => isRetyped(was, is))
      .map(([was, is]) => ({ table: now.name, was, is })),
  )
  const errors = await rolledBack(session, async () => {
    await runAll(
      session,
      before.flatMap(({ up }) => up),
    )
    const found: (string | undefined)[] = []
    for (const each of given) {
      const change = retyped.find(({ table, is }) => table === each.table && is.name === each.column)
      found.push(change ? await errorOf(session, each, change) : unmatched(each, { to }, retyped.map(nameOf)))
    }
    return found.filter((error) => error !== undefined)
  })
  if (errors.length > 0) throw new MigrationError(errors)
}

interface Change {
  readonly table: string
  readonly was: CatalogColumn
  readonly is: CatalogColumn
}

function nameOf({ table, is }: Change): string {
  return `${table}.${is.name}`
}

function unmatched({ table, column }: GivenConversion, { to }: Pick<Sides, 'to'>, retyped: readonly string[]): string {
  const isThere = find(find(to, table)?.columns ?? [], column) !== undefined
  const known = retyped.length === 0 ? 'no column changes its type' : `these change their type: ${retyped.join(', ')}`
  const first = isThere
    ? `the type of ${table}.${column} does not change (${known})`
    : `there is no column ${table}.${column} (${known})`
  return `--using ${table}.${column}: ${first}${isThere ? '; to change values without changing the type, write a migration by hand' : ''}`
}

/** Runs both expressions on an empty copy of the table, without its constraints and indexes. */
async function errorOf(
  session: Connection,
  { table, column, using, reverse }: GivenConversion,
  { was, is }: Change,
): Promise<string | undefined> {
  const copy = `pg_temp.${identifier(bareName(table))}`
  const convert = (type: string, expression: string) =>
    `alter table ${copy} alter column ${identifier(column)} type ${type} using (${expression})`
  const tries = [
    ['--using', is.type, using],
    ['--reverse', was.type, reverse],
  ] as const
  return rolledBack(session, async () => {
    const name = identifier(bareName(table))
    await runAll(session, [`create temporary table ${name} (like ${tableSql(table)})`])
    for (const [option, type, expression] of tries) {
      if (expression === undefined) continue
      const sql = convert(type, expression)
      const error =
        splitStatements(sql).length === 1
          ? await attempt(session, () => runAll(session, [sql]))
          : { message: 'it is more than one expression' }
      if (error) return `${option} ${table}.${column}=${expression}: ${error.message}`
    }
    return undefined
  })
}
