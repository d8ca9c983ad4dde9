import { isDeepStrictEqual } from 'node:util'
import { tableSql } from '../../fields/table-name.js'
import type { Connection, Database } from '../../db/database.js'
import { openScratch } from '../../db/open.js'
import { identifier } from '../../fields/sql-literal.js'
import {
  type Catalog,
  type CatalogColumn,
  type CatalogConstraint,
  type CatalogIndex,
  type CatalogTable,
  ON_ONLY,
  readLiveCatalog,
} from '../introspect/catalog/catalog.js'
import { addConstraint } from '../plan/sql.js'
import { definitionOf, remake } from '../plan/steps/column-steps.js'
import { type Migration, type MigrationFolder, readMigrations } from '../files/files.js'
import { knownObjects } from '../files/known.js'
import { both, extra, find, usesOf } from '../plan/compare/pair.js'
import { inputsOfFiles } from '../run/recall.js'
import { inScratch, replayWhenUsed } from '../run/scratch.js'
import { readViews } from '../plan/views.js'
import { findEnumDrift } from './drifted-enums.js'
import type { Drift } from './drifted-object.js'
import { findSameQueries, findViewDrift, inSpellingOfFiles, type ViewSides } from './drifted-views.js'
import { normaliseSql } from '../plan/compare/normalise-sql.js'

/** The catalogue of a database, and the catalogue of its applied files in a scratch database. */
export interface Drifted {
  readonly files: Catalog
  readonly live: Catalog
  readonly views: ViewSides
  /** The foreign objects that the files list as known. */
  readonly known: readonly string[]
}

/**
 * Finds the differences between a database and the files of a folder, all of which are applied.
 * @param scratch by default a new embedded database
 */
export async function readDrift(
  database: Database,
  directory: MigrationFolder,
  scratch?: Database,
): Promise<readonly Drift[]> {
  return findDrift(await readBoth(database, await readMigrations(directory), scratch))
}

/**
 * Reads both catalogues.
 * @param applied the applied files
 * @param scratch by default a new embedded database
 */
export async function readBoth(
  database: Connection,
  applied: readonly Migration[],
  scratch?: Database,
): Promise<Drifted> {
  if (scratch) return inOneSpelling(database, applied, scratch)
  const own = await openScratch()
  try {
    return await inOneSpelling(database, applied, own)
  } finally {
    await own.close()
  }
}

/** PostgreSQL versions print expressions differently, so the scratch database normalises the expressions of both sides. */
async function inOneSpelling(database: Connection, applied: readonly Migration[], scratch: Database): Promise<Drifted> {
  const live = await readLiveCatalog(database)
  return inScratch(scratch, applied, async (own, recall) => {
    const { session, made } = await replayWhenUsed(own, recall, applied)
    const tables = both(made.tables, live)
    const differing = tables.filter((sides) => !isDeepStrictEqual(...sides)).map(([, there]) => there)
    const inputs = inputsOfFiles(applied)
    const printed = await recall(inputs && ['spelling', inputs, differing], () => normaliseSql(session, differing))
    const views = { files: made.views, live: made.views.length === 0 ? [] : await readViews(database) }
    return {
      files: made.tables,
      live: tables.map(([, there]) => find(printed, there.name) ?? there),
      views: await inSpellingOfFiles(views, (pairs) =>
        recall(inputs && ['queries', inputs, pairs], () => findSameQueries(session, pairs)),
      ),
      known: knownObjects(applied),
    }
  })
}

/**
 * Finds every difference in the tables and views of the files. Other tables and known foreign objects are not compared.
 */
export function findDrift({ files, live, views, known }: Drifted): readonly Drift[] {
  const isRetyped = (name: string) =>
    both(find(files, name)?.columns ?? [], find(live, name)?.columns ?? []).some(hasOtherType)
  const all = files.flatMap((made) => {
    const there = find(live, made.name)
    return there ? driftOf(made, there) : [missing(made.name, 'table', makeTable(made))]
  })
  return [...all, ...findEnumDrift(files, live), ...findViewDrift(views, isRetyped)].filter(
    ({ object, repair }) => !('adopt' in repair && known.includes(object)),
  )
}

function hasOtherType([made, there]: readonly [CatalogColumn, CatalogColumn]): boolean {
  return made.type !== there.type
}

function driftOf(made: CatalogTable, there: CatalogTable): readonly Drift[] {
  const table = made.name
  const named = (name: string) => `${table}.${name}`
  const isRetyped = (column: string) => find(made.columns, column)?.type !== find(there.columns, column)?.type
  const invalid = both(made.indexes, there.indexes).filter(([old, now]) => old.valid && !now.valid)
  const wereValid = invalid.map(([old]) => old)
  // Expressions on a column with a different type print differently, so they are compared once the types match.
  const restatedParts = <One extends CatalogConstraint | CatalogIndex>(
    were: readonly One[],
    are: readonly One[],
    kind: string,
  ) =>
    both(were, are)
      .filter(([, now]) => !usesOf(now).some(isRetyped))
      .flatMap(([old, now]) => restated(named(now.name), kind, old, now))
  return [
    ...extra(there.columns, made.columns).map(({ name }) => added(named(name), 'column')),
    ...both(made.columns, there.columns).flatMap(([old, now]) => changed(named(now.name), old, now)),
    ...extra(made.columns, there.columns).map((column) =>
      missing(named(column.name), 'column', makeColumn(table, column)),
    ),
    ...extra(there.constraints, made.constraints).map(({ name }) => added(named(name), 'constraint')),
    ...extra(made.constraints, there.constraints).map(({ name, definition }) =>
      missing(named(name), 'constraint', addConstraint(table, { name, definition })),
    ),
    ...restatedParts(made.constraints, there.constraints, 'constraint'),
    ...both(made.constraints, there.constraints)
      .filter(([old, now]) => old.definition === now.definition && old.validated && !now.validated)
      .map(([old]) => incompleteKey(table, old)),
    ...restatedParts(extra(made.indexes, wereValid), there.indexes, 'index'),
    ...invalid.map(([old, now]) => notValid(named(old.name), old, now)),
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

function notValid(object: string, { name, definition }: CatalogIndex, now: CatalogIndex): Drift {
  const index = identifier(name)
  if (new RegExp(ON_ONLY).test(now.definition)) {
    const text = `index ${object} is incomplete in the database: partitions lack it`
    return { object, text, repair: { sql: `drop index ${index}; ${definition}` } }
  }
  const text = `index ${object} is not valid in the database: building it failed, or has not ended`
  return { object, text, repair: { sql: `reindex index concurrently ${index}` } }
}

function incompleteKey(table: string, key: CatalogConstraint): Drift {
  const object = `${table}.${key.name}`
  const text = `constraint ${object} is incomplete in the database: partitions lack it`
  const drop = `alter table ${tableSql(table)} drop constraint ${identifier(key.name)}`
  return { object, text, repair: { sql: `${drop}; ${addConstraint(table, key)}` } }
}

function changed(object: string, old: CatalogColumn, now: CatalogColumn): readonly Drift[] {
  const partOf = (column: CatalogColumn): Defined => ({ definition: definitionOf(column, column.nullable) })
  return restated(object, 'column', partOf(old), partOf(now))
}

interface Defined {
  readonly definition: string
}

function restated(object: string, kind: string, was: Defined, is: Defined): readonly Drift[] {
  if (was.definition === is.definition) return []
  const text = `${kind} ${object} is ${is.definition} in the database and ${was.definition} in the files`
  return [{ object, text, repair: { adopt: object } }]
}

function makeColumn(table: string, column: CatalogColumn): string {
  const { before, definition, after } = remake(table, column, column.nullable)
  const add = `alter table ${tableSql(table)} add column ${identifier(column.name)} ${definition}`
  return [...before, add, ...after].join('; ')
}

function makeTable({ name, columns }: CatalogTable): string {
  const made = columns.map((column) => ({ ...remake(name, column, column.nullable), column: column.name }))
  const list = made.map(({ column, definition }) => `${identifier(column)} ${definition}`)
  const create = `create table ${tableSql(name)} (${list.join(', ')})`
  return [...made.flatMap(({ before }) => before), create, ...made.flatMap(({ after }) => after)].join('; ')
}
