import type { Connection } from '../../../db/database.js'
import { CURRENT_SCHEMA, formattedTable } from '../../../fields/table-name.js'
import { collationOfColumn } from './collation.js'
import { describeInParts, TABLES } from './in-parts.js'

/** The tables of one schema, as PostgreSQL describes them. Two catalogues of one server are equal if the tables are. */
export type Catalog = readonly CatalogTable[]

export interface CatalogTable {
  readonly name: string
  readonly columns: readonly CatalogColumn[]
  readonly constraints: readonly CatalogConstraint[]
  /** The indexes that do not belong to a constraint. */
  readonly indexes: readonly CatalogIndex[]
}

export interface CatalogColumn {
  readonly name: string
  readonly type: string
  /** The base type if the column's type is a domain, else null. */
  readonly base: string | null
  /** Null for the type's default collation. For a collation of another schema it is not a name but SQL: see `collationSql`. */
  readonly collation: string | null
  /** The name of the collation, without its schema, if it treats different texts as equal. */
  readonly equating: string | null
  readonly nullable: boolean
  readonly default: string | null
  readonly identity: 'always' | 'by default' | null
  /** The expression from which the column is computed, and how: `(a + b) stored`. */
  readonly generated: string | null
  /** The name of the sequence that the column owns, by an identity or by `serial`. */
  readonly sequence: string | null
  /** The values of an enum, in order, even if the column is an array of them. */
  readonly labels: readonly string[] | null
  /** The same for the base type of a domain. */
  readonly baseLabels: readonly string[] | null
  /** The default of the domain, which a column without a default of its own has. */
  readonly baseDefault: string | null
}

/** A domain holds the values of its base type, and can have a default. */
export function asBase(column: CatalogColumn): CatalogColumn {
  const { base, baseLabels, baseDefault } = column
  return base === null ? column : { ...column, type: base, labels: baseLabels, default: column.default ?? baseDefault }
}

/** Whether the database itself gives the column a value in a new row. */
export function isFilled({ default: value, identity, generated }: CatalogColumn): boolean {
  return value !== null || identity !== null || generated !== null
}

/** The start of an index of a partitioned table without its partitions, as a regular expression of JavaScript and of PostgreSQL. */
export const ON_ONLY = '^(CREATE (?:UNIQUE )?INDEX (?:"(?:[^"]|"")+"|[^" ]+) ON) ONLY '

export interface CatalogConstraint {
  readonly name: string
  readonly kind: 'primary_key' | 'unique' | 'foreign_key' | 'check' | 'other'
  readonly columns: readonly (string | null)[]
  readonly definition: string
  /** False for one that was not checked for existing rows, and for a key that partitions of its table lack. */
  readonly validated: boolean
  /** The table and the columns that a foreign key points to. */
  readonly target: string | null
  readonly targetColumns: readonly string[]
}

export interface CatalogIndex {
  readonly name: string
  /** Null for an expression. */
  readonly columns: readonly (string | null)[]
  /** All columns that it depends on, also within expressions. */
  readonly uses: readonly string[]
  readonly definition: string
  /** False for the remains of a failed `create index concurrently`, and if partitions lack it. PostgreSQL does not read it, and it does not make its columns unique. */
  readonly valid: boolean
}

/**
 * SQL: whether a constraint was declared: a foreign key to a partitioned table also has one for each partition, which refers to the declared one. The first
 * comparison keeps PostgreSQL from reading the constraints of all tables.
 */
export function isDeclared(constraint: string): string {
  return `(${constraint}.conparentid = 0
    or not exists (select from pg_constraint d where d.oid = ${constraint}.conparentid and d.conrelid = ${constraint}.conrelid))`
}

/**
 * SQL: the columns `a` of a table that a list of numbers names, and their places `k.position` in it. With a left join, also the places of expressions.
 * `offset 0` keeps PostgreSQL from reading all columns of the table for each list.
 */
export function columnsOfKey(numbers: string, table: string, join: 'join' | 'left join' = 'join'): string {
  return `unnest(${numbers}) with ordinality k(attnum, position)
    ${join} lateral (select attname from pg_attribute where attrelid = ${table} and attnum = k.attnum offset 0) a on true`
}

/** SQL: the constraint that an index implements. PostgreSQL has an index on the tables of constraints, and none on their indexes. */
export function constraintOfIndex(index: string): string {
  return `select from pg_constraint o where o.conrelid = ${index}.indrelid and o.conindid = ${index}.indexrelid and o.contype in ('p', 'u', 'x')`
}

/** SQL: whether tables other than partitions inherit from the table `c`. */
export const IS_INHERITED = `c.relkind <> 'p' and exists (select from pg_inherits where inhparent = c.oid)`

/** The schema named by `$1`, or the current one. */
const SCHEMA = `coalesce($1, ${CURRENT_SCHEMA})`

/** SQL: the values of an enum or of an array of them; null for other types. */
function labelsOf(type: string): string {
  return `(select coalesce((select json_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = y.oid), '[]')
  from pg_type y where y.typtype = 'e' and y.oid = case when ${type}.typcategory = 'A' then ${type}.typelem else ${type}.oid end)`
}

/** SQL: the type under a domain, which may be a domain of a domain, and whether one of them forbids null; no row for other types. */
const UNDERLYING = `
  with recursive domains(oid, typmod, required) as (
    select t.typbasetype, t.typtypmod, t.typnotnull where t.typtype = 'd'
    union all select d.typbasetype, d.typtypmod, domains.required or d.typnotnull from domains join pg_type d using (oid) where d.typtype = 'd'
  )
  select oid, typmod, required, typcategory, typelem from domains join pg_type using (oid) where typtype <> 'd'`

/**
 * A query of one text cell: tables with their columns, constraints and indexes.
 * Version 18 lists each not-null as a constraint; the column says so already, as it does on older versions.
 */
function catalogOf(which: string): string {
  return `
  select coalesce(json_agg(json_build_object(
    'name', ${formattedTable('c', 'n', SCHEMA)},
    'columns', (
      select coalesce(json_agg(json_build_object(
        'name', a.attname,
        'type', format_type(a.atttypid, a.atttypmod),
        'base', format_type(u.oid, u.typmod),
        'collation', ${collationOfColumn(SCHEMA)},
        'equating', case when not l.collisdeterministic then l.collname end,
        'nullable', not (a.attnotnull or coalesce(u.required, false) and c.relkind in ('r', 'p', 'f')),
        'default', case when a.attgenerated = '' then pg_get_expr(d.adbin, d.adrelid) end,
        'identity', case a.attidentity when 'a' then 'always' when 'd' then 'by default' end,
        'generated', '(' || pg_get_expr(d.adbin, d.adrelid) || case a.attgenerated when 's' then ') stored' when 'v' then ') virtual' end,
        'sequence', (
          select s.relname
          from pg_depend p
          join pg_class s on s.oid = p.objid and s.relkind = 'S'
          where p.classid = 'pg_class'::regclass and p.refclassid = 'pg_class'::regclass
            and p.refobjid = a.attrelid and p.refobjsubid = a.attnum and p.deptype in ('i', 'a')
          order by p.deptype desc, s.relname
          limit 1
        ),
        'labels', ${labelsOf('t')},
        'baseLabels', case when t.typtype = 'd' then ${labelsOf('u')} end,
        'baseDefault', case when t.typtype = 'd' and a.attgenerated = '' then pg_get_expr(t.typdefaultbin, 0) end
      ) order by a.attname), '[]')
      from pg_attribute a
      join pg_type t on t.oid = a.atttypid
      left join lateral (${UNDERLYING}) u on true
      left join pg_type b on b.oid = t.typbasetype and t.typtype = 'd'
      left join pg_collation l on l.oid = a.attcollation
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    ),
    'constraints', (
      select coalesce(json_agg(json_build_object(
        'name', o.conname,
        'kind', case o.contype when 'p' then 'primary_key' when 'u' then 'unique' when 'f' then 'foreign_key'
                               when 'c' then 'check' else 'other' end,
        'columns', (
          select coalesce(json_agg(a.attname order by k.position), '[]')
          from ${columnsOfKey('o.conkey', 'o.conrelid')}
        ),
        'definition', pg_get_constraintdef(o.oid),
        -- PostgreSQL calls a key valid whose index partitions lack.
        'validated', o.convalidated and not exists (
          select from pg_index i where o.contype in ('p', 'u', 'x') and i.indexrelid = o.conindid and not i.indisvalid
        ),
        'target', (
          select ${formattedTable('r', 's', SCHEMA)} from pg_class r join pg_namespace s on s.oid = r.relnamespace where r.oid = o.confrelid
        ),
        'targetColumns', (
          select coalesce(json_agg(a.attname order by k.position), '[]')
          from ${columnsOfKey('o.confkey', 'o.confrelid')}
        )
      ) order by o.conname), '[]')
      from pg_constraint o
      where o.conrelid = c.oid and o.contype in ('p', 'u', 'f', 'c', 'x') and ${isDeclared('o')}
    ),
    'indexes', (
      select coalesce(json_agg(json_build_object(
        'name', x.relname,
        'columns', (
          select coalesce(json_agg(a.attname order by k.position), '[]')
          from ${columnsOfKey('i.indkey', 'i.indrelid', 'left join')}
        ),
        'uses', (
          select coalesce(json_agg(distinct a.attname), '[]')
          from pg_depend p
          join pg_attribute a on a.attrelid = p.refobjid and a.attnum = p.refobjsubid
          where p.classid = 'pg_class'::regclass and p.objid = i.indexrelid
            and p.refclassid = 'pg_class'::regclass and p.refobjid = i.indrelid and p.refobjsubid > 0
        ),
        -- ONLY is about a partitioned table. It stays if a partition lacks the index.
        'definition', case when i.indisvalid
          then regexp_replace(pg_get_indexdef(i.indexrelid, 0, true), '${ON_ONLY}', '\\1 ')
          else pg_get_indexdef(i.indexrelid, 0, true) end,
        'valid', i.indisvalid
      ) order by x.relname), '[]')
      from pg_index i
      join pg_class x on x.oid = i.indexrelid
      where i.indrelid = c.oid
        and not exists (${constraintOfIndex('i')})
    )
  ) order by c.relname), '[]')::text
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where ${which} and ${isOfNoExtension('c')}`
}

function isOfNoExtension(table: string): string {
  return `not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = ${table}.oid and e.deptype = 'e')`
}

/** SQL: whether `c`, which belongs to the schema `n`, is a table of the schema. */
const OWN_TABLES = `n.nspname = ${SCHEMA} and c.relkind in ('r', 'p')`

const IS_TABLE_OR_VIEW = `c.relkind in ('r', 'p', 'v', 'm', 'f')`

/** Some tables of the schema, after the first `$2`, so that a scratch database never has the texts of all of them in its memory at once. */
const CATALOG = catalogOf(`c.oid in (
    select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where ${OWN_TABLES} and ${isOfNoExtension('c')}
    order by c.relname limit ${TABLES} offset $2::int
  )`)

/** Tables and views of the schema, and those of other schemas that are named by the JSON list in a parameter. */
function withViews(names: string): string {
  return `(n.nspname = ${SCHEMA} or ${isNamed(names)}) and ${IS_TABLE_OR_VIEW}`
}

function isNamed(names: string): string {
  return `${formattedTable('c', 'n', SCHEMA)} in (select jsonb_array_elements_text(${names}))`
}

/** The tables and views that are named by the JSON list in a parameter. */
export function catalogOfNamed(names: '$3'): string {
  return catalogOf(`${isNamed(names)} and ${IS_TABLE_OR_VIEW}`)
}

function listOf(which: string): string {
  return `
  select coalesce(json_agg(json_build_array(c.oid::text, c.relnatts) order by c.relname, n.nspname), '[]')::text
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${which}`
}

const DESCRIBED = catalogOf('c.oid in (select jsonb_array_elements_text($2)::oid)')

/**
 * The tables of a schema, by default the current one. Definitions name tables without their schema while
 * session's search path is that schema. For scratch databases, which have no time limit; for others, see `readLiveCatalog`.
 */
export async function readCatalog(connection: Connection, schema: string | null = null): Promise<Catalog> {
  const tables: CatalogTable[] = []
  for (;;) {
    const { rows } = await connection.query({
      text: CATALOG,
      values: [schema, String(tables.length)],
      name: `catalog of ${schema}`,
    })
    const part = JSON.parse(rows[0]?.[0] ?? '[]') as Catalog
    tables.push(...part)
    if (part.length < TABLES) return tables
  }
}

/**
 * The tables of the current schema of a database of any size, 200 in each statement, so that none takes too long. Changes between two statements may be
 * seen in part.
 */
export async function readLiveCatalog(connection: Connection): Promise<Catalog> {
  const list = { text: listOf(OWN_TABLES), values: [null] }
  return describeInParts<CatalogTable>(connection, list, { text: DESCRIBED, values: [null] })
}

/** The named tables and views, and all others of the current schema. */
export async function readTables(connection: Connection, names: readonly string[]): Promise<Catalog> {
  const list = { text: listOf(withViews('$2')), values: [null, JSON.stringify(names)] }
  return describeInParts<CatalogTable>(connection, list, { text: DESCRIBED, values: [null] })
}
