import { existsSync } from 'node:fs'
import { type AppSpec, type Database, DatabaseRefused, type MigrationFolder, openDatabase } from '../src/index.js'
import { type CliContext, projectFolders, shownPath } from './context.js'
import { Failure } from './failure.js'
import { isReachable } from './schema.js'

/**
 * Opens the database that belongs to a configuration. What is said about it names the embedded one as people write its path.
 * @throws DatabaseRefused when it can never be opened
 */
export async function openProjectDatabase(context: CliContext, file: string, env = context.env): Promise<Database> {
  const { embedded } = projectFolders(file)
  const shown = shownPath(context, embedded)
  try {
    return await openDatabase({ url: env['DATABASE_URL'], directory: shown }, env)
  } catch (error) {
    if (!(error instanceof DatabaseRefused)) throw error
    const shorten = (text: string) => text.replaceAll(embedded, shown)
    throw new DatabaseRefused(shorten(error.message), error.help.map(shorten), error)
  }
}

type Work<T> = (database: Database, migrations: MigrationFolder) => Promise<T>

/**
 * Opens the database of a configuration, does the work, and closes it again.
 * @throws Failure 2 when it cannot be reached
 */
export async function onDatabase<T>(context: CliContext, spec: AppSpec, work: Work<T>): Promise<T> {
  const { migrations } = projectFolders(spec.file)
  const database = await openProjectDatabase(context, spec.file)
  try {
    if (!(await isReachable(database))) {
      throw new Failure(2, `cannot reach the database: ${database.description}`, [
        'is it running? DATABASE_URL says where it is looked for',
      ])
    }
    return await work(database, migrations)
  } finally {
    await database.close()
  }
}

/**
 * The same for work that only looks: an embedded database that is not there is not made for it.
 * @throws Failure 2 when there is none, and when it cannot be reached
 */
export async function onExistingDatabase<T>(context: CliContext, spec: AppSpec, work: Work<T>): Promise<T> {
  const { embedded } = projectFolders(spec.file)
  if (context.env['DATABASE_URL'] === undefined && !existsSync(embedded)) {
    const shown = shownPath(context, embedded)
    throw new Failure(2, `there is no database yet: DATABASE_URL is not set, and nothing is in ${shown}`, [
      'make it: snippetctl migrate up',
    ])
  }
  return onDatabase(context, spec, work)
}
