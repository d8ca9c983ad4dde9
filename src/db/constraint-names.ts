import { createHash } from 'node:crypto'
import type { ModelSpec } from '../config/spec.js'

/** PostgreSQL cuts longer names silently, so that two of them could become one. */
const LONGEST = 63

/** What a constraint guards: the declared field, by its name in the model, and how. */
export interface ConstrainedField {
  readonly field: string
  readonly kind: 'unique' | 'foreign_key' | 'check'
}

export const primaryKeyName = (table: string): string => shorten(`${table}_pkey`)

export const uniqueName = (table: string, columns: readonly string[]): string =>
  shorten(`${table}_${columns.join('_')}_key`)

export const checkName = (table: string, column: string, rule: string): string => shorten(`${table}_${column}_${rule}`)

export const foreignKeyName = (table: string, column: string): string => shorten(`${table}_${column}_fkey`)

export const indexName = (table: string, columns: readonly string[]): string =>
  shorten(`${table}_${columns.join('_')}_idx`)

/**
 * The constraints of a model's table by name, so that an error of the database can blame a field. One over several columns
 * blames the last of them: `[author, title]` says that a title is taken within an author.
 */
export function constraintFields(model: ModelSpec): ReadonlyMap<string, ConstrainedField> {
  const { table, fields } = model
  const nameOf = (column: string) => fields.find((field) => field.column === column)?.name ?? column
  const unique = (columns: readonly string[]) =>
    [uniqueName(table, columns), { field: nameOf(columns.at(-1) ?? ''), kind: 'unique' }] as const
  return new Map<string, ConstrainedField>([
    [primaryKeyName(table), { field: model.primaryKey.name, kind: 'unique' }],
    ...model.indexes.filter((index) => index.unique).map((index) => unique(index.columns)),
    ...fields.filter((field) => field.unique).map((field) => unique([field.column])),
    ...fields
      .filter((field) => field.target)
      .map(({ name, column }) => [foreignKeyName(table, column), { field: name, kind: 'foreign_key' }] as const),
    ...fields.flatMap(({ name, column, type, options }) =>
      type
        .rules(options)
        .filter((rule) => rule.check)
        .map((rule) => [checkName(table, column, rule.name), { field: name, kind: 'check' }] as const),
    ),
  ])
}

/** A name that fits, the same one every time: its beginning, and a hash of all of it. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= LONGEST) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  let start = name
  while (Buffer.byteLength(start) > LONGEST - hash.length - 1) start = [...start].slice(0, -1).join('')
  return `${start}_${hash}`
}
