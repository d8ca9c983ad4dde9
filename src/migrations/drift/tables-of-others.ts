import type { Rejection } from '../../config/parse/rejection.js'
import type { AppSpec, ModelSpec } from '../../config/spec.js'
import { show } from '../../config/words.js'
import type { Connection } from '../../db/database.js'
import { identifier } from '../../fields/sql-literal.js'
import { tableSql } from '../../fields/table-name.js'
import { readLacks } from './verify.js'

/**
 * Compares the tables and views of others with their models: the columns, and whether the declared keys identify records. Reads every row of a table
 * whose key has no unique index. Changes nothing.
 */
export async function differencesOfOthers(spec: AppSpec, database: Connection): Promise<readonly Rejection[]> {
  const models = spec.models.filter(({ managed }) => !managed)
  if (models.length === 0) return []
  const { lacks, keyed } = await readLacks(spec, database)
  // Their keys may be gone.
  const broken = new Set(lacks.filter(({ breaks }) => breaks).map(({ table }) => table))
  const differences = lacks.flatMap(({ table, text }): readonly Rejection[] => {
    const model = models.find((each) => each.table === table)
    if (!model) return []
    const help = [
      'let the model follow the table: snippetctl introspect --update',
      'or change the model, or ask the owner of the table to change it',
    ]
    return [{ code: 'SC409', path: ['models', model.name], part: 'key', message: text, help }]
  })
  const unclear: Rejection[] = []
  for (const model of models) {
    if (model.key.length === 0 || keyed.has(model.table) || broken.has(model.table)) continue
    const found = await whyNoKey(model, database)
    if (found !== undefined) unclear.push(found)
  }
  return [...differences, ...unclear]
}

/** Returns why the fields of a key do not identify the existing records; undefined if they do. */
async function whyNoKey({ name, table, key }: ModelSpec, database: Connection): Promise<Rejection | undefined> {
  const columns = key.map(({ column }) => identifier(column))
  const isNull = columns.map((column) => `${column} is null`).join(' or ')
  const { rows } = await database.query({
    text: `select (select count(*) from (select 1 from ${tableSql(table)} group by ${columns.join(', ')} having count(*) > 1) t)::text,
      (select count(*) from ${tableSql(table)} where ${isNull})::text`,
    values: [],
  })
  const [[repeated = '0', empty = '0'] = []] = rows
  if (repeated === '0' && empty === '0') return undefined
  const reasons = [
    ...(repeated === '0' ? [] : [`${repeated} of its values occur in several records`]),
    ...(empty === '0' ? [] : [`it is null in ${empty}`]),
  ]
  const message = `the primary key ${show(key.map((field) => field.name).join(', '))} does not identify records: ${reasons.join(', and ')}`
  const help = ['name other fields, or `primary_key: none`']
  return { code: 'SC410', path: ['models', name], part: 'key', message, help }
}
