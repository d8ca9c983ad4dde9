import type { Rejection } from '../../config/parse/rejection.js'
import type { AppSpec, ModelSpec } from '../../config/spec.js'
import { show } from '../../config/words.js'
import type { Connection } from '../../db/database.js'
import { lacksPrivilege } from '../../db/driver/errors.js'
import { isTimedOut } from '../../db/driver/meanings.js'
import { identifier } from '../../fields/sql-literal.js'
import { formattedTable, tableSql } from '../../fields/table-name.js'
import { IS_INHERITED } from '../introspect/catalog/catalog.js'
import { readLacks } from './verify.js'

const OTHER_KEY = 'name other fields, or `primary_key: none`'

/**
 * Compares unmanaged tables and views with their models: the columns, and whether the declared keys identify records. Reads every row of a table
 * whose key has no unique index, or has a text that is not its first field, or from which other tables inherit. Changes nothing.
 */
export async function unmanagedTableDifferences(spec: AppSpec, database: Connection): Promise<readonly Rejection[]> {
  const models = spec.models.filter(({ managed }) => !managed)
  if (models.length === 0) return []
  const { lacks, keyed } = await readLacks(spec, database)
  const inherited = await readInherited(database)
  // Their keys may be gone.
  const broken = new Set(lacks.filter(({ breaks }) => breaks).map(({ table }) => table))
  const differences = lacks.flatMap(({ table, text, isMissing }): readonly Rejection[] => {
    const model = models.find((each) => each.table === table)
    if (!model) return []
    const help = isMissing
      ? [
          'remove the model, or ask the owner of the table to create it',
          'or let a migration create it: `managed: true` in the model',
        ]
      : [
          'let the model follow the table: snippetctl introspect --update',
          'or change the model, or ask the owner of the table to change it',
        ]
    return [{ code: 'SC409', path: ['models', model.name], part: 'key', message: text, help }]
  })
  const unclear: Rejection[] = []
  for (const model of models) {
    const isInherited = inherited.has(model.table)
    const isUnique = keyed.has(model.table) && !isInherited
    if (model.key.length === 0 || broken.has(model.table)) continue
    const reasons = [
      ...(isUnique ? [] : await repetitionsOf(model, database)),
      ...(await emptyPartsOf(model, database)),
    ]
    if (reasons.length === 0) continue
    const key = show(model.key.map((field) => field.name).join(', '))
    const message = `the primary key ${key} does not identify records: ${reasons.join(', and ')}`
    const help = isInherited ? ['give the rows of the inheriting tables other keys', `or ${OTHER_KEY}`] : [OTHER_KEY]
    unclear.push({ code: 'SC410', path: ['models', model.name], part: 'key', message, help })
  }
  return [...differences, ...unclear]
}

/** Finds the tables from which tables other than partitions inherit; a unique index does not include the rows of these. */
async function readInherited(database: Connection): Promise<ReadonlySet<string>> {
  const { rows } = await database.query({
    text: `select ${formattedTable('c', 'n')} from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${IS_INHERITED}`,
    values: [],
  })
  return new Set(rows.flatMap(([table]) => table ?? []))
}

/** Returns how values of a key lead to several of the existing records, or to none. */
async function repetitionsOf({ table, key }: ModelSpec, database: Connection): Promise<readonly string[]> {
  const columns = key.map(({ column }) => identifier(column))
  const isNull = columns.map((column) => `${column} is null`).join(' or ')
  const { rows } = await database.query({
    text: `select (select count(*) from (select 1 from ${tableSql(table)} group by ${columns.join(', ')} having count(*) > 1) t)::text,
      (select count(*) from ${tableSql(table)} where ${isNull})::text`,
    values: [],
  })
  const [[repeated = '0', empty = '0'] = []] = rows
  return [
    ...(repeated === '0' ? [] : [`${repeated} of its values occur in several records`]),
    ...(empty === '0' ? [] : [`it is null in ${empty}`]),
  ]
}

const TEXT = /^(?:text|varchar|char)\b/

/** Returns a sentence for each text of a key that is empty in a record: an empty text cannot be a segment of a path. */
async function emptyPartsOf({ table, key }: ModelSpec, database: Connection): Promise<readonly string[]> {
  const empty: string[] = []
  for (const { name, column, type, options } of key)
    if (TEXT.test(type.column(options)) && (await isEmptySomewhere(table, column, database)))
      empty.push(`a record with an empty ${show(name)} has no path`)
  return empty
}

/** False also if the database user may not read the table, which `doctor` reports, and if it is too large to be read for this. */
async function isEmptySomewhere(table: string, name: string, database: Connection): Promise<boolean> {
  const column = identifier(name)
  // The empty text is the first one in every collation, so an index finds it.
  const first = `select ${column}::text from ${tableSql(table)} where ${column} is not null order by ${column} limit 1`
  try {
    const { rows } = await database.query({ text: first, values: [] })
    return rows[0]?.[0] === ''
  } catch (error) {
    if (lacksPrivilege(error) || isTimedOut(error)) return false
    throw error
  }
}
