import type { Database } from '../../src/internal.js'

/** Returns a warning, with help, if the database checks no foreign keys for this role. For superusers, the service sets it right itself. */
export async function uncheckedWarning(database: Database): Promise<{ message: string; help: string } | undefined> {
  const { rows } = await database.query({
    text: `select current_setting('session_replication_role'), quote_ident(current_user)`,
    values: [],
  })
  const [[setting, role] = []] = rows
  if (setting !== 'replica') return undefined
  return {
    message: `session_replication_role is replica: the database checks no foreign keys and runs no triggers for this service`,
    help: `as a superuser: alter role ${role} set session_replication_role = origin`,
  }
}
