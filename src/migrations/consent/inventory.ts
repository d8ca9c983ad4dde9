import type { Connection } from '../../db/database.js'
import { formattedTable } from '../../fields/table-name.js'
import { JOURNAL } from '../files/journal.js'

/** The tables and composite types of a database, with their columns. */
export interface Inventory {
  /** The current schema; canonical names of its tables have no schema. */
  readonly schema: string
  /** Their names by their identity, which survives renames: `16400` is a table, `16400.2` a column; those of types begin with `TYPE`. */
  readonly objects: ReadonlyMap<string, string>
  /** The rows of each table that its session has deleted so far. */
  readonly deleted: ReadonlyMap<string, number>
  /** The rows that it has inserted. */
  readonly inserted: ReadonlyMap<string, number>
  /** The tables of which each table is a partition or a child. */
  readonly parents: ReadonlyMap<string, readonly string[]>
  /** The topmost table of each partition and partitioned table. */
  readonly roots: ReadonlyMap<string, string>
}

/** SQL: the tables and composite types of users, as `c`, and their schemas, as `n`. */
export const TABLES_AND_TYPES = `
  pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  where c.relkind in ('r', 'p', 'c') and c.relpersistence <> 't' and c.relname !~ '^${JOURNAL}'`

/** The identities of types begin with this. */
export const TYPE = 'type '

const OBJECTS = `
  with wholes as materialized (
    select c.oid, case c.relkind when 'c' then '${TYPE}' else '' end || c.oid as id, ${formattedTable('c', 'n')} as name from ${TABLES_AND_TYPES}
  )
  select id, name, pg_stat_get_xact_tuples_deleted(oid)::text, pg_stat_get_xact_tuples_inserted(oid)::text,
    (select string_agg(inhparent::text, ',') from pg_inherits where inhrelid = oid), pg_partition_root(oid)::oid::text
  from wholes
  union all
  select id || '.' || attnum, name || '.' || attname, null, null, null, null from wholes join pg_attribute on attrelid = oid and attnum > 0 and not attisdropped
  order by 2`

export async function takeInventory(connection: Connection): Promise<Inventory> {
  const schema = await currentSchema(connection)
  const { rows } = await connection.query({ text: OBJECTS, values: [] })
  return {
    schema,
    objects: new Map(rows.map(([id, name]) => [id ?? '', name ?? ''])),
    deleted: new Map(rows.map(([id, , count]) => [id ?? '', Number(count)])),
    inserted: new Map(rows.map(([id, , , count]) => [id ?? '', Number(count)])),
    parents: new Map(rows.flatMap(([id, , , , parents]) => (parents ? [[id ?? '', parents.split(',')] as const] : []))),
    roots: new Map(rows.flatMap(([id, , , , , root]) => (root ? [[id ?? '', root] as const] : []))),
  }
}

/** The schema of unqualified names. */
export async function currentSchema(connection: Connection): Promise<string> {
  const { rows } = await connection.query({ text: 'select current_schema()', values: [] })
  return rows[0]?.[0] ?? ''
}
