import { tableSql } from '../../fields/table-name.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import { Problem } from '../../foundation/problem.js'
import type { Connection } from '../database.js'
import { lacksPrivilege } from '../driver/errors.js'

const SEQUENCE = `
  select s::text, (q.seqincrement > 0)::text, q.seqmin::text, q.seqmax::text, current_user::text
  from pg_get_serial_sequence($1, $2) as s
  join pg_sequence q on q.seqrelid = s::regclass
  join pg_attribute a on a.attrelid = $1::regclass and a.attname = $2
  join pg_type t on t.oid = a.atttypid
  where t.typcategory = 'N'`

/** Advances the sequences of a primary key past every existing number, so that the next record gets a free one. */
export async function advanceSequences(connection: Connection, { table, key }: ModelSpec): Promise<void> {
  for (const field of key) await advanceSequence(connection, table, field)
}

/**
 * Does nothing for columns without a sequence. Numbers outside its bounds are ignored, because it never reaches them.
 * @throws Problem `unavailable` if the role may not set the sequence
 */
async function advanceSequence(connection: Connection, table: string, { column, name }: FieldSpec): Promise<void> {
  const found = await connection.query({ text: SEQUENCE, values: [tableSql(table), column] })
  const [sequence, ascends, minimum = null, maximum = null, role] = found.rows[0] ?? []
  if (sequence == null) return
  const [order, further] = ascends === 'true' ? ['desc', '>'] : ['asc', '<']
  const [own, quoted] = [tableSql(table), identifier(column)]
  const text = `select setval($1::regclass, n) from (
      select ${quoted}::bigint as n from ${own} where ${quoted} between $2::bigint and $3::bigint order by ${quoted} ${order} limit 1
    ) as furthest
    where (n ${further} pg_sequence_last_value($1::regclass)) is not false`
  try {
    await connection.query({ text, values: [sequence, minimum, maximum] })
  } catch (error) {
    if (!lacksPrivilege(error)) throw error
    const grant = `grant usage, update on sequence ${sequence} to ${identifier(role ?? '')}`
    const message = `the role ${role} may not advance the sequence of ${name} past the stored numbers (${grant})`
    throw new Problem('unavailable', message, { cause: error })
  }
}
