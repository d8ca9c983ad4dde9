import { bareName, formattedTable, tableSql } from '../../fields/table-name.js'
import type { Connection } from '../../db/database.js'
import { identifier } from '../../fields/sql-literal.js'
import { shellWord } from '../../foundation/shell-word.js'
import { type Destroyed, destroyedBy, formatNamed, type Named } from './destruction.js'
import { MigrationError } from '../files/error.js'
import type { Migration } from '../files/files.js'
import { JOURNAL } from '../files/journal.js'

/** A table, column or attribute of a composite type with values that a migration destroys. */
export interface Loss {
  readonly migration: string
  /** `books`, `sales.books`, `books.title`, or `address.city` of a type: the name to pass to `--allow-destructive`. */
  readonly object: string
  readonly kind: Destroyed['kind'] | 'deleted' | 'adopted'
  /** The number of lost values or rows; undefined if unknown. */
  readonly count: string | undefined
  /** Each table that rows were deleted from, with those of which it is a partition or a child; each needs permission for one of these. */
  readonly from?: readonly (readonly string[])[]
}

/** Thrown for a migration that would destroy objects without consent. Nothing was changed. */
export class ConsentNeeded extends MigrationError {
  override name = 'ConsentNeeded'
  readonly losses: readonly Loss[]

  constructor(losses: readonly Loss[]) {
    super(losses.map(describeLoss), [
      `Allow exactly this: --allow-destructive=${shellWord(objectsOf(losses).join(','))}`,
    ])
    this.losses = losses
  }
}

/** Returns the distinct objects, in order. */
export function objectsOf(losses: readonly Loss[]): readonly string[] {
  return [...new Set(losses.map(({ object }) => object))]
}

const WORDS: Readonly<Record<Loss['kind'], { readonly verb: string; readonly part: string; readonly lost: string }>> = {
  column: { verb: 'drops the column', part: 'value', lost: 'is lost with it' },
  table: { verb: 'drops the table', part: 'row', lost: 'is lost with it' },
  rows: { verb: 'deletes from the table', part: 'row', lost: 'is in it' },
  deleted: { verb: 'deletes from the table', part: 'row', lost: 'may be lost' },
  attribute: { verb: 'drops the attribute', part: '', lost: '' },
  adopted: { verb: 'drops objects that others created:', part: '', lost: '' },
}

/** `0002_less drops the column books.size: 1,204 values are lost with it`. */
export function describeLoss({ migration, object, kind, count }: Loss): string {
  const { verb, part, lost } = WORDS[kind]
  const what = `${migration} ${verb} ${object}`
  if (count === undefined) return what
  return count === '1' ? `${what}: 1 ${part} ${lost}` : `${what}: ${count} ${part}s ${lost.replace('is', 'are')}`
}

/** Whether an object may be destroyed. */
export type Allows = (object: string) => boolean

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

const TABLES_AND_TYPES = `
  pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  where c.relkind in ('r', 'p', 'c') and c.relpersistence <> 't' and c.relname !~ '^${JOURNAL}'`

const TYPE = 'type '

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

async function currentSchema(connection: Connection): Promise<string> {
  const { rows } = await connection.query({ text: 'select current_schema()', values: [] })
  return rows[0]?.[0] ?? ''
}

/**
 * Finds the existing objects that the statements of pending files destroy. A new database, to which all files are applied, loses nothing.
 */
export async function lossesOfFiles(
  connection: Connection,
  files: readonly Migration[],
  part: 'up' | 'down',
): Promise<readonly Loss[]> {
  const schema = await currentSchema(connection)
  const statements = files.flatMap((file) => file[part] ?? [])
  const owners = new Map(
    files.flatMap((file) =>
      destroyedBy(file[part] ?? [], schema).map(({ object }) => [formatNamed(object), file.name] as const),
    ),
  )
  const found: (Existing & Pick<Destroyed, 'kind' | 'cascade'> & { readonly migration: string })[] = []
  for (const { object, was, kind, cascade } of destroyedBy(statements, schema)) {
    const text = formatNamed(object)
    const renamed = text === formatNamed(was) ? {} : { name: text }
    for (const existing of await findObjects(connection, was, kind))
      found.push({ ...existing, ...renamed, kind, cascade, migration: owners.get(text) ?? '' })
  }
  const losses: Loss[] = []
  const named = new Set(found.map(({ name }) => name))
  for (const { name, table, column, kind, cascade, migration } of found) {
    const count = kind === 'attribute' ? undefined : await countOf(connection, table, column)
    losses.push({ migration, object: name, kind, count })
    for (const referrer of cascade ? await referrersOf(connection, table, cascade) : []) {
      if (named.has(referrer.name)) continue
      named.add(referrer.name)
      losses.push({ migration, object: referrer.name, kind, count: await countOf(connection, referrer.table) })
    }
  }
  return part === 'up' ? losses : [...losses, ...adoptedIn(files, losses)]
}

/** An existing table or column. */
interface Existing {
  readonly name: string
  /** The table as SQL. */
  readonly table: string
  readonly column?: string | undefined
}

/** A table without a schema that the connection does not find may be in a schema that the file sets. */
const FIND = `
  select ${formattedTable('c', 'n')}, c.oid::regclass::text from ${TABLES_AND_TYPES}
  and (c.relkind = 'c') = $4::boolean and (c.oid = to_regclass($1) or (to_regclass($1) is null and c.relname = $2))
  and ($3::text is null or exists (select from pg_attribute where attrelid = c.oid and attname = $3 and attnum > 0 and not attisdropped))
  order by 1`

async function findObjects(
  connection: Connection,
  { table, column }: Named,
  kind: Destroyed['kind'],
): Promise<readonly Existing[]> {
  const sql = tableSql(table)
  const bare = bareName(table)
  const values = [sql, sql === identifier(bare) ? bare : null, column ?? null, String(kind === 'attribute')]
  const { rows } = await connection.query({ text: FIND, values })
  return rows.map(([found, regclass]) => ({
    name: formatNamed({ table: found ?? '', column }),
    table: regclass ?? '',
    column,
  }))
}

const REFERRERS = `
  with recursive referrers (id) as (
    select conrelid from pg_constraint
    where contype = 'f' and confrelid = to_regclass($1) and ($2 = 'all foreign keys' or confdeltype = 'c')
    union
    select conrelid from pg_constraint join referrers on confrelid = id
    where contype = 'f' and ($2 = 'all foreign keys' or confdeltype = 'c')
  )
  select ${formattedTable('c', 'n')}, id::regclass::text
  from referrers join pg_class c on c.oid = id join pg_namespace n on n.oid = c.relnamespace
  where id <> to_regclass($1) order by 1`

/** The tables whose rows are deleted with those of a table, because they refer to it. */
async function referrersOf(connection: Connection, table: string, cascade: string): Promise<readonly Existing[]> {
  const { rows } = await connection.query({ text: REFERRERS, values: [table, cascade] })
  return rows.map(([name, regclass]) => ({ name: name ?? '', table: regclass ?? '' }))
}

/** Objects that existed before the files that adopted them. */
function adoptedIn(files: readonly Migration[], losses: readonly Loss[]): readonly Loss[] {
  return files.flatMap((file) =>
    adoptedBy(file)
      .filter((object) => !losses.some((loss) => loss.object === object))
      .map((object): Loss => ({ migration: file.name, object, kind: 'adopted', count: undefined })),
  )
}

/** Earlier versions wrote adoption files without a heading that names the object. */
function adoptedBy({ name, adopted, down = [] }: Migration): readonly string[] {
  if (adopted.length > 0 || !/^\d+_adopt_/.test(name)) return adopted
  return down.flatMap(({ text }) => {
    const [, table, part] = /^(?:alter table "(.*)" drop constraint|drop index) "(.*)"$/.exec(text) ?? []
    return part === undefined ? [] : [table === undefined ? part : `${table}.${part}`]
  })
}

/** Counts within the statement timeout; a table with many millions of rows is not worth the wait. */
async function countOf(connection: Connection, table: string, column?: string): Promise<string | undefined> {
  try {
    const what = column === undefined ? '*' : identifier(column)
    const counted = await connection.query({ text: `select count(${what}) from ${table}`, values: [] })
    return Number(counted.rows[0]?.[0]).toLocaleString('en-US')
  } catch {
    return undefined
  }
}

/** Whether a loss is allowed, by its own name or by a name that the file gave it earlier. */
export function isAllowed(
  { object, from = [[object]] }: Loss,
  statements: Migration['up'],
  { allows, schema }: { readonly allows: Allows; readonly schema: string },
): boolean {
  const destroyed = destroyedBy(statements, schema)
  const isNamed = (name: string): boolean =>
    allows(name) || destroyed.some((each) => formatNamed(each.was) === name && allows(formatNamed(each.object)))
  return from.every((names) => names.some(isNamed))
}

/**
 * Finds what one migration has actually destroyed of the objects from the start of the run, under their names before the migration.
 * @param inventories the objects at the start of the run, before the migration and after it
 */
export function lossesBetween(
  migration: string,
  inventories: { readonly start: Inventory; readonly before: Inventory; readonly after: Inventory },
): readonly Loss[] {
  const { start, before, after } = inventories
  const gone = [...before.objects].filter(([id]) => start.objects.has(id) && !after.objects.has(id))
  const wholes = new Set(gone.flatMap(([id]) => (id.includes('.') ? [] : [id])))
  const dropped = gone.flatMap(([id, object]) => {
    const kind = kindOf(id)
    // A type that is dropped had no values, except in columns that are dropped with it.
    const isPart = wholes.has(id.split('.')[0] ?? '') && id.includes('.')
    return kind === undefined || isPart ? [] : [{ migration, object, kind, count: undefined }]
  })
  return [...dropped, ...deletedBetween(migration, inventories)]
}

/**
 * The deletions of one migration, also by functions, triggers, rules and views. An update that moves a row to another partition deletes and
 * inserts it, so the partitions of one table are counted together.
 */
function deletedBetween(
  migration: string,
  { start, before, after }: Parameters<typeof lossesBetween>[1],
): readonly Loss[] {
  const grown = (counts: 'deleted' | 'inserted', id: string): number =>
    (after[counts].get(id) ?? 0) - (before[counts].get(id) ?? 0)
  const names = new Map([...after.objects, ...before.objects])
  const parents = new Map([...after.parents, ...before.parents])
  // A partition that the migration detaches counts with its former table.
  const roots = new Map([...after.roots, ...before.roots])
  const groups = new Map<string, string[]>()
  for (const id of after.deleted.keys()) {
    const root = roots.get(id) ?? id
    groups.set(root, [...(groups.get(root) ?? []), id])
  }
  return [...groups].flatMap(([root, tables]): readonly Loss[] => {
    const sources = tables.filter((id) => grown('deleted', id) > 0)
    const deleted = sources.reduce((sum, id) => sum + grown('deleted', id), 0)
    const inserted = roots.has(root) ? tables.reduce((sum, id) => sum + grown('inserted', id), 0) : 0
    const existing = [root, ...sources].find((id) => start.objects.has(id) && before.objects.has(id))
    if (existing === undefined || deleted <= inserted) return []
    const from = sources.map((id) => [id, ...ancestorsOf(id, parents)].map((each) => names.get(each) ?? ''))
    const count = (deleted - inserted).toLocaleString('en-US')
    return [{ migration, object: names.get(existing) ?? '', kind: 'deleted', count, from }]
  })
}

function ancestorsOf(id: string, parents: Inventory['parents']): readonly string[] {
  const direct = parents.get(id) ?? []
  return [...direct, ...direct.flatMap((each) => ancestorsOf(each, parents))]
}

function kindOf(id: string): Loss['kind'] | undefined {
  const isType = id.startsWith(TYPE)
  if (id.includes('.')) return isType ? 'attribute' : 'column'
  return isType ? undefined : 'table'
}
