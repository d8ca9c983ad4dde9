import type { Connection } from '../../db/database.js'
import { identifier } from '../../fields/sql-literal.js'
import { bareName, formattedTable, tableSql } from '../../fields/table-name.js'
import type { Migration } from '../files/files.js'
import { type Destroyed, destroyedBy, formatNamed, type Named } from './destruction.js'
import { currentSchema, TABLES_AND_TYPES } from './inventory.js'
import type { Loss } from './loss.js'

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

/** The tables whose rows are deleted together with the rows of a table, because they refer to it. */
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
