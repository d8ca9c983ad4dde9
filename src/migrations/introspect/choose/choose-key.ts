import { READS } from '../../../config/core-spec.js'
import { formOf, keyTypeOf } from '../../../fields/columns.js'
import { type AssignedKey, canBeKey } from '../../../fields/field-type.js'
import { find } from '../../plan/compare/pair.js'
import type { CatalogColumn, CatalogTable } from '../catalog/catalog.js'
import { isPlainIndex, isPlainUnique } from '../catalog/plain-parts.js'
import { formatValue } from '../../../config/edit/format-value.js'
import { identifier } from '../../../fields/sql-literal.js'
import { tableSql } from '../../../fields/table-name.js'
import { canBeField, type Table } from './table.js'
import { adviceForOperations, operationsWithKey } from './choose-operations.js'

/** The columns of the key that a model has; none if its records can only be listed. */
interface ChosenKey {
  readonly key: readonly string[]
  /** Why the model has no key. */
  readonly reason?: string
}

/**
 * Chooses the primary key of the model for a table: the table's own, if each column has a field and its type one spelling for each value. For a table of
 * others without such a key, chooses unique columns that are never null.
 */
export function chooseKey(table: Table): ChosenKey {
  const { live, inspected, managed } = table
  const { columns, constraints } = live
  const primary = constraints.find(({ kind }) => kind === 'primary_key')
  const found = primary?.columns.flatMap((column) => find(columns, column ?? '') ?? []) ?? []
  const wrong = found.find((column) => !isKeyColumn(column) || !canBeField(column, table))
  if (primary && found.length === primary.columns.length && !wrong) return { key: found.map(({ name }) => name) }
  const key = managed ? undefined : uniqueKey(live)
  if (key) return { key }
  if (!primary) return { key: [], reason: reasonWithoutPrimary(inspected) }
  return { key: [], reason: `the primary key cannot be used: ${wrong ? reasonAgainst(wrong) : primary.definition}` }
}

/** A primary key with columns that the database user may not read is not one of the columns that can be used. */
function reasonWithoutPrimary({ view, constraints, privileges }: Table['inspected']): string {
  const primary = constraints.find(({ kind }) => kind === 'primary_key')
  const unreadable = primary?.columns.find((column) => column !== null && privileges.unreadable.includes(column))
  if (unreadable) return `the primary key cannot be used: the database user may not read ${unreadable}`
  return `the ${view ? 'view' : 'table'} has no primary key`
}

/**
 * How to find the records of a table without a key.
 * @param fields the names of the fields, by column
 */
export function adviceForKey(
  table: Table,
  columns: readonly CatalogColumn[],
  fields: ReadonlyMap<string, string>,
): string {
  const { live, inspected, managed } = table
  const fitting = columns.filter(
    (column) => fields.has(column.name) && isKeyColumn(column) && (inspected.view || !column.nullable),
  )
  const hasPrimary = live.constraints.some(({ kind }) => kind === 'primary_key')
  if (fitting.length === 0 || (managed && hasPrimary)) return 'nothing can be added: no other fields can be the key'
  const example = likelyKey(fitting, table)
  const setting = `\`primary_key: ${formatValue(example.map(({ name }) => fields.get(name) ?? ''))}\``
  const sql = `alter table ${tableSql(live.name)} add primary key (${example.map(({ name }) => identifier(name)).join(', ')})`
  // PostgreSQL may reject changes of some columns of a view.
  const operations = inspected.view ? READS : operationsWithKey(table, columns).operations
  const steps = [
    ...(managed ? [`run \`${sql}\` in a migration of your own`] : []),
    `write ${setting}`,
    ...(inspected.view ? ['remove `nullable: true` from these fields'] : []),
  ]
  return `to find records by fields that identify them, for example, ${steps.join(', ')} and ${adviceForOperations(['list'], operations)}`
}

/** The columns that probably identify records: unique columns, or, for a view, the keys of the tables that it reads, as far as the view contains them. */
function likelyKey(
  fitting: readonly CatalogColumn[],
  { live, inspected: { view, sourceKeys } }: Table,
): readonly CatalogColumn[] {
  const unique = uniqueColumns(live).find((columns) => columns.every((column) => fitting.includes(column)))
  if (unique) return unique
  const names = new Set(fitting.map(({ name }) => name))
  const keys = sourceKeys.filter((key) => key.every((name) => names.has(name))).flat()
  const found = fitting.filter(({ name }) => keys.includes(name))
  if (found.length > 0) return found
  const id = fitting.filter(({ name }) => name === 'id')
  return id.length > 0 ? id : fitting.slice(0, view ? 1 : 2)
}

/** The columns of a unique constraint or index that covers every row and can be the key. */
function uniqueKey(table: CatalogTable): readonly string[] | undefined {
  const isKey = (column: CatalogColumn) => !column.nullable && isKeyColumn(column)
  return uniqueColumns(table)
    .find((columns) => columns.every(isKey))
    ?.map(({ name }) => name)
}

/** The columns of each unique constraint and index that covers every row, ordered by the number of columns. */
export function uniqueColumns(table: CatalogTable): readonly (readonly CatalogColumn[])[] {
  const unique = [
    ...table.constraints.filter((each) => each.kind === 'unique' && isPlainUnique(each)),
    ...table.indexes.filter((each) => isPlainIndex(table.name, each, 'unique')),
  ]
  return unique
    .map((each) => each.columns.flatMap((column) => find(table.columns, column ?? '') ?? []))
    .toSorted((one, other) => one.length - other.length)
}

function reasonAgainst(column: CatalogColumn): string {
  const { name, type, generated } = column
  if (generated !== null) return `${name} is computed`
  return isKeyColumn(column) ? `${name} has no field` : `${name} is of the type ${type}, which no key can have`
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
