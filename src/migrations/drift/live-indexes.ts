import type { Connection } from '../../db/database.js'
import { CURRENT_SCHEMA, formattedTable } from '../../fields/table-name.js'
import { constraintOfIndex } from '../introspect/catalog/catalog.js'

/** An existing index, as far as it matters for lists. */
export interface LiveIndex {
  readonly name: string
  /** False for the remains of a failed `create index concurrently`, which cost writes but are never read, and if partitions lack it. */
  readonly valid: boolean
  /** The partitions with rows that lack the index of a partitioned table, as SQL. A partition that is itself partitioned has none. */
  readonly lacking: readonly string[]
  readonly unique: boolean
  /** Whether it backs a key or another constraint. */
  readonly constraint: boolean
  /** Whether its first column belongs to a foreign key of the table. Without an index, each delete of a referenced row reads the whole table. */
  readonly refers: boolean
  /** The columns that serve lists: those before the first expression or change of direction. */
  readonly columns: readonly string[]
  /** The number of scans and the start of counting; undefined if the server does not know. */
  readonly scans: number | undefined
  readonly since: string | undefined
}

/** The indexes of a table, and what needs them. */
export interface LiveTable {
  readonly indexes: readonly LiveIndex[]
  /** The columns of each foreign key. */
  readonly references: readonly (readonly string[])[]
}

interface TableRow {
  readonly indexes: readonly IndexRow[]
  readonly references: readonly (readonly string[])[]
}

interface IndexRow {
  readonly name: string
  readonly valid: boolean
  readonly lacking: readonly string[]
  readonly unique: boolean
  readonly constraint: boolean
  readonly refers: boolean
  /** Whether it is a btree over all rows. */
  readonly whole: boolean
  readonly columns: readonly {
    readonly name: string | null
    /** Whether it is compared as the column itself is. */
    readonly plain: boolean
    readonly option: number
  }[]
  readonly scans: number | null
  readonly since: string | null
}

/** A query of one text cell: the tables of the current schema, each with its indexes and foreign keys. */
const INDEXES = `
  select coalesce(jsonb_object_agg(${formattedTable('c', 'n')}, jsonb_build_object('references', (
    select coalesce(jsonb_agg((
      select jsonb_agg(a.attname order by k.position)
      from unnest(o.conkey) with ordinality k(attnum, position)
      join pg_attribute a on a.attrelid = o.conrelid and a.attnum = k.attnum
    )), '[]')
    from pg_constraint o
    where o.conrelid = c.oid and o.contype = 'f'
  ), 'indexes', (
    select coalesce(jsonb_agg(jsonb_build_object(
      'name', x.relname,
      'valid', i.indisvalid,
      'lacking', (
        select coalesce(jsonb_agg(p.relid::regclass::text order by p.relid::regclass::text), '[]')
        from pg_partition_tree(i.indrelid) p join pg_class t on t.oid = p.relid
        where x.relkind = 'I' and t.relkind = 'r' and not exists (
          select from pg_partition_tree(i.indexrelid) h join pg_index j on j.indexrelid = h.relid
          where j.indrelid = p.relid and j.indisvalid
        )
      ),
      'unique', i.indisunique,
      'constraint', exists (${constraintOfIndex('i')}),
      'refers', exists (select from pg_constraint o where o.conrelid = i.indrelid and o.contype = 'f' and i.indkey[0] = any(o.conkey)),
      'whole', m.amname = 'btree' and i.indpred is null,
      'columns', (
        select jsonb_agg(jsonb_build_object(
          'name', a.attname,
          'plain', s.opcdefault and k.sorting = coalesce(a.attcollation, k.sorting),
          'option', k.option
        ) order by k.position)
        from unnest(i.indkey::int2[], i.indclass::oid[], i.indcollation::oid[], i.indoption::int2[])
          with ordinality k(attnum, class, sorting, option, position)
        join pg_opclass s on s.oid = k.class
        left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
      ),
      'scans', u.idx_scan,
      'since', to_char(d.stats_reset at time zone 'UTC', 'YYYY-MM-DD')
    ) order by x.relname), '[]')
    from pg_index i
    join pg_class x on x.oid = i.indexrelid
    join pg_am m on m.oid = x.relam
    left join pg_stat_user_indexes u on u.indexrelid = i.indexrelid
    left join pg_stat_database d on d.datname = current_database()
    where i.indrelid = c.oid
  ))), '{}')::text
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = ${CURRENT_SCHEMA} and c.relkind in ('r', 'p')`

/** The indexes and foreign keys of every table of the current schema, by the name of the table in a configuration. Changes nothing. */
export async function readLiveIndexes(connection: Connection): Promise<ReadonlyMap<string, LiveTable>> {
  const { rows } = await connection.query({ text: INDEXES, values: [] })
  const tables = JSON.parse(rows[0]?.[0] ?? '{}') as Readonly<Record<string, TableRow>>
  return new Map(
    Object.entries(tables).map(([table, { indexes, references }]) => [
      table,
      { indexes: indexes.map(toLive), references },
    ]),
  )
}

function toLive({ whole, columns, scans, since, ...rest }: IndexRow): LiveIndex {
  const [first] = columns
  // Option 3 is descending with nulls first, the reverse of the default. Other orders of nulls serve no list.
  const sound = whole && (first?.option === 0 || first?.option === 3)
  const end = columns.findIndex(({ name, plain, option }) => name === null || !plain || option !== first?.option)
  const serving = sound ? columns.slice(0, end < 0 ? undefined : end) : []
  return {
    ...rest,
    columns: serving.flatMap(({ name }) => name ?? []),
    scans: scans ?? undefined,
    since: since ?? undefined,
  }
}
