import type { Connection, Database } from '../db/database.js'
import { openScratch } from '../db/open.js'
import { identifier } from '../fields/sql-literal.js'
import { type Catalog, type CatalogColumn, type CatalogTable, readCatalog } from './catalog.js'
import { definitionOf, remake } from './column-steps.js'
import { type Migration, type MigrationFolder, readMigrations } from './files.js'
import { both, extra, find } from './pair.js'
import { build, FROM, replay } from './scratch.js'
import { inDiscardedTransaction } from './session.js'

/** Something in which a database is not what its migrations made. */
export interface Drift {
  /** `books.tmp`: a column, constraint or index with its table. */
  readonly object: string
  readonly text: string
  /** What keeps all data and ends the drift: taking it over into the files, or a statement that puts back what is missing. */
  readonly repair: { readonly adopt: string } | { readonly sql: string }
}

/** A database and what its applied files make, on a scratch database. */
export interface Drifted {
  readonly files: Catalog
  readonly live: Catalog
}

/**
 * In what a database is not what the files of a directory made, all of which are applied.
 * @param scratch left out, one in memory
 */
export async function readDrift(
  database: Database,
  directory: MigrationFolder,
  scratch?: Database,
): Promise<readonly Drift[]> {
  return findDrift(await readBoth(database, await readMigrations(directory), scratch))
}

/**
 * Reads both sides.
 * @param applied the files that were applied
 * @param scratch left out, one in memory
 */
export async function readBoth(
  database: Connection,
  applied: readonly Migration[],
  scratch?: Database,
): Promise<Drifted> {
  const live = await readCatalog(database)
  if (scratch) return { files: await catalogOfFiles(scratch, applied), live }
  const own = await openScratch()
  try {
    return { files: await catalogOfFiles(own, applied), live }
  } finally {
    await own.close()
  }
}

function catalogOfFiles(scratch: Database, applied: readonly Migration[]): Promise<Catalog> {
  return inDiscardedTransaction(scratch, (session) => build(session, FROM, () => replay(session, applied)))
}

/** Every difference in the tables that the files make. Tables that they do not make are nobody's business here. */
export function findDrift({ files, live }: Drifted): readonly Drift[] {
  return files.flatMap((made) => {
    const there = find(live, made.name)
    return there ? driftOf(made, there) : [missing(made.name, 'table', makeTable(made))]
  })
}

function driftOf(made: CatalogTable, there: CatalogTable): readonly Drift[] {
  const table = made.name
  const named = (name: string) => `${table}.${name}`
  return [
    ...extra(there.columns, made.columns).map(({ name }) => added(named(name), 'column')),
    ...both(made.columns, there.columns).flatMap(([old, now]) => changed(named(now.name), old, now)),
    ...extra(made.columns, there.columns).map((column) =>
      missing(named(column.name), 'column', makeColumn(table, column)),
    ),
    ...extra(there.constraints, made.constraints).map(({ name }) => added(named(name), 'constraint')),
    ...extra(made.constraints, there.constraints).map(({ name, definition }) =>
      missing(
        named(name),
        'constraint',
        `alter table ${identifier(table)} add constraint ${identifier(name)} ${definition}`,
      ),
    ),
    ...extra(there.indexes, made.indexes).map(({ name }) => added(named(name), 'index')),
    ...extra(made.indexes, there.indexes).map(({ name, definition }) => missing(named(name), 'index', definition)),
  ]
}

function added(object: string, kind: string): Drift {
  return { object, text: `${kind} ${object} exists only in the database`, repair: { adopt: object } }
}

function missing(object: string, kind: string, sql: string): Drift {
  return { object, text: `${kind} ${object} is missing in the database`, repair: { sql } }
}

/** Servers of other versions spell expressions in other ways, so a default only counts as there or not. */
export function isChanged(old: CatalogColumn, now: CatalogColumn): boolean {
  const shape = (column: CatalogColumn) =>
    `${definitionOf({ ...column, default: null }, column.nullable)} ${column.default === null}`
  return shape(old) !== shape(now)
}

function changed(object: string, old: CatalogColumn, now: CatalogColumn): readonly Drift[] {
  if (!isChanged(old, now)) return []
  const [was, is] = [old, now].map((column) => definitionOf(column, column.nullable))
  return [
    { object, text: `column ${object} is ${is} in the database and ${was} in the files`, repair: { adopt: object } },
  ]
}

function makeColumn(table: string, column: CatalogColumn): string {
  const { before, definition, after } = remake(table, column, column.nullable)
  const add = `alter table ${identifier(table)} add column ${identifier(column.name)} ${definition}`
  return [...before, add, ...after].join('; ')
}

function makeTable({ name, columns }: CatalogTable): string {
  const made = columns.map((column) => ({ ...remake(name, column, column.nullable), column: column.name }))
  const list = made.map(({ column, definition }) => `${identifier(column)} ${definition}`)
  const create = `create table ${identifier(name)} (${list.join(', ')})`
  return [...made.flatMap(({ before }) => before), create, ...made.flatMap(({ after }) => after)].join('; ')
}
