import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Connection } from '../../src/db/database.js'
import { openDatabase } from '../../src/db/open.js'
import { readCatalog } from '../../src/migrations/introspect/catalog.js'
import { splitStatements } from '../../src/migrations/files/statements.js'
import type { Project } from './cli.js'
import type { TestDatabase } from './database.js'

/** The SQL of a schema that somebody else has made: `shop`, `clinic` or `forum`, each with 20 tables or more. */
export const existingSchema = (name: string): Promise<string> =>
  readFile(join('test', 'fixtures', 'existing', `${name}.sql`), 'utf8')

/** A database that commands of a project find; its address is undefined when it is in the folder. */
export type ProjectDatabase = Connection & Pick<TestDatabase, 'url'>

/** Works with the database that commands of a project find: the one on the server, or that in its folder. */
export async function onProjectDatabase<T>(
  { folder }: Project,
  database: TestDatabase | undefined,
  work: (database: ProjectDatabase) => Promise<T>,
): Promise<T> {
  if (database) return work(database)
  const embedded = await openDatabase({ url: undefined, directory: join(folder, '.snippetctl', 'pg') }, {})
  try {
    return await work({ url: undefined, query: (statement) => embedded.query(statement) })
  } finally {
    await embedded.close()
  }
}

/** What of those schemas no migration records, and how it goes: it is named, and left to whoever made it. */
export const UNRECORDED: Readonly<Record<string, string>> = {
  shop: 'drop view active_products',
  clinic: '',
  forum: 'drop materialized view top_users; drop trigger count_edits on posts; drop function touch; drop table logs',
}

/** Runs statements one after the other. */
export async function runSql(connection: Connection, sql: string): Promise<void> {
  for (const { text } of splitStatements(sql)) await connection.query({ text, values: [] })
}

/**
 * Makes every check anew, out of what the database says of it. PostgreSQL prints `in (…)` in one way when somebody wrote it, and
 * in another once it has read what it printed; the same checks are spelled the same after this.
 */
export async function tellChecksAgain(connection: Connection): Promise<void> {
  for (const { name: table, constraints } of await readCatalog(connection)) {
    for (const { name, kind, definition } of constraints) {
      if (kind !== 'check') continue
      await runSql(
        connection,
        `alter table "${table}" drop constraint "${name}", add constraint "${name}" ${definition};`,
      )
    }
  }
}
