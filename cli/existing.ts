import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, DatabaseRefused, openDatabase, Problem } from '../src/index.js'
import type { CliContext } from './context.js'

/**
 * The database of a project, for a look that is worth having and not worth failing for: undefined when there is none yet, and
 * the reason when it cannot be opened now. An embedded one is never made.
 */
export async function openExisting(
  context: CliContext,
  embedded: string,
): Promise<Database | { readonly reason: string } | undefined> {
  const url = context.env['DATABASE_URL']
  if (url === undefined && !existsSync(join(embedded, 'PG_VERSION'))) return undefined
  try {
    const database = await openDatabase({ url, directory: embedded }, context.env)
    try {
      await database.probe()
      return database
    } catch (error) {
      await database.close()
      throw error
    }
  } catch (error) {
    if (error instanceof DatabaseRefused || error instanceof Problem) return { reason: error.message }
    throw error
  }
}
