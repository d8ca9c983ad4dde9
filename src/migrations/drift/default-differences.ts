import { isDeepStrictEqual } from 'node:util'
import type { Rejection } from '../../config/parse/rejection.js'
import { isUnmanaged } from '../../config/model-spec.js'
import type { AppSpec } from '../../config/spec.js'
import { show } from '../../config/words.js'
import { defaultSql } from '../../config/default-sql.js'
import type { Database } from '../../db/database.js'
import { codeOf, driverError, isSqlState } from '../../db/driver/meanings.js'
import { asBase, type CatalogColumn } from '../introspect/catalog/catalog.js'
import { readDefault } from '../introspect/catalog/constraint-parser.js'
import { isOpaque } from '../introspect/catalog/representable.js'
import { find } from '../plan/compare/pair.js'
import { readLive, tablesOf } from './verify.js'

/** Finds the columns whose default differs from the default of their field, where both have one. */
export async function defaultDifferences(spec: AppSpec, database: Database): Promise<readonly Rejection[]> {
  const { live } = await readLive(tablesOf(spec), database, null)
  const differences: Rejection[] = []
  for (const model of spec.models) {
    const columns = find(live, model.table)?.columns ?? []
    for (const field of model.view === undefined ? model.fields : []) {
      const wanted = field.generated ? undefined : defaultSql(field)
      const there = find(columns, field.column)
      const column = there && asBase(there)
      if (wanted === undefined || !column || column.default === null || column.generated !== null || isOpaque(column))
        continue
      if (await isSameDefault(wanted, column.default, { column, database })) continue
      differences.push({
        code: 'SC418',
        path: ['models', model.name, 'fields', field.name, field.auto === undefined ? 'default' : 'auto'],
        part: 'key',
        message: `the column ${show(`${model.table}.${field.column}`)} has the default ${show(column.default)}, and the file declares ${show(wanted)}`,
        help: isUnmanaged(model) ? HELP_UNMANAGED : HELP_MANAGED,
      })
    }
  }
  return differences
}

const HELP_UNMANAGED = [
  'declare the same default, or `default: { function: database }` to declare no value',
  'or ask the owner of the table to change the default of the column, which new records get, also those of requests',
]
const HELP_MANAGED = [
  'compare the database with the migration files: snippetctl migrate status',
  'or the migration files with resources.yaml: snippetctl migrate plan',
]

interface Place {
  readonly column: CatalogColumn
  readonly database: Database
}

/** Whether two defaults give new rows the same value, however they are written. */
async function isSameDefault(wanted: string, live: string, { column, database }: Place): Promise<boolean> {
  if (wanted === live) return true
  const [declared, given] = [readDefault(wanted, column), readDefault(live, column)]
  if (declared !== undefined && isDeepStrictEqual(declared, given)) return true
  const call = CALLS.find(({ declares }) => declares === wanted)
  if (call) return call.is.test(live)
  const moves = /^(?:date|time)/.test(column.type) && RELATIVE.test(live)
  return !moves && CONSTANT.test(live) && (await isSameValue(wanted, live, { column, database }))
}

/** Functions that a file declares, and all expressions that mean the same. */
const CALLS = [
  {
    declares: 'now()',
    is: /^[^+-]*\b(?:now|(?:current|transaction|statement|clock)_timestamp|localtimestamp)\b[^+-]*$/i,
  },
  // The parenthesis tells a call from a cast to `uuid`. Without extensions, `md5(random()::text)::uuid` is common.
  { declares: 'gen_random_uuid()', is: /(?:uuid|guid|random)\w{0,63}"?\(/i },
]

/** Constants, casts and the operators of numbers. Others may call functions that change something, such as `nextval`. */
const CONSTANT =
  /^(?:[\s\d.,()[\]]|[-+*/%=](?![-+*/%=])|E?'(?:[^']|'')*'(?!')|::(?:\w+\b|"(?:[^"]|"")+"(?!"))(?:\.(?:\w+\b|"(?:[^"]|"")+"(?!")))?(?: varying| precision)?|with(?:out)? time zone|\b(?:array|true|false|null)\b)*$/i

/** Texts that mean another time whenever they are cast. */
const RELATIVE = /\b(?:now|today|tomorrow|yesterday)\b/i

/** Types whose equal values can be spelled differently, and are the same numbers. */
const SPELLED_FREELY = /^(?:numeric|real|double precision|jsonb)\b/

/** The classes of errors that have nothing to do with the compared values. */
const OF_SERVER = /^(?:08|40|53|57|58)/

/**
 * Has the database compare values, because several texts can mean the same value, such as `0` and `0.00`. A cast may run a function of the database, which
 * can change nothing here.
 */
async function isSameValue(wanted: string, live: string, { column, database }: Place): Promise<boolean> {
  // Equality ignores the case of `citext`, and takes 24 hours for a day.
  const compared = SPELLED_FREELY.test(column.type) ? '' : '::text collate "C"'
  const valueOf = (expression: string) => `cast((${expression}) as ${column.type})${compared}`
  const text = `select (${valueOf(live)} = ${valueOf(wanted)})::text`
  try {
    return await database.transaction(async (connection) => {
      await connection.query({ text: 'set transaction read only', values: [] })
      return (await connection.query({ text, values: [] })).rows[0]?.[0] === 'true'
    })
  } catch (error) {
    // A value does not fit the type or its domain, or a function of a cast fails with a code of its own, or tries to change something.
    const cause = driverError(error)
    if (cause !== undefined && isSqlState(cause) && !OF_SERVER.test(codeOf(error))) return false
    throw error
  }
}
