import { type Database, DatabaseRefused, openDatabase } from '../src/index.js'
import { type CliContext, projectFolders, shownPath } from './context.js'

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
