import type { Rejection } from '../../config/parse/rejection.js'
import type { AppSpec, ModelSpec } from '../../config/spec.js'
import { show } from '../../config/words.js'
import type { Connection } from '../../db/database.js'
import { lacksPrivilege } from '../../db/driver/errors.js'
import { driverError, isLocked, isTimedOut, isUnprepared } from '../../db/driver/meanings.js'
import { identifier } from '../../fields/sql-literal.js'
import { formattedTable, tableSql } from '../../fields/table-name.js'
import { IS_INHERITED } from '../introspect/catalog/catalog.js'
import { type Difference, readLacks } from './verify.js'

/** A difference between an unmanaged table and its model. */
interface UnmanagedDifference extends Rejection {
  /** Whether no change of the file removes it. */
  readonly isOfDatabase?: true
}

const OTHER_KEY = 'name other fields, or `primary_key: none`'

function helpOf({ view, fields }: ModelSpec, { isMissing, isClosed, column }: Difference): readonly string[] {
  if (view !== undefined)
    return ['migrations create this view; see the statement that puts it back: snippetctl migrate status']
  // The message has the statement that helps.
  if (isClosed) return []
  if (isMissing)
    return [
      'remove the model, or ask the owner of the table to create it',
      'or let a migration create it: `managed: true` in the model',
    ]
  const field = column?.aspect === 'default' ? fields.find((each) => each.column === column.name) : undefined
  const isKey = field?.default === undefined && field?.type.functions?.uuid !== undefined
  return [
    ...(isKey ? ['let the service set it: `key: uuid`'] : []),
    `${isKey ? 'or ' : ''}let the model follow the table: snippetctl introspect --update`,
    'or change the model, or ask the owner of the table to change it',
  ]
}

/**
 * Compares unmanaged tables and views with their models: the columns, and whether the declared keys identify records. Reads every row of a table
 * whose key has no unique index, or has a text that is not its first field, or from which other tables inherit. Changes nothing.
 */
export async function unmanagedTableDifferences(
  spec: AppSpec,
  database: Connection,
): Promise<readonly UnmanagedDifference[]> {
  const models = spec.models.filter(({ managed }) => !managed)
  if (models.length === 0) return []
  const { lacks, keyed } = await readLacks(spec, database)
  const inherited = await tablesThat(database, IS_INHERITED)
  const unfilled = await tablesThat(database, 'not c.relispopulated')
  // Their keys may be gone.
  const broken = new Set(lacks.filter(({ breaks }) => breaks).map(({ table }) => table))
  const differences = lacks.flatMap((lack): readonly Rejection[] => {
    const model = models.find(({ table }) => table === lack.table)
    if (!model) return []
    const help = helpOf(model, lack)
    return [{ code: 'SC409', path: ['models', model.name], part: 'key', message: lack.text, help }]
  })
  const unclear: UnmanagedDifference[] = models
    .filter(({ table }) => unfilled.has(table))
    .map(({ name, table }) => ({
      code: 'SC409',
      path: ['models', name],
      part: 'key',
      message: `the materialized view ${show(table)} has no data yet, and requests for it are 503`,
      help: [`fill it: refresh materialized view ${tableSql(table)}`],
      isOfDatabase: true,
    }))
  for (const model of models) {
    const isInherited = inherited.has(model.table)
    const isUnique = keyed.has(model.table) && !isInherited
    if (model.key.length === 0 || broken.has(model.table) || unfilled.has(model.table)) continue
    const key = show(model.key.map((field) => field.name).join(', '))
    const { found, failure } = isUnique ? NO_REPETITIONS : await repetitionsOf(model, database)
    if (failure !== undefined) unclear.push(unknownKey(model, key, failure))
    const reasons = [...found, ...(await emptyPartsOf(model, database))]
    if (reasons.length === 0) continue
    const message = `the primary key ${key} does not identify records: ${reasons.join(', and ')}`
    const help = isInherited ? ['give the rows of the inheriting tables other keys', `or ${OTHER_KEY}`] : [OTHER_KEY]
    unclear.push({ code: 'SC410', path: ['models', model.name], part: 'key', message, help })
  }
  return [...differences, ...unclear]
}

/**
 * Finds the tables `c` for which a condition holds, such as that tables other than partitions inherit from them; a unique index does not include the rows
 * of these.
 */
async function tablesThat(database: Connection, condition: string): Promise<ReadonlySet<string>> {
  const { rows } = await database.query({
    text: `select ${formattedTable('c', 'n')} from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${condition}`,
    values: [],
  })
  return new Set(rows.flatMap(([table]) => table ?? []))
}

function unknownKey({ name, table, key }: ModelSpec, shown: string, failure: string): UnmanagedDifference {
  const columns = key.map(({ column }) => identifier(column)).join(', ')
  return {
    code: 'SC410',
    path: ['models', name],
    part: 'key',
    message: `it is not known whether the primary key ${shown} identifies records: reading ${show(table)} ${failure}`,
    help: [
      `look for values that occur in several records: select ${columns} from ${tableSql(table)} group by ${columns} having count(*) > 1`,
    ],
    isOfDatabase: true,
  }
}

interface Repetitions {
  /** How values of a key lead to several of the existing records, or to none. */
  readonly found: readonly string[]
  /** How reading the table failed. */
  readonly failure?: string
}

const NO_REPETITIONS: Repetitions = { found: [] }

/** Finds nothing, without a failure, also if the database user may not read the table, which `doctor` reports. */
async function repetitionsOf({ table, key }: ModelSpec, database: Connection): Promise<Repetitions> {
  const columns = key.map(({ column }) => identifier(column))
  const isNull = columns.map((column) => `${column} is null`).join(' or ')
  const text = `select (select count(*) from (select 1 from ${tableSql(table)} group by ${columns.join(', ')} having count(*) > 1) t)::text,
    (select count(*) from ${tableSql(table)} where ${isNull})::text`
  try {
    const [[repeated = '0', empty = '0'] = []] = (await database.query({ text, values: [] })).rows
    const found = [
      ...(repeated === '0' ? [] : [`${repeated} of its values occur in several records`]),
      ...(empty === '0' ? [] : [`it is null in ${empty}`]),
    ]
    return { found }
  } catch (error) {
    if (lacksPrivilege(error)) return NO_REPETITIONS
    const failure = failureOf(error)
    if (failure === undefined) throw error
    return { found: [], failure }
  }
}

/** How reading a table failed that is too large to be read for this, or cannot be read now. */
function failureOf(error: unknown): string | undefined {
  if (isTimedOut(error)) return 'took longer than the time limit of a statement'
  return isLocked(error) || isUnprepared(error) ? `failed: ${driverError(error)?.message}` : undefined
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

/** False also if the database user may not read the table, which `doctor` reports, and if it is too large or cannot be read now. */
async function isEmptySomewhere(table: string, name: string, database: Connection): Promise<boolean> {
  const column = identifier(name)
  // The empty text is the first one in every collation, so an index finds it.
  const first = `select ${column}::text from ${tableSql(table)} where ${column} is not null order by ${column} limit 1`
  try {
    const { rows } = await database.query({ text: first, values: [] })
    return rows[0]?.[0] === ''
  } catch (error) {
    if (lacksPrivilege(error) || failureOf(error) !== undefined) return false
    throw error
  }
}
