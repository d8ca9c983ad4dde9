import { formOf, keyTypeOf } from '../../../fields/columns.js'
import { type AssignedKey, canBeKey } from '../../../fields/field-type.js'
import { find } from '../../plan/compare/pair.js'
import type { CatalogColumn, CatalogTable } from '../catalog/catalog.js'
import { isPlainIndex, isPlainUnique } from '../catalog/plain-parts.js'

/** The columns of the key that a model has; none if its records can only be listed. */
interface ChosenKey {
  readonly key: readonly string[]
  /** Why the model has no key although the table has one. */
  readonly left: readonly string[]
}

/**
 * Chooses the primary key of the model for a table: the table's own, if the type of each column has one spelling for each value. For a table of
 * others without a primary key, chooses unique columns that are never null.
 */
export function chooseKey(table: CatalogTable, managed: boolean): ChosenKey {
  const { name, columns, constraints } = table
  const primary = constraints.find(({ kind }) => kind === 'primary_key')
  if (!primary) {
    const key = managed ? undefined : uniqueKey(table)
    return key
      ? { key, left: [] }
      : { key: [], left: [`${name}: records can only be listed: the table has no primary key`] }
  }
  const key = primary.columns.flatMap((column) => find(columns, column ?? '') ?? [])
  const wrong = key.find((column) => !isKeyColumn(column))
  if (key.length === primary.columns.length && !wrong) return { key: key.map((column) => column.name), left: [] }
  const reason = wrong ? `${wrong.name} is of the type ${wrong.type}, which no key can have` : primary.definition
  return { key: [], left: [`${name}: records can only be listed: the primary key cannot be used: ${reason}`] }
}

/** The columns of a unique constraint or index that has every row: if there are several, the one with the fewest columns. */
function uniqueKey(table: CatalogTable): readonly string[] | undefined {
  const unique = [
    ...table.constraints.filter((each) => each.kind === 'unique' && isPlainUnique(each)),
    ...table.indexes.filter((each) => isPlainIndex(table.name, each, 'unique')),
  ]
  const fitting = unique.flatMap((each): readonly (readonly string[])[] => {
    const found = each.columns.flatMap((column) => find(table.columns, column ?? '') ?? [])
    return found.every((column) => !column.nullable && isKeyColumn(column)) ? [found.map(({ name }) => name)] : []
  })
  return fitting.toSorted((one, other) => one.length - other.length)[0]
}

function isKeyColumn(column: CatalogColumn): boolean {
  const { type, form } = formOf(column) ?? {}
  return !column.generated && type !== undefined && canBeKey(type, form?.options({}) ?? {}) && !type.readOnly
}

/** How the database assigns the values of a key's column; undefined if clients set them. */
export function assignedBy(column: CatalogColumn): AssignedKey | undefined {
  const assigned = keyTypeOf(column)?.assigned
  return assigned?.fills(column) === true ? assigned.key : undefined
}
