import { mkdtempSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { AppSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import { removeAtExit } from '../../foundation/remove-at-exit.js'
import { type MigrationFolder, pathOf, readMigrations } from '../files/files.js'
import { writeNext } from '../files/write-next.js'
import { planMigration } from '../plan/generate.js'

interface Proposed {
  readonly directory: MigrationFolder
  readonly migration: string | undefined
  readonly scratch: Database
}

/** The name of the migration that records the tables as they are. */
export const MIGRATION_NAME = 'introspected'

/** Plans as if the new files were already written. */
export async function remainingPlan(
  spec: AppSpec,
  { directory, migration, scratch }: Proposed,
): Promise<readonly string[]> {
  const copy = mkdtempSync(join(tmpdir(), 'introspect-'))
  const remove = removeAtExit(copy)
  try {
    if ((await readMigrations(directory)).length > 0) await cp(pathOf(directory), copy, { recursive: true })
    if (migration !== undefined) await writeNext(asIf(directory, copy), MIGRATION_NAME, migration)
    const { steps, rejections } = await planMigration(spec, asIf(directory, copy), scratch)
    return [...steps.map(({ change, subject, detail }) => `${change} ${subject}: ${detail}`), ...rejections]
  } finally {
    remove()
  }
}

/** Copies a folder. Imports of TypeScript migrations are resolved from the original folder. */
function asIf(directory: MigrationFolder, copy: string): MigrationFolder {
  if (typeof directory === 'string') return copy
  return { path: copy, load: (file) => directory.load(join(directory.path, basename(file))) }
}
