import { fieldChanges } from '../config/declare-field.js'
import type { AppSpec } from '../config/spec.js'
import type { Database } from '../db/database.js'
import type { CatalogColumn } from './catalog.js'
import { MigrationError } from './error.js'
import { type Migration, parseMigration } from './files.js'
import { compareOnly } from './generate.js'
import { wantedTables } from './sql.js'

/** A migration that adopts an object, before it is written. */
export interface Adoption {
  readonly spec: AppSpec
  readonly scratch: Database
  readonly files: readonly Migration[]
  readonly object: string
  /** The text of the migration. */
  readonly text: string
  /** The statements that give the object back its form in the files. */
  readonly down: readonly string[]
  /** The column before and after; undefined for constraints and indexes. */
  readonly column: { readonly table: string; readonly old: CatalogColumn; readonly now: CatalogColumn } | undefined
}

/**
 * Rejects an adoption that the next plan would undo, because the configuration says otherwise.
 * @throws MigrationError that names what to write into the configuration first
 */
export async function rejectIfUndone(adoption: Adoption): Promise<void> {
  const { spec, scratch, files, object, text } = adoption
  const migration = parseMigration('adopted', 'the migration', Buffer.from(text))
  if ('faults' in migration) throw new MigrationError(migration.faults)
  const after = await compareOnly(spec, [...files, migration], scratch)
  if (after.steps.length + after.refusals.length === 0) return
  const before = await compareOnly(spec, files, scratch)
  const planned = new Set(before.steps.map(({ up }) => up.join(';')))
  const undoing = [
    ...after.steps
      .filter(({ up }) => !planned.has(up.join(';')))
      .map(({ change, subject, detail }) => `${change} ${subject}: ${detail}`),
    ...after.refusals.filter((refusal) => !before.refusals.includes(refusal)),
  ]
  if (undoing.length === 0) return
  throw new MigrationError(
    [
      `resources.yaml does not describe ${object} as the database has it, so the next plan would undo it: ${undoing.join('; ')}`,
    ],
    [...settingsFirst(adoption), `Or put it back as the files have it: ${adoption.down.join('; ')}`],
  )
}

/** Which settings of the field make the configuration say what the column is; none where no setting can. */
function settingsFirst({ spec, column }: Adoption): readonly string[] {
  if (!column) return []
  const { table, old, now } = column
  const wanted = wantedTables(spec).find(({ name }) => name === table)
  const field = wanted?.columns.find(({ name }) => name === now.name)?.field
  const changes = fieldChanges({ ...old, table }, { ...now, table }) ?? []
  if (!wanted || field === undefined || changes.length === 0) return []
  return [`In models.${wanted.model}.fields.${field}, ${changes.join(' and ')}; then adopt it again`]
}
