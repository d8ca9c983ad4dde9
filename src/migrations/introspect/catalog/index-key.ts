import type { IndexSpec, ModelSpec } from '../../../config/spec.js'
import type { Json } from '../../../foundation/json.js'
import { exact } from '../../../lookups/exact.js'
import { parameterOf } from '../../../lookups/index.js'
import { isnull } from '../../../lookups/isnull.js'
import type { IndexSettings } from './read-index.js'

/** Returns the same text for two indexes of a table with equal columns, method, uniqueness, case and conditions. */
export function keyOfIndex({ columns, unique, method, ignoreCase, where }: IndexSpec): string {
  const conditions = where.map(({ field, lookup, value }) => [field.column, lookup.name, String(value)])
  return format({ columns, unique, method, ignoresCase: ignoreCase.length > 0, conditions })
}

/** Returns that text for an index as the configuration would declare it. */
export function keyOfSettings(settings: IndexSettings, { fields }: Pick<ModelSpec, 'fields'>): string {
  const columnOf = (name: string) => fields.find((field) => field.name === name)?.column ?? name
  return format({
    columns: settings.fields.map(columnOf),
    unique: settings.unique,
    method: settings.using ?? 'btree',
    ignoresCase: settings.ignore_case ?? false,
    conditions: Object.entries(settings.where ?? {}).map(([key, value]) => conditionOf(key, value, columnOf)),
  })
}

const IS_NULL = parameterOf('', isnull)

function conditionOf(key: string, value: Json, columnOf: (name: string) => string): readonly unknown[] {
  if (key.endsWith(IS_NULL)) return [columnOf(key.slice(0, -IS_NULL.length)), isnull.name, String(value)]
  return value === null ? [columnOf(key), isnull.name, 'true'] : [columnOf(key), exact.name, String(value)]
}

interface Parts {
  readonly columns: readonly string[]
  readonly unique: boolean
  readonly method: string
  readonly ignoresCase: boolean
  readonly conditions: readonly (readonly unknown[])[]
}

function format({ columns, unique, method, ignoresCase, conditions }: Parts): string {
  return JSON.stringify([
    columns,
    unique,
    method,
    ignoresCase,
    conditions.map((each) => JSON.stringify(each)).toSorted(),
  ])
}
