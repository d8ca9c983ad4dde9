import type { Database } from '../../src/db/database.js'
import { openDatabase } from '../../src/db/open.js'
import type { TestDatabase } from './database.js'

/** The name and the password of a role for one test file; roles belong to the whole server. */
export const ROLE = `clerk_${process.pid}`

/** Statements that make the role. */
export const CREATE_ROLE = `
  create role ${ROLE} login password '${ROLE}';
  grant usage on schema public to ${ROLE};
`

/** Statements that drop the role. */
export const DROP_ROLE = `reset role; drop owned by ${ROLE}; drop role ${ROLE}`

/** Opens a database as the role; the connection of an embedded one is the only one, and changes its role. */
export async function openAsRole(database: TestDatabase): Promise<Database> {
  if (database.url === undefined) {
    await database.query({ text: `set role ${ROLE}`, values: [] })
    return database
  }
  const url = new URL(database.url)
  url.username = ROLE
  url.password = ROLE
  return openDatabase({ url: url.href, directory: '' }, {})
}
