import { cp, mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { AppSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import { makeTemporary } from '../../db/embedded/temporary.js'
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
  const { path, remove } = await makeTemporary('introspect')
  const copy = join(path, 'migrations')
  try {
    await mkdir(copy)
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
