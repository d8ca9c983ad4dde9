import {
  type AppSpec,
  type Database,
  DatabaseInUse,
  DatabaseRefused,
  type MigrationFolder,
  openDatabase,
} from '../../src/internal.js'
import { type CliContext, projectFolders } from '../context.js'
import { embeddedOf, isThere } from './embedded.js'
import { Failure } from '../failure.js'
import { isReachable } from '../serve/schema.js'

/**
 * Opens the database that belongs to a configuration. What is said about it names the embedded one as people write its path.
 * @throws DatabaseRefused when it can never be opened
 */
export function openProjectDatabase(context: CliContext, file: string, env = context.env): Promise<Database> {
  const { path, shown } = embeddedOf(context, file)
  return inWordsOf({ [path]: shown }, () => openDatabase({ url: env['DATABASE_URL'], directory: shown }, env))
}

/** Does work; when the database is refused, names of the inside are replaced by those that people know. */
export async function inWordsOf<T>(names: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof DatabaseRefused)) throw error
    const replace = (text: string) =>
      Object.entries(names).reduce((said, [inside, known]) => said.replaceAll(inside, known), text)
    const Refused = error instanceof DatabaseInUse ? DatabaseInUse : DatabaseRefused
    throw new Refused(replace(error.message), error.help.map(replace), error)
  }
}

/** Whether a configuration has a database; if not, opening it makes an embedded one. */
export function hasDatabase(context: CliContext, file: string): boolean {
  return context.env['DATABASE_URL'] !== undefined || isThere(embeddedOf(context, file))
}

/**
 * Opens the database that belongs to a configuration, and makes sure that it answers.
 * @throws DatabaseRefused when it can never be opened, and Failure 2 when it cannot be reached
 */
export async function openReachable(context: CliContext, file: string): Promise<Database> {
  const database = await openProjectDatabase(context, file)
  const unreachable = new Failure(2, `cannot reach the database: ${database.description}`, [
    'is it running? DATABASE_URL says where it is looked for',
  ])
  return requireReachable(database, unreachable)
}

/** Answers a database that answers; closes it otherwise. @throws `unreachable`, and DatabaseRefused when it never will */
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
 * Opens the database of a configuration, does the work, and closes it again.
 * @throws Failure 2 when it cannot be reached
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
 * The same for work that only looks: an embedded database that is not there is not made for it.
 * @throws Failure 2 when there is none, and when it cannot be reached
 */
export async function onExistingDatabase<T>(
  context: CliContext,
  spec: Pick<AppSpec, 'file'>,
  work: Work<T>,
): Promise<T> {
  if (hasDatabase(context, spec.file)) return onDatabase(context, spec, work)
  const { shown } = embeddedOf(context, spec.file)
  throw new Failure(2, `there is no database yet: DATABASE_URL is not set, and nothing is in ${shown}`, [
    'make it: snippetctl migrate up',
  ])
}
