import type { Connection } from '../../db/database.js'
import { formattedTable } from '../../fields/table-name.js'
import { JOURNAL } from '../files/journal.js'

/** The tables and composite types of a database, with their columns. */
export interface Inventory {
  /** The current schema; canonical names of its tables have no schema. */
  readonly schema: string
  /** The names of tables, types and columns by their identity, which survives renames: `16400` is a table, `16400.2` a column; `TYPE` precedes types. */
  readonly objects: ReadonlyMap<string, string>
  readonly tables: ReadonlyMap<string, TableState>
  /** Whether PostgreSQL counts the rows that the session deletes. */
  readonly counts: boolean
}

/** The state of a table within a transaction. */
export interface TableState {
  /** The rows that the transaction has deleted, including deletions that an exception block or a savepoint has undone. */
  readonly deleted: number
  /** The rows that it has inserted; counted in the same way. */
  readonly inserted: number
  /** The file of its rows: `truncate`, and changes that rewrite all rows, give the table another file. */
  readonly file: string
  /** The tables that it is a partition of or inherits from. */
  readonly parents: readonly string[]
  /** The topmost table of a partition or a partitioned table. */
  readonly root: string | undefined
  /** Whether triggers or rules may run further statements when the table changes. */
  readonly fires: boolean
}

/** SQL: the tables and composite types of users, as `c`, and their schemas, as `n`. */
export const TABLES_AND_TYPES = `
  pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  where c.relkind in ('r', 'p', 'c') and c.relpersistence <> 't' and c.relname !~ '^${JOURNAL}'`

/** Precedes the identities of types. */
export const TYPE = 'type '

/** A migration may set another current schema. */
const TABLES = `
    select c.oid, case c.relkind when 'c' then '${TYPE}' else '' end || c.oid as id, ${formattedTable('c', 'n', '$1')} as name,
      pg_stat_get_xact_tuples_deleted(c.oid)::text as deleted, pg_stat_get_xact_tuples_inserted(c.oid)::text as inserted, c.relfilenode::text as file,
      (select string_agg(inhparent::text, ',') from pg_inherits where inhrelid = c.oid) as parents, pg_partition_root(c.oid)::oid::text as root,
      (c.relhasrules or exists (select from pg_trigger where tgrelid = c.oid and not tgisinternal))::text as fires
    from ${TABLES_AND_TYPES}`

const COUNTS = `current_setting('track_counts')`
const SHOWN = `select id, name, deleted, inserted, file, parents, root, fires, ${COUNTS} from`

const ALL_TABLES = `${SHOWN} (${TABLES}) tables order by 2`

const OBJECTS = `
  with tables as materialized (${TABLES})
  ${SHOWN} tables
  union all
  select id || '.' || attnum, name || '.' || attname, null, null, null, null, null, null, ${COUNTS} from tables join pg_attribute on attrelid = oid and attnum > 0 and not attisdropped
  order by 2`

/** @param current the schema whose tables are named without it */
export async function takeInventory(connection: Connection, current?: string): Promise<Inventory> {
  return read(connection, OBJECTS, current ?? (await currentSchema(connection)))
}

/** Takes an inventory without columns, which is much quicker. */
export function takeTables(connection: Connection, current: string): Promise<Inventory> {
  return read(connection, ALL_TABLES, current)
}

async function read(connection: Connection, text: string, schema: string): Promise<Inventory> {
  const { rows } = await connection.query({ text, values: [schema] })
  return {
    schema,
    objects: new Map(rows.map(([id, name]) => [id ?? '', name ?? ''])),
    tables: new Map(
      rows.flatMap(([id, , deleted, inserted, file, parents, root, fires]) =>
        id == null || fires == null
          ? []
          : [
              [
                id,
                {
                  deleted: Number(deleted),
                  inserted: Number(inserted),
                  file: file ?? '',
                  parents: parents?.split(',') ?? [],
                  root: root ?? undefined,
                  fires: fires === 'true',
                },
              ] as const,
            ],
      ),
    ),
    counts: rows.every(([, , , , , , , , counts]) => counts === 'on'),
  }
}

/** The schema of unqualified names. */
export async function currentSchema(connection: Connection): Promise<string> {
  const { rows } = await connection.query({ text: 'select current_schema()', values: [] })
  return rows[0]?.[0] ?? ''
}
