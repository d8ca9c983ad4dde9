import { tableSql } from '../../fields/table-name.js'
import type { Connection } from '../../db/database.js'
import { identifier } from '../../fields/sql-literal.js'
import { shellWord } from '../../shell-word.js'
import { destroyedBy } from './destruction.js'
import { MigrationError } from '../files/error.js'
import type { Migration } from '../files/files.js'
import { JOURNAL } from '../files/journal.js'
import { partsOf } from '../files/steps.js'

/** A table or column with values that a migration destroys. */
export interface Loss {
  readonly migration: string
  /** `books` or `books.title`: the name to pass to `--allow-destructive`. */
  readonly object: string
  readonly kind: 'column' | 'table' | 'rows' | 'adopted'
  /** The number of lost values or rows; undefined if unknown. */
  readonly count: string | undefined
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
  adopted: { verb: 'drops objects that others made:', part: '', lost: '' },
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

/** The tables and columns of a database by their identity, which survives renames. */
export type Inventory = ReadonlyMap<string, string>

const OBJECTS = `
  select o.id, o.name from (
    select c.oid::text id, c.relname::text name, n.nspname schema
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and c.relpersistence <> 't'
    union all
    select c.oid || '.' || a.attnum, c.relname || '.' || a.attname, n.nspname
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relkind in ('r', 'p') and c.relpersistence <> 't'
  ) o
  where o.schema !~ '^pg_' and o.schema <> 'information_schema' and o.name !~ '^${JOURNAL}'`

export async function takeInventory(connection: Connection): Promise<Inventory> {
  const { rows } = await connection.query({ text: OBJECTS, values: [] })
  return new Map(rows.map(([id, name]) => [id ?? '', name ?? '']))
}

/**
 * Finds the existing objects that the statements of pending files destroy. A new database, to which all files are applied, loses nothing.
 */
export async function lossesOfFiles(
  connection: Connection,
  files: readonly Migration[],
  part: 'up' | 'down',
): Promise<readonly Loss[]> {
  const there = new Set((await takeInventory(connection)).values())
  const marked = files.flatMap((file) => (file[part] ?? []).map((statement) => ({ statement, file })))
  const destroyed = destroyedBy(marked.map(({ statement }) => statement))
  const owners = new Map(
    files.flatMap((file) => destroyedBy(file[part] ?? []).map(({ object }) => [object, file.name] as const)),
  )
  const losses: Loss[] = []
  for (const { object, was, kind, cascade } of destroyed) {
    if (!there.has(was)) continue
    const migration = owners.get(object) ?? ''
    losses.push({ migration, object, kind, count: await countOf(connection, was) })
    for (const referrer of cascade ? await referrersOf(connection, was, cascade) : [])
      if (![...destroyed, ...losses].some((each) => each.object === referrer))
        losses.push({ migration, object: referrer, kind, count: await countOf(connection, referrer) })
  }
  return part === 'up' ? losses : [...losses, ...adoptedIn(files, losses)]
}

const REFERRERS = `
  with recursive referrers (id) as (
    select conrelid from pg_constraint
    where contype = 'f' and confrelid = to_regclass($1) and ($2 = 'all foreign keys' or confdeltype = 'c')
    union
    select conrelid from pg_constraint join referrers on confrelid = id
    where contype = 'f' and ($2 = 'all foreign keys' or confdeltype = 'c')
  )
  select relname::text from referrers join pg_class on oid = id where id <> to_regclass($1) order by 1`

/** The tables whose rows are deleted with those of a table, because they refer to it. */
async function referrersOf(connection: Connection, table: string, cascade: string): Promise<readonly string[]> {
  const { rows } = await connection.query({ text: REFERRERS, values: [tableSql(table), cascade] })
  return rows.map(([name]) => String(name))
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
async function countOf(connection: Connection, object: string): Promise<string | undefined> {
  const [table = '', column] = partsOf(object)
  try {
    const what = column === undefined ? '*' : identifier(column)
    const counted = await connection.query({ text: `select count(${what}) from ${tableSql(table)}`, values: [] })
    return Number(counted.rows[0]?.[0]).toLocaleString('en-US')
  } catch {
    return undefined
  }
}

/** Whether a loss is allowed, by its own name or by a name that the file gave it earlier. */
export function isAllowed({ object }: Loss, statements: Migration['up'], allows: Allows): boolean {
  return allows(object) || destroyedBy(statements).some((each) => each.was === object && allows(each.object))
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
  const gone = [...before].filter(([id]) => start.has(id) && !after.has(id))
  const tables = new Set(gone.flatMap(([id]) => (id.includes('.') ? [] : [id])))
  return gone
    .filter(([id]) => !id.includes('.') || !tables.has(id.split('.')[0] ?? ''))
    .map(([id, object]) => ({ migration, object, kind: id.includes('.') ? 'column' : 'table', count: undefined }))
}
