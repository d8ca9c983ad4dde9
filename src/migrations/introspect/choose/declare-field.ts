import { addField } from '../../../config/edit/add-field.js'
import type { CatalogColumn } from '../catalog/catalog.js'
import { wordsForDefault, wordsForType } from './column-words.js'
import { formatSettings } from '../render-models.js'
import { isOpaque } from '../catalog/representable.js'
import { nameOfColumn } from './field-names.js'

/** A column that no field describes yet. */
export interface UndeclaredColumn
  extends Pick<CatalogColumn, 'name' | 'type' | 'collation' | 'nullable' | 'default'>,
    Partial<Pick<CatalogColumn, 'labels'>> {
  readonly table: string
}

/**
 * Adds a private field for a column at the end of its model, and leaves every other character as it is.
 * @returns the new text; undefined if the file has no model for the table, no field can describe the column, or nothing could fill it
 */
export function declareField(text: string, file: string, column: UndeclaredColumn): string | undefined {
  const settings = settingsOf(column)
  // Nothing could fill it: it is private, and no request sets it.
  const isUnfilled = column.default === null && !column.nullable
  if (settings === undefined || isUnfilled) return undefined
  const name = nameOfColumn(column.name)
  const named = name === column.name ? [] : formatSettings([['column', column.name]])
  return addField(text, file, { table: column.table, name, settings: [...settings, ...named, 'private: true'] })
}

/** The settings of a field for a column; undefined if no field can describe it. */
function settingsOf({ labels = null, ...column }: UndeclaredColumn): readonly string[] | undefined {
  const type = wordsForType({ ...column, labels })?.words
  if (isOpaque({ ...column, labels })) return undefined
  const filled = wordsForDefault(column.default, { ...column, labels })
  return (
    type && filled && formatSettings([...type, ...(column.nullable ? [['nullable', true] as const] : []), ...filled])
  )
}

/**
 * The changes to a field that make it describe its column as it is now.
 * @returns undefined if no field can describe it
 */
export function fieldChanges(old: UndeclaredColumn, now: UndeclaredColumn): readonly string[] | undefined {
  const [were, are] = [settingsOf(old), settingsOf(now)]
  if (were === undefined || are === undefined) return undefined
  const keyOf = (setting: string) => setting.slice(0, setting.indexOf(':'))
  const gone = were.map(keyOf).filter((key) => !are.some((setting) => keyOf(setting) === key))
  return [
    ...are.filter((setting) => !were.includes(setting)).map((setting) => `write \`${setting}\``),
    ...gone.map((key) => `remove \`${key}\``),
  ]
}
