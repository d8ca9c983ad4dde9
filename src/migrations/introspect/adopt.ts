import { inSchemaOf, tableSql } from '../../fields/table-name.js'
import { rm } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { AppSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import { openScratch } from '../../db/open.js'
import { identifier } from '../../fields/sql-literal.js'
import type { CatalogColumn, CatalogTable } from './catalog/catalog.js'
import { changeDefault, changeNullable, changeType, remake } from '../plan/steps/column-steps.js'
import { type Drifted, findDrift, readBoth } from '../drift/drift.js'
import { MigrationError } from '../files/error.js'
import {
  digitsOf,
  type Migration,
  type MigrationFolder,
  nextNumber,
  parseMigration,
  readMigrations,
} from '../files/files.js'
import { partsOf } from '../files/steps.js'
import { writeNext } from '../files/write-next.js'
import { rejectUnlessAllApplied } from '../files/journal.js'
import { renderStatement } from '../files/render.js'
import { find } from '../plan/compare/pair.js'
import { recordMigration } from '../run/run.js'
import { catalogOf, FROM, onReplayed } from '../run/scratch.js'
import { runStatements, sqlState } from '../run/session.js'
import { addConstraint } from '../plan/sql.js'
import { isRepresentable } from './catalog/representable.js'
import { adoptionWithoutField, filesBefore, hasText } from './interrupted-adoption.js'
import { rejectIfUndone } from './undone.js'

/** The result of an adoption. */
export interface Adopted {
  /** The path of the migration. */
  readonly file: string
  /** The column, if no field describes it yet. */
  readonly column: (CatalogColumn & { readonly table: string }) | undefined
  /** The reason why the migration only names the object as known; undefined if it creates the object. */
  readonly known: string | undefined
  /** Whether an earlier adoption, which was killed, had written the migration already. */
  readonly resumed: boolean
}

/** The request to adopt an object. */
interface AdoptionRequest {
  /** The configuration, whose next plan must not undo the adoption. If left out, only the files are compared. */
  readonly spec?: AppSpec
  /** `books.tmp`: a column, constraint or index with its table. */
  readonly object: string
  /** An empty database to run the files in; by default a new one. */
  readonly scratch?: Database | undefined
}

/** The two parts of a file. */
interface Parts {
  readonly up: readonly string[]
  /** Undefined if the file cannot be reverted. */
  readonly down: readonly string[] | undefined
}

/**
 * Adopts an object that exists only in the database: writes a migration and records it as applied. The migration creates the object if the
 * scratch database can create it too, and reverting it needs the object's name. Otherwise the migration only names the object as known, and
 * the object is ignored from then on. Only the journal changes in the database.
 * @throws MigrationError if the object is not drift, if migrations are pending, or if the next plan would undo the adoption
 */
export async function adoptDrift(
  database: Database,
  directory: MigrationFolder,
  { scratch, ...request }: AdoptionRequest,
): Promise<Adopted> {
  const own = scratch ?? (await openScratch())
  try {
    return await adopt(database, directory, { ...request, scratch: own })
  } finally {
    if (!scratch) await own.close()
  }
}

async function adopt(
  database: Database,
  directory: MigrationFolder,
  { spec, object, scratch }: AdoptionRequest & { readonly scratch: Database },
): Promise<Adopted> {
  const all = await readMigrations(directory)
  const { files, unrecorded } = await filesBefore(database, all, object)
  const sides = await readBoth(database, files, scratch)
  const drift = findDrift(sides).find((each) => each.object === object)
  if (!drift || !('adopt' in drift.repair) || /[\r\n]/.test(object)) {
    if (unrecorded) await rejectUnlessAllApplied(database, all)
    const earlier = spec && adoptionWithoutField(files, { spec, object })
    const column = earlier && describableColumn(sides, object)
    if (column) return { file: earlier.file, column, known: undefined, resumed: true }
    throw new MigrationError([`${object} does not exist only in the database`], helpFor(sides))
  }
  const parts = fileParts(sides, object)
  const known = await reasonAgainst({ sides, object, files, scratch, text: textOf(object, parts) })
  const text = known === undefined ? textOf(object, parts) : knownText(object, known, parts)
  const column = known === undefined ? newColumn(sides, object) : undefined
  // A field is written for a new column afterwards; before that, the configuration cannot describe it.
  if (spec && known === undefined && !column)
    await rejectIfUndone({ spec, scratch, files, object, text, down: parts.down, column: changedColumn(sides, object) })
  const name = `adopt_${object.toLowerCase().replaceAll(/[^a-z0-9_]+/g, '_')}`
  if (unrecorded) {
    if (!hasText(unrecorded, text)) await rejectUnlessAllApplied(database, all)
    await recordMigration(database, directory, unrecorded.name)
    return { file: unrecorded.file, column, known, resumed: true }
  }
  const file = await writeNext(directory, name, text)
  try {
    await recordMigration(database, directory, `${digitsOf(nextNumber(files))}_${name}`)
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
  return { file, column, known, resumed: false }
}

function textOf(object: string, { up, down }: Parts): string {
  const part = (statements: readonly string[]) => statements.map(renderStatement).join('\n')
  return `-- adopted: ${object}\n-- up\n\n${part(up)}${down === undefined ? '' : `\n-- down\n\n${part(down)}`}`
}

/** A file without statements. Its comments tell readers what the database contains. */
function knownText(object: string, reason: string, { up }: Parts): string {
  const comments = [
    `Another program created it, and an empty database cannot: ${reason}`,
    'Migrations do not create, compare or drop it. In the database it is:',
    ...up,
  ].flatMap((text) => text.split(/\r?\n/))
  return `-- known: ${object}\n${comments.map((line) => `--   ${line}\n`).join('')}-- up\n\n-- down\n`
}

interface Claim {
  readonly sides: Drifted
  readonly object: string
  readonly files: readonly Migration[]
  readonly scratch: Database
  readonly text: string
}

/** Runs the text up and down in the scratch database. Returns the reason if that does not create the object, else undefined. */
function reasonAgainst({ sides, object, files, scratch, text }: Claim): Promise<string | undefined> {
  return onReplayed(scratch, files, async (session, made) => {
    const migration = parseMigration('adopted', 'the migration', Buffer.from(text))
    if ('errors' in migration) return migration.errors.join('; ')
    try {
      await runStatements(session, migration.file, migration.up)
      const up = await catalogOf(session, FROM)
      if (!isMade({ ...sides, files: up }, object)) return 'a migration cannot describe it'
      if (migration.down === undefined) return undefined
      await runStatements(session, migration.file, migration.down)
      return isDeepStrictEqual(await catalogOf(session, FROM), made) ? undefined : 'it cannot be reverted'
    } catch (error) {
      if (!(error instanceof MigrationError) || sqlState(error) === undefined) throw error
      return (error.cause as Error).message
    }
  })
}

/** Whether the files now make the object as the database has it. */
function isMade(sides: Drifted, object: string): boolean {
  return !findDrift(sides).some((each) => each.object === object)
}

function helpFor(sides: Drifted): readonly string[] {
  const names = findDrift(sides).flatMap(({ repair }) => ('adopt' in repair ? [repair.adopt] : []))
  return [names.length > 0 ? `There is: ${names.join(', ')}` : 'There is nothing to adopt']
}

interface DriftedObject {
  readonly made: CatalogTable
  readonly there: CatalogTable
  /** The name within the table. */
  readonly name: string
}

function locate({ files, live }: Drifted, object: string): DriftedObject {
  const [table, name = ''] = partsOf(object)
  const [made, there] = [find(files, table), find(live, table)]
  if (!made || !there) throw new Error(`a drift without its table: ${object}`)
  return { made, there, name }
}

/** The column, if it is new and plans expect a field for it. They leave columns alone that no field can describe. */
function newColumn(sides: Drifted, object: string): Adopted['column'] {
  const { made, name } = locate(sides, object)
  const old = find(made.columns, name)
  return old && isRepresentable(old) ? undefined : describableColumn(sides, object)
}

/** The column, if a field can describe it. */
function describableColumn(sides: Drifted, object: string): Adopted['column'] {
  const [table, name = ''] = partsOf(object)
  const column = find(find(sides.live, table)?.columns ?? [], name)
  return column && isRepresentable(column) && column.identity === null ? { ...column, table } : undefined
}

function changedColumn(sides: Drifted, object: string) {
  const { made, there, name } = locate(sides, object)
  const [old, now] = [find(made.columns, name), find(there.columns, name)]
  return old && now ? { table: made.name, old, now } : undefined
}

function fileParts(sides: Drifted, object: string): Parts {
  const { made, there, name } = locate(sides, object)
  const table = tableSql(made.name)
  const [old, now] = [find(made.columns, name), find(there.columns, name)]
  if (old && now) return changeOf(made.name, old, now)
  // It exists already in a database where somebody created it by hand.
  if (now) {
    const { before, definition, after } = remake(made.name, now, now.nullable)
    return {
      up: [...before, `alter table ${table} add column if not exists ${identifier(name)} ${definition}`, ...after],
      down: [`alter table ${table} drop column ${identifier(name)}`],
    }
  }
  const constraints = [made, there].map((side) => find(side.constraints, name))
  if (constraints[1]) {
    const [was, is = ''] = constraints.map((each) => each && addConstraint(made.name, each))
    return remade(`alter table ${table} drop constraint ${identifier(name)}`, was, is)
  }
  const [was, is = ''] = [made, there].map((side) => find(side.indexes, name)?.definition)
  return remade(`drop index ${inSchemaOf(made.name, name)}`, was, is)
}

/** The statements that create the object, after dropping the object that had its name. */
function remade(drop: string, old: string | undefined, now: string): Parts {
  return old === undefined ? { up: [now], down: [drop] } : { up: [drop, now], down: [drop, old] }
}

function changeOf(table: string, old: CatalogColumn, now: CatalogColumn): Parts {
  const relation = tableSql(table)
  if (old.generated !== now.generated) return { up: expressionOf(table, old, now), down: undefined }
  const retyped = old.type !== now.type || old.collation !== now.collation
  const steps = [
    ...(retyped ? [changeType({ table, from: old, to: now, relation, columns: [], given: undefined })] : []),
    ...(retyped || old.default === now.default ? [] : [changeDefault(table, old, now)]),
    ...(old.nullable === now.nullable ? [] : [changeNullable(table, { from: old, to: now, relation, fills: false })]),
  ]
  return { up: steps.flatMap(({ up }) => up), down: steps.toReversed().flatMap(({ down }) => down) }
}

/** The statements that make a computed column plain, make a plain column computed, or change the expression of a computed column. */
function expressionOf(table: string, old: CatalogColumn, now: CatalogColumn): readonly string[] {
  const [relation, column] = [tableSql(table), identifier(now.name)]
  if (now.generated === null) {
    const plain = changeOf(table, { ...old, generated: null }, now).up
    return [`alter table ${relation} alter column ${column} drop expression`, ...plain]
  }
  const { before, definition, after } = remake(table, now, now.nullable)
  return [
    `alter table ${relation} drop column ${identifier(old.name)}`,
    ...before,
    `alter table ${relation} add column ${column} ${definition}`,
    ...after,
  ]
}
