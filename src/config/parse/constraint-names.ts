import { createHash } from 'node:crypto'
import { bareName } from '../../fields/table-name.js'
import { columnsOf, type FieldSpec, type ModelSpec } from '../spec.js'

/** PostgreSQL cuts longer names silently, so that two of them could become one. */
const LONGEST = 63

/** What a constraint guards: the declared fields, by their names in the model, and how. */
export interface ConstrainedFields {
  readonly fields: readonly string[]
  readonly kind: 'unique' | 'foreign_key' | 'check'
  /** What the configuration says that clients read. */
  readonly message?: string | undefined
}

export const primaryKeyName = (table: string): string => shorten(`${bareName(table)}_pkey`)

export const uniqueName = (table: string, columns: readonly string[]): string =>
  shorten(`${bareName(table)}_${columns.join('_')}_key`)

export const checkName = (table: string, column: string, rule: string): string =>
  shorten(`${bareName(table)}_${column}_${rule}`)

export const foreignKeyName = (table: string, columns: readonly string[]): string =>
  shorten(`${bareName(table)}_${columns.join('_')}_fkey`)

export const indexName = (table: string, columns: readonly string[]): string =>
  shorten(`${bareName(table)}_${columns.join('_')}_idx`)

/** The constraints of a model's table by name, so that an error of the database can blame fields. */
export function constraintFields(model: ModelSpec): ReadonlyMap<string, ConstrainedFields> {
  const { table, fields } = model
  const namesOf = (columns: readonly string[]) => fieldsOf(model, columns).map(({ name }) => name)
  const unique = (columns: readonly string[], message?: string) =>
    [uniqueName(table, columns), { fields: namesOf(columns), kind: 'unique', message }] as const
  return new Map<string, ConstrainedFields>([
    [primaryKeyName(table), { fields: model.key.map(({ name }) => name), kind: 'unique' }],
    ...model.indexes.filter((index) => index.unique).map((index) => unique(index.columns, index.message)),
    ...fields.filter((field) => field.unique).map((field) => unique([field.column])),
    ...model.relations.map((relation): [string, ConstrainedFields] => {
      const names = relation.parts.map(({ field }) => field.name)
      return [foreignKeyName(table, columnsOf(relation)), { fields: names, kind: 'foreign_key' }]
    }),
    ...fields.flatMap(({ name, column, type, options, message }) =>
      type
        .rules(options)
        .filter((rule) => rule.check)
        .map((rule) => [checkName(table, column, rule.name), { fields: [name], kind: 'check', message }] as const),
    ),
  ])
}

/** The fields of some columns, in the order of the columns. */
export function fieldsOf({ fields }: Pick<ModelSpec, 'fields'>, columns: readonly string[]): readonly FieldSpec[] {
  return columns.flatMap((column) => fields.filter((field) => field.column === column))
}

/** A name that fits, the same one every time: its beginning, and a hash of all of it. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= LONGEST) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  let start = name
  while (Buffer.byteLength(start) > LONGEST - hash.length - 1) start = [...start].slice(0, -1).join('')
  return `${start}_${hash}`
}
