import type { AppSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import type { CatalogColumn } from './catalog/catalog.js'
import { changeDefault, changeNullable, changeType } from '../plan/steps/column-steps.js'
import { MigrationError } from '../files/error.js'
import { type Migration, parseMigration } from '../files/files.js'
import type { Comparison } from '../plan/compare/compare.js'
import { compareOnly } from '../plan/generate.js'
import { readDefault } from './catalog/constraint-parser.js'
import { fieldChanges } from './choose/declare-field.js'
import type { Step } from '../files/steps.js'
import { wantedTables } from '../plan/sql.js'

/** A column that an adoption changes: as the files have it, and as the database has it. */
interface ChangedColumn {
  readonly table: string
  readonly old: CatalogColumn
  readonly now: CatalogColumn
}

/** A migration that adopts an object, before it is written. */
export interface Adoption {
  readonly spec: AppSpec
  readonly scratch: Database
  readonly files: readonly Migration[]
  readonly object: string
  /** The text of the migration. */
  readonly text: string
  /** The statements that restore the object as it is in the files; undefined if the migration has none. */
  readonly down: readonly string[] | undefined
  /** The column before and after; undefined for constraints and indexes. */
  readonly column: ChangedColumn | undefined
}

/** The parts of an adoption that the next plan would undo. */
interface Undone {
  /** Short descriptions of the plan's changes. */
  readonly undoing: readonly string[]
  /** The settings to write before adopting; empty if no setting helps. */
  readonly help: readonly string[]
}

/**
 * Rejects an adoption that the next plan would undo because it contradicts the configuration.
 * @throws MigrationError that names the settings to write first
 */
export async function rejectIfUndone(adoption: Adoption): Promise<void> {
  const { spec, scratch, files, object, text, column } = adoption
  const migration = parseMigration('adopted', 'the migration', Buffer.from(text))
  if ('errors' in migration) throw new MigrationError(migration.errors)
  const after = await compareOnly(spec, [...files, migration], scratch)
  const { undoing, help } = column ? undoneInColumn(spec, column, after) : await undonePart(adoption, after)
  if (undoing.length === 0) return
  throw new MigrationError(
    [
      `the configuration does not describe ${object} as the database has it, so the next plan would undo it: ${undoing.join('; ')}`,
    ],
    [...help, ...(adoption.down ? [`Or put it back as the files have it: ${adoption.down.join('; ')}`] : [])],
  )
}

/**
 * A plan for the object itself undoes a constraint or an index. So does anything else that was not planned before; a step may be
 * worded otherwise than before, so it is recognised by its subject.
 */
async function undonePart({ spec, scratch, files, object }: Adoption, after: Comparison): Promise<Undone> {
  if (after.steps.length + after.rejections.length === 0) return { undoing: [], help: [] }
  const before = await compareOnly(spec, files, scratch)
  const planned = new Set(before.steps.map(({ subject }) => subject))
  const steps = after.steps.filter(({ subject }) => subject === object || !planned.has(subject))
  return {
    undoing: [...steps.map(format), ...after.rejections.filter((rejection) => !before.rejections.includes(rejection))],
    help: [],
  }
}

/**
 * The next plan undoes the attributes of a column that the adoption changes and resources.yaml sets differently. Its steps do not distinguish
 * them: another type, which may have been planned before, sets the default as well.
 */
function undoneInColumn(spec: AppSpec, { table, old, now }: ChangedColumn, { to, former }: Comparison): Undone {
  const wantedTable = to.find(({ name }) => former.table(name) === table)
  const wanted = wantedTable?.columns.find(({ name }) => former.column(wantedTable.name, name) === now.name)
  if (!wantedTable || !wanted) return { undoing: [], help: [] }
  const place = { table: wantedTable.name, column: wanted.name }
  if (now.generated !== null && old.generated !== now.generated) {
    const field = fieldPath(spec, place)
    const help = field ? [`Remove ${field}, because no request can set a computed column; then adopt it again`] : []
    return { undoing: [`change ${table}.${now.name}: computed -> ${wanted.type}`], help }
  }
  const type = !isOfOneType(old, now) && !isOfOneType(now, wanted)
  const filled = old.default !== now.default && !hasSameDefault(now, wanted)
  const nullable = old.nullable !== now.nullable && now.nullable !== wanted.nullable
  const steps = [
    ...(type ? [changeType({ table, from: now, to: wanted, relation: table, columns: [], given: undefined })] : []),
    ...(filled ? [changeDefault(table, now, wanted)] : []),
    ...(nullable ? [changeNullable(table, { from: now, to: wanted, relation: table, fills: false })] : []),
  ]
  const said = {
    ...now,
    ...(type && { type: wanted.type, collation: wanted.collation }),
    ...(filled && { default: wanted.default }),
    ...(nullable && { nullable: wanted.nullable }),
  }
  const settings = fieldChanges({ ...said, table }, { ...now, table }) ?? []
  // The type of a relation is the type of the key that it refers to.
  const help = type && isRelation(spec, place) ? [] : settingsFirst(spec, place, settings)
  return { undoing: steps.map(format), help }
}

interface ColumnName {
  readonly table: string
  readonly column: string
}

function isRelation({ models }: AppSpec, { table, column }: ColumnName): boolean {
  const fields = models.find((model) => model.table === table)?.fields ?? []
  return fields.some((field) => field.column === column && field.target !== undefined)
}

function settingsFirst(spec: AppSpec, { table, column }: ColumnName, settings: readonly string[]): readonly string[] {
  const field = fieldPath(spec, { table, column })
  return field && settings.length > 0 ? [`In ${field}, ${settings.join(' and ')}; then adopt it again`] : []
}

/** The path of a column's field in the configuration. */
function fieldPath(spec: AppSpec, { table, column }: ColumnName): string | undefined {
  const wanted = wantedTables(spec).find(({ name }) => name === table)
  const field = wanted?.columns.find(({ name }) => name === column)?.field
  return wanted && field && `models.${wanted.model}.fields.${field}`
}

function format({ change, subject, detail }: Step): string {
  return `${change} ${subject}: ${detail}`
}

function isOfOneType(one: CatalogColumn, other: CatalogColumn): boolean {
  return one.type === other.type && one.collation === other.collation
}

/** PostgreSQL prints the same default of two types differently. */
function hasSameDefault(one: CatalogColumn, other: CatalogColumn): boolean {
  if (one.default === null || one.default === other.default || other.default === null)
    return one.default === other.default
  const [value, another] = [readDefault(one.default, one), readDefault(other.default, other)]
  return value !== undefined && JSON.stringify(value) === JSON.stringify(another)
}
