import type { Rejection } from '../../config/parse/rejection.js'
import { declaredIndexName } from '../../config/parse/constraint-names.js'
import { type AppSpec, type IndexSpec, isPlain, type ModelSpec } from '../../config/spec.js'
import { show } from '../../config/words.js'
import type { Connection } from '../../db/database.js'
import { opaque } from '../../fields/types/opaque.js'
import { type CatalogTable, readTables } from '../introspect/catalog/catalog.js'
import { asUsed } from '../introspect/catalog/plain-parts.js'
import { keyOfIndex, keyOfSettings } from '../introspect/catalog/index-key.js'
import { type IndexedField, type IndexSettings, readIndex } from '../introspect/catalog/read-index.js'
import { find } from '../plan/compare/pair.js'
import { wantedTables } from '../plan/sql.js'
import { createIndex } from '../plan/wanted-indexes.js'

/**
 * Finds declared indexes that the database lacks. In managed tables, it checks only indexes that are partial, ignore case or are
 * not B-trees; in unmanaged tables (`managed: false`), all. An index that cannot be interpreted counts as every declared index on its columns. Changes
 * nothing.
 */
export async function declaredIndexDifferences(spec: AppSpec, database: Connection): Promise<readonly Rejection[]> {
  const declared = spec.models.flatMap((model) =>
    model.indexes.flatMap((index, at) => (model.managed && isPlain(index) ? [] : [{ model, index, at }])),
  )
  if (declared.length === 0) return []
  const catalog = await readTables(
    database,
    declared.map(({ model }) => model.table),
  )
  return declared.flatMap(({ model, index, at }) => {
    const live = find(catalog, model.table)
    // Missing tables are reported separately.
    if (!live || isThere(index, model, asUsed(live))) return []
    const message = `the database has no index ${describe(index)} of the table ${show(model.table)}`
    const path = ['models', model.name, 'indexes', at]
    return [{ code: 'SC403', path, part: 'value', message, help: helpFor(spec, model, index) }]
  })
}

function isThere(index: IndexSpec, model: ModelSpec, live: CatalogTable): boolean {
  const key = keyOfIndex(index)
  const used = [...index.columns, ...index.where.map(({ field }) => field.column)]
  const serves = (columns: readonly (string | null)[]) =>
    isPlain(index) &&
    index.columns.every((column, place) => column === columns[place]) &&
    (!index.unique || columns.length === index.columns.length)
  const keys = live.constraints.filter(
    ({ kind, validated }) => (kind === 'primary_key' || kind === 'unique') && validated,
  )
  const fields = fieldsOf(model, live)
  const indexes = live.indexes
    .filter(({ valid }) => valid)
    .map((found) => ({ found, settings: readIndex(live, found, fields) }))
  return (
    keys.some(({ columns }) => serves(columns)) ||
    indexes.some(({ found, settings }) =>
      settings === undefined
        ? used.every((column) => found.uses.includes(column))
        : keyOfSettings(settings, model) === key || (isPlainSettings(settings, index) && serves(found.columns)),
    )
  )
}

function isPlainSettings({ unique, ignore_case, where, using }: IndexSettings, wanted: IndexSpec): boolean {
  return !ignore_case && !where && !using && (unique || !wanted.unique)
}

/** The fields of a model by column, and the other columns of its table under their own names. */
function fieldsOf({ fields }: ModelSpec, { columns }: CatalogTable): ReadonlyMap<string, IndexedField> {
  const known = fields.filter(({ joined }) => !joined)
  return new Map([
    ...columns.map(({ name }) => [name, { name, words: [['type', opaque.name]] }] as const),
    ...known.map(({ column, name, type }) => [column, { name, words: [['type', type.name]] }] as const),
  ])
}

function describe({ columns, unique, method, ignoreCase, where }: IndexSpec): string {
  const parts = [
    ...(unique ? ['unique'] : []),
    ...(method === 'btree' ? [] : [`using ${method}`]),
    ...(ignoreCase.length > 0 ? ['ignoring case'] : []),
    ...(where.length > 0
      ? [`where ${where.map(({ field, lookup }) => `${field.column} ${lookup.name}`).join(' and ')}`]
      : []),
  ]
  return [`\`(${columns.join(', ')})\``, ...(parts.length > 0 ? [`(${parts.join(', ')})`] : [])].join(' ')
}

function helpFor(spec: AppSpec, model: ModelSpec, index: IndexSpec): readonly string[] {
  if (!model.managed)
    return [
      'let the model follow the table: snippetctl introspect --update',
      'or ask the owner of the table to create the index',
    ]
  const table = wantedTables(spec).find(({ name }) => name === model.table)
  const wanted = table?.indexes.find(({ name }) => name === declaredIndexName(model.table, index))
  const sql =
    table && wanted && createIndex(table, wanted).replace(/^create (unique )?index/, 'create $1index concurrently')
  return [
    'write the migration, unless there is one: snippetctl migrate plan --write NAME',
    ...(sql === undefined ? [] : [`or, if the index was dropped, create it again: ${sql}`]),
  ]
}
