import type { Rejection } from '../../config/parse/rejection.js'
import type { AppSpec, ModelSpec } from '../../config/spec.js'
import { show, suggest } from '../../config/words.js'
import type { Connection } from '../../db/database.js'
import { CURRENT_SCHEMA } from '../../fields/table-name.js'

/**
 * A query of one text cell: for each table of the current schema, the names in the errors of rejected changes: names of constraints and unique
 * indexes, and names that triggers give. Errors of `not null` have no name. The indexes of a partitioned table reject nothing themselves: the indexes
 * of its partitions do, under other names.
 */
const NAMES = `
  select coalesce(jsonb_object_agg(c.relname, (
    with part as (select c.oid as id union select relid from pg_partition_tree(c.oid))
    select coalesce(jsonb_agg(n.name order by n.name), '[]') from (
      select o.conname as name from part join pg_constraint o on part.id in (o.conrelid, o.confrelid)
      where o.contype not in ('n', 'p', 'u', 'x')
      union
      select d.conname from part join pg_attribute a on a.attrelid = part.id join pg_constraint d on d.contypid = a.atttypid
      where not a.attisdropped
      union
      select x.relname from part join pg_index i on i.indrelid = part.id join pg_class x on x.oid = i.indexrelid
      where x.relkind <> 'I' and (i.indisunique or i.indisexclusion)
      union
      select raised[1] from part join pg_trigger t on t.tgrelid = part.id join pg_proc p on p.oid = t.tgfoid
      cross join regexp_matches(p.prosrc, 'constraint\\s*=\\s*''([^'']+)''', 'gi') raised
    ) n
  )), '{}')::text
  from pg_class c
  join pg_namespace s on s.oid = c.relnamespace
  where s.nspname = ${CURRENT_SCHEMA} and c.relkind in ('r', 'p')`

/** Finds the configured messages whose constraints do not exist in the database. Changes nothing. */
export async function messageDifferences({ models }: AppSpec, database: Connection): Promise<readonly Rejection[]> {
  const speaking = models.filter(({ messages }) => Object.keys(messages).length > 0)
  if (speaking.length === 0) return []
  const { rows } = await database.query({ text: NAMES, values: [] })
  const known = new Map(Object.entries(JSON.parse(rows[0]?.[0] ?? '{}') as Readonly<Record<string, readonly string[]>>))
  // Missing tables are reported separately.
  return speaking.flatMap((model) => unknownNames(model, known.get(model.table)))
}

function unknownNames(
  { name: model, table, messages }: ModelSpec,
  known: readonly string[] = [],
): readonly Rejection[] {
  const unknown = known.length === 0 ? [] : Object.keys(messages).filter((name) => !known.includes(name))
  return unknown.map((name) => ({
    code: 'SC408',
    path: ['models', model, 'messages', name],
    part: 'key',
    message: `the table ${show(table)} of the database has no constraint ${show(name)}`,
    help: suggest(name, known, 'constraint'),
  }))
}
