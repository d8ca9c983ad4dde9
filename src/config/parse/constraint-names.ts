import { createHash } from 'node:crypto'
import { bareName } from '../../fields/table-name.js'
import { exact } from '../../lookups/exact.js'
import { isPlain } from '../model-spec.js'
import { columnsOf, type FieldSpec, type IndexSpec, type ModelSpec } from '../spec.js'

/** PostgreSQL truncates longer names silently, so that two of them could become the same. */
const MAX_NAME_BYTES = 63

/** The fields that a constraint guards, by their names in the model, and its kind. */
export interface ConstrainedFields {
  readonly fields: readonly string[]
  readonly kind: 'unique' | 'foreign_key' | 'check'
  /** The message from the configuration. */
  readonly message?: string | undefined
}

export function primaryKeyName(table: string): string {
  return shorten(`${bareName(table)}_pkey`)
}

export function uniqueName(table: string, columns: readonly string[]): string {
  return shorten(`${bareName(table)}_${columns.join('_')}_key`)
}

export function checkName(table: string, column: string, rule: string): string {
  return shorten(`${bareName(table)}_${column}_${rule}`)
}

export function foreignKeyName(table: string, columns: readonly string[]): string {
  return shorten(`${bareName(table)}_${columns.join('_')}_fkey`)
}

export function indexName(table: string, columns: readonly string[]): string {
  return shorten(`${bareName(table)}_${columns.join('_')}_idx`)
}

/** The name of a declared index, or of its constraint if it is a plain unique index. */
export function declaredIndexName(table: string, index: IndexSpec): string {
  const { columns, unique, method, ignoreCase, where } = index
  if (isPlain(index)) return unique ? uniqueName(table, columns) : indexName(table, columns)
  const conditions = where.map(nameOfCondition)
  const parts = [
    ...columns,
    ...(ignoreCase.length > 0 ? ['lower'] : []),
    ...(method === 'btree' ? [] : [method]),
    ...conditions,
  ]
  return unique ? uniqueName(table, parts) : indexName(table, parts)
}

/** A condition as a part of a name: `deleted_at_null`, `status_open`, `amount_gt_5`. */
function nameOfCondition({ field, lookup, value }: IndexSpec['where'][number]): string {
  const { column, type, options } = field
  if (lookup.ofNull) return `${column}_${value === true ? 'null' : 'not_null'}`
  const values = [lookup.operand.write(value, (item) => type.write(item, options))].flat()
  const words = [column, ...(lookup === exact ? [] : [lookup.name]), ...values].join('_')
  return words.replaceAll(/[^\p{L}\p{N}]+/gu, '_').replace(/_$/, '')
}

/** The constraints of a model's table by name, so that a database error can be reported for its fields. */
export function constraintFields(model: ModelSpec): ReadonlyMap<string, ConstrainedFields> {
  const { table, fields } = model
  const namesOf = (columns: readonly string[]) => fieldsOf(model, columns).map(({ name }) => name)
  const unique = (name: string, columns: readonly string[], message?: string) =>
    [name, { fields: namesOf(columns), kind: 'unique', message }] as const
  return new Map<string, ConstrainedFields>([
    [primaryKeyName(table), { fields: model.key.map(({ name }) => name), kind: 'unique' }],
    ...model.indexes
      .filter((index) => index.unique)
      .map((index) => unique(declaredIndexName(table, index), index.columns, index.message)),
    ...fields.filter((field) => field.unique).map(({ column }) => unique(uniqueName(table, [column]), [column])),
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

/** The fields of these columns, in the order of the columns. */
export function fieldsOf({ fields }: Pick<ModelSpec, 'fields'>, columns: readonly string[]): readonly FieldSpec[] {
  return columns.flatMap((column) => fields.filter((field) => field.column === column))
}

/** Shortens a name deterministically: its beginning, and a hash of the whole name. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  let start = name
  while (Buffer.byteLength(start) > MAX_NAME_BYTES - hash.length - 1) start = [...start].slice(0, -1).join('')
  return `${start}_${hash}`
}
