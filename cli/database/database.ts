import {
  type AppSpec,
  type Database,
  DatabaseInUse,
  DatabaseRejected,
  type MigrationFolder,
  openDatabase,
} from '../../src/internal.js'
import { type CliContext, projectFolders } from '../context.js'
import { embeddedOf, exists } from './embedded.js'
import { Failure } from '../failure.js'
import { isReachable } from '../serve/schema.js'

/**
 * Opens the database of a configuration. Messages show the path of the embedded database as `shownPath` does.
 * @throws DatabaseRejected if it can never be opened
 */
export function openProjectDatabase(context: CliContext, file: string, env = context.env): Promise<Database> {
  const { path, shown } = embeddedOf(context, file)
  return renamingInErrors({ [path]: shown }, () => openDatabase({ url: env['DATABASE_URL'], directory: shown }, env))
}

/** Runs `work`, and replaces internal names in the message of a DatabaseRejected. */
export async function renamingInErrors<T>(names: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof DatabaseRejected)) throw error
    const replace = (text: string) =>
      Object.entries(names).reduce((said, [inside, known]) => said.replaceAll(inside, known), text)
    const Rejected = error instanceof DatabaseInUse ? DatabaseInUse : DatabaseRejected
    throw new Rejected(replace(error.message), error.help.map(replace), error)
  }
}

/** Whether the database of a configuration exists. If not, opening it creates an embedded one. */
export function hasDatabase(context: CliContext, file: string): boolean {
  return context.env['DATABASE_URL'] !== undefined || exists(embeddedOf(context, file))
}

/**
 * Opens the database of a configuration and checks that it is reachable.
 * @throws DatabaseRejected if it can never be opened, Failure 2 if it is not reachable
 */
export async function openReachable(context: CliContext, file: string): Promise<Database> {
  const database = await openProjectDatabase(context, file)
  const unreachable = new Failure(2, `cannot reach the database: ${database.description}`, [
    'check that it is running, and that DATABASE_URL is right',
  ])
  return requireReachable(database, unreachable)
}

/** Returns the database if it is reachable, else closes it. @throws `unreachable`; DatabaseRejected if waiting cannot help */
export async function requireReachable(database: Database, unreachable: Failure): Promise<Database> {
  try {
    if (await isReachable(database)) return database
    throw unreachable
  } catch (error) {
    await database.close()
    throw error
  }
}

type Work<T> = (database: Database, migrations: MigrationFolder) => Promise<T>

/**
 * Opens the database of a configuration while `work` runs.
 * @throws Failure 2 if it is not reachable
 */
export async function onDatabase<T>(context: CliContext, { file }: Pick<AppSpec, 'file'>, work: Work<T>): Promise<T> {
  const database = await openReachable(context, file)
  try {
    return await work(database, projectFolders(file).migrations)
  } finally {
    await database.close()
  }
}

/**
 * The same, but never creates an embedded database.
 * @throws Failure 2 if there is no database, or it is not reachable
 */
export async function onExistingDatabase<T>(
  context: CliContext,
  spec: Pick<AppSpec, 'file'>,
  work: Work<T>,
): Promise<T> {
  if (hasDatabase(context, spec.file)) return onDatabase(context, spec, work)
  const { shown } = embeddedOf(context, spec.file)
  throw new Failure(2, `the project has no database yet: DATABASE_URL is not set, and ${shown} does not contain one`, [
    'create it: snippetctl migrate up',
  ])
}
