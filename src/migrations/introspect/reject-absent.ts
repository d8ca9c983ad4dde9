import type { AppSpec } from '../../config/spec.js'
import type { Database } from '../../db/database.js'
import { formatTableName, readTableName } from '../../fields/table-name.js'
import { formatSettings } from './render-models.js'
import { MigrationError } from '../files/error.js'
import type { SchemaInspection } from './catalog/inspect.js'

/** @throws MigrationError naming the schemas that do not exist */
export async function rejectAbsentSchemas(database: Database, wanted: readonly string[] = []): Promise<void> {
  if (wanted.length === 0) return
  const text = `select nspname::text from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' order by 1`
  const { rows } = await database.query({ text, values: [] })
  const schemas = rows.map(([name]) => name ?? '')
  rejectUnknown(wanted, schemas, (name) => `there is no schema ${name}`)
}

/**
 * @param schemas the schemas of these tables, by default the current one
 * @throws MigrationError naming the tables that do not exist, and the partitions
 */
export function rejectAbsent(
  { tables, schema }: SchemaInspection,
  wanted: readonly string[] = [],
  schemas: readonly string[] = [schema],
): void {
  const names = tables.map(({ name }) => name)
  const place = `the ${schemas.length === 1 ? 'schema' : 'schemas'} ${schemas.join(', ')}`
  rejectUnknown(wanted, names, (name) => `there is no table ${name} in ${place}`)
  const partitions = tables.filter(({ name, partition }) => partition && wanted.includes(name))
  if (partitions.length > 0)
    throw new MigrationError(
      partitions.map(({ name }) => `the table ${name} is a partition, so no model is made for it`),
      ['Name the partitioned table: its model has all rows'],
    )
}

/**
 * @param only the tables to describe, by default all
 * @throws MigrationError naming the models whose tables would get a second model, because the name has the schema that others are written without
 */
export function rejectQualified(
  { schema: current, tables }: SchemaInspection,
  spec: AppSpec | undefined,
  only?: readonly string[],
): void {
  const errors = (spec?.models ?? []).flatMap(({ name: model, table }) => {
    const { schema, name = '' } = readTableName(table) ?? {}
    const short = formatTableName({ schema: undefined, name })
    const isNeeded = tables.some((each) => each.name === table)
    if (schema !== current || isNeeded || only?.includes(short) === false) return []
    return [`the model \`${model}\` names the current schema: write \`${formatSettings([['table', short]]).join()}\``]
  })
  if (errors.length > 0) throw new MigrationError(errors)
}

function rejectUnknown(wanted: readonly string[], known: readonly string[], describe: (name: string) => string): void {
  const unknown = wanted.filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  throw new MigrationError(unknown.map(describe), known.length === 0 ? [] : [`There is: ${known.join(', ')}`])
}
