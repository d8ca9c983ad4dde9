import type { Connection } from '../../db/database.js'
import { identifier } from '../../fields/sql-literal.js'
import { attempt } from '../run/session.js'
import { countRows, NAME, tryValue, valueOf } from './count-rows.js'
import type { Unclear } from './losses-between.js'

/** Finds how many rows of a table a migration has removed; undefined if that is unknown. */
type Measurement = (unclear: Unclear) => Promise<number | undefined>

/** Measures tables before a migration runs again. The keys are those of `keyOf`. */
export async function measureTables(
  session: Connection,
  wanted: readonly Unclear[],
): Promise<ReadonlyMap<string, Measurement>> {
  const measurements = new Map<string, Measurement>()
  for (const each of wanted) {
    const measurement = await measureTable(session, each)
    if (measurement) measurements.set(keyOf(each), measurement)
  }
  return measurements
}

export function keyOf({ table, measure }: Pick<Unclear, 'table' | 'measure'>): string {
  return `${measure} ${table}`
}

async function measureTable(session: Connection, { table, measure }: Unclear): Promise<Measurement | undefined> {
  if (measure === 'comparison') return rememberRows(session, table)
  const before = await countRows(session, table)
  return async ({ inserted }) => {
    const after = await countRows(session, table)
    if (before === undefined || after === undefined) return before
    return Math.min(before, Math.max(0, before - after + inserted))
  }
}

const MEMBERS = `
  with recursive members (id) as (select $1::oid union select inhrelid from pg_inherits join members on inhparent = id)
  select string_agg(id::text, ',' order by id) from members`

/**
 * The columns that identify a row even after it has moved to another partition: columns that do not partition the table, only the columns of the primary
 * key if any of them is left.
 */
const COLUMNS = `
  with recursive members (id) as (select $1::oid union select inhrelid from pg_inherits join members on inhparent = id),
  partitioning (name) as (
    select attname from members join pg_partitioned_table on partrelid = id
    join pg_attribute on attrelid = id and attnum > 0 and (attnum = any (partattrs) or partexprs::text ~ (':varattno ' || attnum || ' '))
  ),
  columns (number, is_key) as (
    select attnum, coalesce(attnum = any (indkey), false) from pg_attribute left join pg_index on indrelid = attrelid and indisprimary
    where attrelid = $1::oid and attnum > 0 and not attisdropped and attgenerated = '' and attname not in (select name from partitioning)
  )
  select string_agg(number::text, ',' order by number) from columns where is_key or not exists (select from columns where is_key)`

const COLUMN_NAMES = `
  select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
  where attrelid = $1::oid and attnum = any ($2::int[]) and not attisdropped`

/** Stores the identifying values of the rows of a partitioned table, to count later how many rows are gone. */
async function rememberRows(session: Connection, table: string): Promise<Measurement | undefined> {
  const numbers = `{${(await valueOf(session, COLUMNS, table)) ?? ''}}`
  const kept = `pg_temp.${identifier(`snippetctl_rows_of_${table}`)}`
  const rowsOf = async (id: string) => {
    const [name, columns] = [await valueOf(session, NAME, id), await valueOf(session, COLUMN_NAMES, table, numbers)]
    return name === undefined ? undefined : `select row(${columns ?? ''})::text as identity from ${name}`
  }
  const members = (await valueOf(session, MEMBERS, table)) ?? ''
  const rows = await rowsOf(table)
  if (rows === undefined) return undefined
  const failed = await attempt(session, () =>
    session.query({ text: `create temporary table ${kept} on commit drop as ${rows}`, values: [] }),
  )
  if (failed) return undefined
  return async () => {
    const now = (await valueOf(session, MEMBERS, table))?.split(',') ?? []
    const detached = members.split(',').filter((id) => !now.includes(id))
    const sources: string[] = []
    for (const id of [table, ...detached]) {
      const source = await rowsOf(id)
      if (source !== undefined) sources.push(source)
    }
    const present = sources.join(' union all ')
    const lost = await tryValue(
      session,
      `select count(*)::text from (select identity from ${kept} except all (${present})) lost`,
    )
    return lost === undefined ? undefined : Number(lost)
  }
}
