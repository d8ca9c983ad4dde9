import type { Connection } from '../../../db/database.js'
import { type Command, type Privileges, PRIVILEGES, REPLACED, SOURCE_KEYS, WRITABLE } from './privileges.js'
import { TRIGGERS, type WritingTrigger } from './triggers.js'
import { ANSWERS } from '../../../config/parse/answers-model.js'
import { KEYS } from '../../../config/parse/keys-model.js'
import { CURRENT_SCHEMA, formattedTable } from '../../../fields/table-name.js'
import { JOURNAL } from '../../files/journal.js'
import { columnsOfKey, constraintOfIndex, IS_INHERITED, isDeclared } from './catalog.js'
import { BUILT_IN_COLLATIONS, collationOfColumn } from './collation.js'
import { ATTACHED, STORAGE } from './attached.js'
import { describeInParts } from './in-parts.js'
import { extended, OTHERS, OWN } from './other-objects.js'

/** The contents of the current schema, with everything needed to recreate them. */
export interface SchemaInspection {
  readonly schema: string
  readonly tables: readonly InspectedTable[]
  readonly enums: readonly { readonly name: string; readonly labels: readonly string[] }[]
  readonly sequences: readonly InspectedSequence[]
  /** Other objects, one phrase each: `view active_users`. */
  readonly others: readonly string[]
}

export interface InspectedTable {
  /** As `readTableName` reads it. */
  readonly name: string
  /** The reason why it is not an ordinary table; null for an ordinary one. */
  readonly special: string | null
  readonly view: boolean
  /** The columns of the primary keys of the tables that a view reads. */
  readonly sourceKeys: readonly (readonly string[])[]
  /** Whether it is a partition, whose rows belong to another table. */
  readonly partition: boolean
  /** The number of rows, as PostgreSQL estimates it; null if it does not know. */
  readonly rows: number | null
  /** The average size of a stored row in bytes; null for few rows, and if PostgreSQL does not know their number. */
  readonly width: number | null
  readonly triggers: readonly WritingTrigger[]
  /** Whether it has data; a materialized view may not have any yet. */
  readonly populated: boolean
  /** Whether policies decide which rows a role sees. */
  readonly rowSecurity: boolean
  /** Whether rows can be inserted, updated and deleted, according to PostgreSQL, without regard to rules and privileges. */
  readonly writable: boolean
  readonly privileges: Privileges
  /** The commands that rules of the table replace. */
  readonly replaced: readonly Command[]
  /** Whether tables other than partitions inherit from it. */
  readonly inherited: boolean
  readonly comment: string | null
  readonly columns: readonly InspectedColumn[]
  readonly constraints: readonly InspectedPart[]
  readonly indexes: readonly InspectedPart[]
  readonly unlogged: boolean
  /** Its storage parameters: `fillfactor=70`. */
  readonly storage: readonly string[]
  /** Attached objects and settings that the recorded statements do not create: `trigger touch`. */
  readonly attached: readonly string[]
}

export interface InspectedColumn {
  readonly name: string
  readonly type: string
  /** Whether only this database has the type: it comes from an extension, is a domain, or is in another schema. */
  readonly foreign: boolean
  /** As in the catalogue. */
  readonly collation: string | null
  /** Whether only this database has the collation. */
  readonly foreignCollation: boolean
  readonly notNull: boolean
  readonly default: string | null
  /** Whether the default calls a function, or names a collation, that only this database has. */
  readonly foreignDefault: boolean
  /** The expression from which the column is computed, and how: `(a + b) stored`. */
  readonly generated: string | null
  readonly identity: 'always' | 'by default' | null
  /** The options of an identity's sequence, if they are not the defaults. */
  readonly sequenceOptions: string | null
  readonly comment: string | null
}

/** A constraint or an index. */
export interface InspectedPart {
  readonly name: string
  readonly kind: 'primary_key' | 'unique' | 'foreign_key' | 'check' | 'exclusion' | 'index'
  readonly definition: string
  readonly columns: readonly (string | null)[]
  readonly target: string | null
  readonly foreign: boolean
}

export interface InspectedSequence {
  readonly name: string
  /** Everything that follows the name. */
  readonly options: string
  readonly table: string | null
  readonly column: string | null
}

/** SQL: whether a collation is built in, and also in the database whose collations are listed in a parameter. */
function isKnownCollation(collation: string): string {
  return `(${collation}.collnamespace = 'pg_catalog'::regnamespace
  and ($1::text is null or ${collation}.collname in (select json_array_elements_text($1::json))))`
}

/** SQL: whether an object uses a function, an operator, a type or a collation that is not built in, other than enums of this schema. */
function dependsOnForeign(catalog: string, oid: string, column = '0'): string {
  return `exists (
  select from pg_depend p where p.classid = '${catalog}'::regclass and p.objid = ${oid} and p.objsubid = ${column} and p.deptype in ('n', 'a') and (
    p.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_opclass'::regclass)
    or p.refclassid = 'pg_collation'::regclass
      and exists (select from pg_collation y where y.oid = p.refobjid and not ${isKnownCollation('y')})
    or p.refclassid = 'pg_type'::regclass
      and not exists (select from pg_type y where y.oid = p.refobjid and ${isKnownType('y')})))`
}

/** SQL: whether a type is built in, an enum of this schema, or an array of either. */
function isKnownType(type: string): string {
  const known = (one: string) =>
    `(${one}.typnamespace = 'pg_catalog'::regnamespace or ${one}.typtype = 'e' and ${one}.typnamespace = ${OWN})
      and not ${extended('pg_type', `${one}.oid`)}`
  return `(case when ${type}.typelem <> 0 and ${type}.typlen = -1
    then exists (select from pg_type m where m.oid = ${type}.typelem and ${known('m')}) else ${known(type)} end)`
}

function COUNTING(sequence: string): string {
  return `concat_ws(' ',
  case when ${sequence}.seqincrement < 0 or ${sequence}.seqstart <> 1 then 'start ' || ${sequence}.seqstart end,
  case when ${sequence}.seqincrement <> 1 then 'increment ' || ${sequence}.seqincrement end,
  case when ${sequence}.seqincrement < 0 or ${sequence}.seqmin <> 1 then 'minvalue ' || ${sequence}.seqmin end,
  case when ${sequence}.seqincrement < 0 or ${sequence}.seqmax <> case ${sequence}.seqtypid when 'smallint'::regtype then 32767
    when 'integer'::regtype then 2147483647 else 9223372036854775807 end then 'maxvalue ' || ${sequence}.seqmax end,
  case when ${sequence}.seqcache <> 1 then 'cache ' || ${sequence}.seqcache end, case when ${sequence}.seqcycle then 'cycle' end)`
}

/** SQL: whether the default `d` of the column `a`, or its expression, does. For a generated column, PostgreSQL 14 notes that with the column. */
const DEFAULT_IS_FOREIGN = `${dependsOnForeign('pg_attrdef', 'd.oid')}
  or a.attgenerated <> '' and ${dependsOnForeign('pg_class', 'c.oid', 'a.attnum')}`

const COLUMNS = `
  select coalesce(jsonb_agg(jsonb_build_object(
    'name', a.attname,
    'type', format_type(a.atttypid, a.atttypmod),
    'foreign', not ${isKnownType('t')},
    'collation', ${collationOfColumn(CURRENT_SCHEMA)},
    'foreignCollation', l.oid is not null and not ${isKnownCollation('l')},
    'notNull', a.attnotnull,
    'default', case when a.attgenerated = '' then pg_get_expr(d.adbin, d.adrelid) end,
    'foreignDefault', d.oid is not null and (${DEFAULT_IS_FOREIGN}),
    'generated', '(' || pg_get_expr(d.adbin, d.adrelid) || case a.attgenerated when 's' then ') stored' when 'v' then ') virtual' end,
    'identity', case a.attidentity when 'a' then 'always' when 'd' then 'by default' end,
    'sequenceOptions', (
      select nullif(concat_ws(' ', case when s.relname <> c.relname || '_' || a.attname || '_seq'
        then 'sequence name ' || quote_ident(s.relname) end, nullif(${COUNTING('q')}, '')), '')
      from pg_depend p join pg_class s on s.oid = p.objid and s.relkind = 'S' join pg_sequence q on q.seqrelid = s.oid
      where p.classid = 'pg_class'::regclass and p.refclassid = 'pg_class'::regclass
        and p.refobjid = c.oid and p.refobjsubid = a.attnum and p.deptype = 'i'
    ),
    'comment', col_description(c.oid, a.attnum)
  ) order by a.attnum), '[]')
  from pg_attribute a
  join pg_type t on t.oid = a.atttypid
  left join pg_type b on b.oid = t.typbasetype and t.typtype = 'd'
  left join pg_collation l on l.oid = a.attcollation
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped`

function namesOf(keys: string, relation: string): string {
  return `(
  select coalesce(jsonb_agg(a.attname order by k.position), '[]') from ${columnsOfKey(keys, relation, 'left join')})`
}

const CONSTRAINTS = `
  select coalesce(jsonb_agg(jsonb_build_object(
    'name', o.conname,
    'kind', case o.contype when 'p' then 'primary_key' when 'u' then 'unique' when 'f' then 'foreign_key' when 'c' then 'check' else 'exclusion' end,
    'definition', pg_get_constraintdef(o.oid),
    'columns', ${namesOf('o.conkey', 'o.conrelid')},
    'target', (select ${formattedTable('f', 'm')} from pg_class f join pg_namespace m on m.oid = f.relnamespace where f.oid = o.confrelid),
    'foreign', ${dependsOnForeign('pg_constraint', 'o.oid')} or ${dependsOnForeign('pg_class', 'o.conindid')}
  ) order by o.contype <> 'p', o.conname), '[]')
  from pg_constraint o
  where o.conrelid = c.oid and o.contype in ('p', 'u', 'f', 'c', 'x') and o.conislocal and ${isDeclared('o')}`

const INDEXES = `
  select coalesce(jsonb_agg(jsonb_build_object(
    'name', x.relname,
    'kind', 'index',
    'definition', pg_get_indexdef(i.indexrelid, 0, true),
    'columns', ${namesOf('i.indkey', 'i.indrelid')},
    'target', null,
    'foreign', ${dependsOnForeign('pg_class', 'x.oid')}
  ) order by x.relname), '[]')
  from pg_index i
  join pg_class x on x.oid = i.indexrelid
  where i.indrelid = c.oid
    and not exists (${constraintOfIndex('i')})`

/** Empty parts of blocks distort the average of fewer rows. */
const FEWEST_ROWS = 100

const TABLES = `
  select coalesce(jsonb_agg(jsonb_build_object(
    'name', ${formattedTable('c', 'n')},
    'partition', c.relispartition,
    'rows', case when c.relkind not in ('v', 'f') and c.reltuples >= 0 then c.reltuples::bigint end,
    'width', case when c.reltuples >= ${FEWEST_ROWS} then (pg_table_size(c.oid) / c.reltuples)::bigint end,
    'writable', ${WRITABLE},
    'privileges', (${PRIVILEGES}),
    'replaced', (${REPLACED}),
    'inherited', ${IS_INHERITED},
    'triggers', (${TRIGGERS}),
    'rowSecurity', c.relrowsecurity,
    'populated', c.relispopulated,
    'special', case
      when c.relkind = 'v' then 'it is a view'
      when c.relkind = 'm' then 'it is a materialized view'
      when c.relkind = 'p' then 'it is partitioned'
      when c.relispartition then 'it is a partition'
      when exists (select from pg_inherits where inhrelid = c.oid) then 'it inherits from another table'
      when c.reloftype <> 0 then 'it is of a composite type'
      when c.relkind = 'f' then 'it is a foreign table' end,
    'view', c.relkind in ('v', 'm'),
    'sourceKeys', (${SOURCE_KEYS}),
    'comment', obj_description(c.oid, 'pg_class'),
    'columns', (${COLUMNS}),
    'constraints', (${CONSTRAINTS}),
    'indexes', (${INDEXES}),
    'unlogged', c.relpersistence = 'u',
    'storage', (${STORAGE}),
    'attached', (${ATTACHED})
  ) order by c.relname, n.nspname), '[]')::text
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.oid in (select json_array_elements_text($2::json)::oid)`

const LISTED = `
  select coalesce(jsonb_agg(jsonb_build_array(c.oid::text, c.relnatts) order by c.relname, n.nspname), '[]')::text
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where case when $1::text is null then c.relnamespace = ${OWN} else n.nspname in (select json_array_elements_text($1::json)) end
    and c.relkind in ('r', 'p', 'f', 'v', 'm') and c.relname !~ '^${JOURNAL}' and ($2::boolean or c.relname not in ('${ANSWERS}', '${KEYS}'))
    and not ${extended('pg_class', 'c.oid')}`

const ENUMS = `
  select coalesce(jsonb_agg(jsonb_build_object('name', t.typname, 'labels', (
    select coalesce(jsonb_agg(e.enumlabel order by e.enumsortorder), '[]') from pg_enum e where e.enumtypid = t.oid)) order by t.typname), '[]')
  from pg_type t where t.typnamespace = ${OWN} and t.typtype = 'e' and not ${extended('pg_type', 't.oid')}`

const SEQUENCES = `
  select coalesce(jsonb_agg(jsonb_build_object(
    'name', s.relname,
    'options', concat_ws(' ', case when q.seqtypid <> 'bigint'::regtype then 'as ' || format_type(q.seqtypid, null) end,
      nullif(${COUNTING('q')}, '')),
    'table', ${formattedTable('r', 'n')},
    'column', a.attname
  ) order by s.relname), '[]')
  from pg_class s
  join pg_sequence q on q.seqrelid = s.oid
  left join pg_depend p on p.classid = 'pg_class'::regclass and p.refclassid = 'pg_class'::regclass and p.objid = s.oid and p.deptype in ('a', 'i')
  left join (pg_class r join pg_namespace n on n.oid = r.relnamespace) on r.oid = p.refobjid
  left join pg_attribute a on a.attrelid = r.oid and a.attnum = p.refobjsubid
  where s.relnamespace = ${OWN} and s.relkind = 'S' and p.deptype is distinct from 'i' and s.relname !~ '^${JOURNAL}'
    and not ${extended('pg_class', 's.oid')}`

const INSPECTION = `select jsonb_build_object('schema', ${CURRENT_SCHEMA}, 'enums', (${ENUMS}),
  'sequences', (${SEQUENCES}), 'others', (${OTHERS}))::text`

interface Inspecting {
  /** The schemas whose tables and views are wanted, by default the current one. */
  readonly schemas?: readonly string[] | undefined
  /** A database that is to have the same tables: collations that it lacks count as foreign. */
  readonly other?: Connection
  /** Whether the tables of the service itself, other than the journal, are wanted. */
  readonly ofService?: boolean
}

/** Inspects everything in the current schema except the tables of the service itself. */
export async function inspectSchema(
  connection: Connection,
  { schemas, other, ofService = false }: Inspecting = {},
): Promise<SchemaInspection> {
  const known = (await other?.query({ text: BUILT_IN_COLLATIONS, values: [] }))?.rows[0]?.[0] ?? null
  const wanted = schemas === undefined ? null : JSON.stringify(schemas)
  const tables = await describeInParts<InspectedTable>(
    connection,
    { text: LISTED, values: [wanted, String(ofService)] },
    { text: TABLES, values: [known] },
  )
  const { rows } = await connection.query({ text: INSPECTION, values: [] })
  return { ...(JSON.parse(rows[0]?.[0] ?? '{}') as Omit<SchemaInspection, 'tables'>), tables }
}
