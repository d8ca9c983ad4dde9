import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Connection, Database } from '../../src/db/database.js'
import { openDatabase } from '../../src/db/open.js'
import { readCatalog } from '../../src/migrations/introspect/catalog/catalog.js'
import { splitStatements } from '../../src/migrations/files/statements.js'
import type { Project } from './cli.js'
import type { TestDatabase } from './database.js'

/** The SQL of a foreign schema: `shop`, `clinic` or `forum`, each with at least 20 tables. */
export const existingSchema = (name: string): Promise<string> =>
  readFile(join('test', 'fixtures', 'existing', `${name}.sql`), 'utf8')

/** The database of a project; its URL is undefined if it is embedded. */
export type ProjectDatabase = Connection & Pick<TestDatabase, 'url' | 'loadExtensions'>

/** Runs work with the database that a project's commands use: the one on the server, or the one in its folder. */
export async function onProjectDatabase<T>(
  { folder }: Project,
  database: TestDatabase | undefined,
  work: (database: ProjectDatabase) => Promise<T>,
): Promise<T> {
  if (database) return work(database)
  if (commandHost.keeps(folder)) return work(keptDatabase(folder))
  const embedded = await openDatabase({ url: undefined, directory: join(folder, '.snippetctl', 'pg') }, {})
  try {
    return await work({
      url: undefined,
      query: (statement) => embedded.query(statement),
      loadExtensions: (names) => embedded.loadExtensions?.(names) ?? Promise.resolve(),
    })
  } finally {
    await embedded.close()
  }
}

/** The database that the host of commands keeps open. */
const keptDatabase = (folder: string): ProjectDatabase => ({
  url: undefined,
  query: (statement) => commandHost.query(folder, statement),
  loadExtensions: (names) => commandHost.loadExtensions(folder, names),
})

/** Statements that drop the objects of each schema that no migration records, because the program reports them and leaves them alone. */
export const UNRECORDED: Readonly<Record<string, string>> = {
  shop: 'drop view active_products',
  clinic: '',
  forum: 'drop materialized view top_users; drop trigger count_edits on posts; drop function touch; drop table logs',
}

/** Runs statements one after another. */
export async function runSql(connection: Connection & Pick<Database, 'loadExtensions'>, sql: string): Promise<void> {
  const extensions = [...sql.matchAll(/create extension (?:if not exists )?(\w+)/g)].map(([, name = '']) => name)
  await connection.loadExtensions?.(extensions)
  for (const { text } of splitStatements(sql)) await connection.query({ text, values: [] })
}

/**
 * Recreates every check from its definition in the database. PostgreSQL prints `in (…)` differently before and after reparsing its own output,
 * and then prints equal checks alike.
 */
export async function recreateChecks(connection: Connection): Promise<void> {
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
