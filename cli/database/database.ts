import {
  type AppSpec,
  type Database,
  DatabaseInUse,
  DatabaseRejected,
  isUnmanaged,
  type MigrationFolder,
} from '../../src/internal.js'
import { type CliContext, projectFolders } from '../context.js'
import { embeddedOf, exists } from './embedded.js'
import { Failure } from '../failure.js'
import { reasonUnreachable } from '../serve/schema.js'

/**
 * Opens the database of a configuration. Messages show the path of the embedded database as `shownPath` does.
 * @throws DatabaseRejected if it can never be opened
 */
export function openProjectDatabase(context: CliContext, file: string, env = context.env): Promise<Database> {
  const { path, shown } = embeddedOf(context, file)
  return renamingInErrors({ [path]: shown }, () =>
    context.openDatabase({ url: env['DATABASE_URL'], directory: shown }, env),
  )
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

/** The name of a database server at the end of a message about a change; empty for the embedded database of the project. */
export function inServer({ whenPending, description }: Pick<Database, 'whenPending' | 'description'>): string {
  return whenPending === 'reject' ? `, in ${description}` : ''
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
  return requireReachable(database, 'cannot reach the database', [
    'check that it is running, and that DATABASE_URL is right',
  ])
}

/**
 * Returns the database if it is reachable, else closes it.
 * @throws Failure 2 with `message` and the reason; DatabaseRejected if waiting cannot help
 */
export async function requireReachable(
  database: Database,
  message: string,
  help: readonly string[] = [],
): Promise<Database> {
  try {
    const reason = await reasonUnreachable(database)
    if (reason === undefined) return database
    throw new Failure(2, `${message}: ${database.description}${reason}`, help)
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
  spec: Pick<AppSpec, 'file'> & Partial<Pick<AppSpec, 'models'>>,
  work: Work<T>,
): Promise<T> {
  if (hasDatabase(context, spec.file)) return onDatabase(context, spec, work)
  const { shown } = embeddedOf(context, spec.file)
  const isFromOutside = spec.models?.length && spec.models.every(isUnmanaged)
  throw new Failure(2, `the project has no database yet: DATABASE_URL is not set, and ${shown} does not contain one`, [
    isFromOutside ? 'set DATABASE_URL to the database that has the tables' : 'create it: snippetctl migrate up',
  ])
}
