import type { Connection } from '../../db/database.js'
import { attempt } from '../run/session.js'

/** Returns the first value of the result. */
export async function valueOf(
  session: Connection,
  text: string,
  ...values: readonly string[]
): Promise<string | undefined> {
  return (await session.query({ text, values })).rows[0]?.[0] ?? undefined
}

/** Returns the first value, or undefined if the database rejects the query, as for a table that is gone. */
export async function tryValue(session: Connection, text: string): Promise<string | undefined> {
  let value: string | undefined
  await attempt(session, async () => {
    value = await valueOf(session, text)
  })
  return value
}

/** Returns undefined for a table that is gone. The rows of its partitions do not count. */
export async function countRows(session: Connection, table: string): Promise<number | undefined> {
  const name = await valueOf(session, NAME, table)
  const count = name === undefined ? undefined : await tryValue(session, `select count(*)::text from only ${name}`)
  return count === undefined ? undefined : Number(count)
}

/** SQL: the name of a table by its identity. */
export const NAME = `select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = $1::oid`
