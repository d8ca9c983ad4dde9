import { tableSql } from '../../fields/table-name.js'
import type { FieldSpec, ModelSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import type { Connection } from '../database.js'

/** Settings that give equal values equal texts in every database. */
export const SPELLING = [
  `set local timezone = 'UTC'`,
  `set local datestyle = 'ISO, MDY'`,
  `set local intervalstyle = 'postgres'`,
  `set local bytea_output = 'hex'`,
  'set local extra_float_digits = 1',
]

/** A digest of the rows of each table, by table name. Equal digests mean equal rows, in any order. */
export type RowDigests = ReadonlyMap<string, string>

/**
 * Digests all rows of the models' tables, in a transaction with the settings of `SPELLING`. Values that the database generates (times, and UUIDs that
 * are not keys) are left out, because they differ whenever a migration runs.
 */
export async function digestRows(connection: Connection, models: readonly ModelSpec[]): Promise<RowDigests> {
  const digests = new Map<string, string>()
  for (const model of models) digests.set(model.table, await digestTable(connection, model))
  return digests
}

const COLUMNS = `
  select attname from pg_attribute
  where attrelid = to_regclass($1) and attnum > 0 and not attisdropped order by attname collate "C"`

async function digestTable(connection: Connection, { table, fields }: ModelSpec): Promise<string> {
  const madeUp = new Set(fields.filter(isMadeUp).map(({ column }) => column))
  const { rows } = await connection.query({ text: COLUMNS, values: [tableSql(table)] })
  const names = rows.map(([name]) => name ?? '').filter((name) => !madeUp.has(name))
  const cells = names.map((name) => `${identifier(name)}::text`).join(', ')
  const digest = await connection.query({
    text: `select count(*)::text, md5(string_agg(hash, '' order by hash collate "C"))
      from (select md5(row(${cells})::text) as hash from ${tableSql(table)}) as hashes`,
    values: [],
  })
  return JSON.stringify([names, ...digest.rows])
}

function isMadeUp({ primaryKey, auto, default: value }: FieldSpec): boolean {
  return !primaryKey && (auto !== undefined || (value !== undefined && 'call' in value))
}
