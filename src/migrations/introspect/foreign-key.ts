import { keyTypeOf } from '../../fields/columns.js'
import type { Catalog, CatalogColumn, CatalogConstraint, CatalogTable } from './catalog.js'
import { isOnly, isUnique } from './plain-parts.js'

/** What a foreign key does, as far as resources.yaml can say it. That keys may change, and when it is checked, are no matter. */
export interface Reference {
  readonly column: string
  readonly target: string
  readonly key: string
  readonly onDelete: 'restrict' | 'cascade' | 'set_null'
}

const ON_DELETE: Readonly<Record<string, Reference['onDelete']>> = {
  '': 'restrict',
  RESTRICT: 'restrict',
  CASCADE: 'cascade',
  'SET NULL': 'set_null',
}

/** Reads a foreign key; undefined when it has several columns, or another action. */
export function readForeignKey({
  kind,
  columns,
  target,
  targetColumns,
  definition,
}: CatalogConstraint): Reference | undefined {
  const [[column, ...others], [key]] = [columns, targetColumns]
  const action = / ON DELETE (RESTRICT|CASCADE|SET NULL(?! \()|SET DEFAULT|SET NULL)/.exec(definition)?.[1] ?? ''
  const onDelete = ON_DELETE[action]
  if (kind !== 'foreign_key' || column == null || others.length > 0 || target === null || key === undefined)
    return undefined
  return onDelete && { column, target, key, onDelete }
}

/** Why no relation can stand for a foreign key, whatever models there are; undefined when one can. */
export function reasonAgainstRelation(
  key: CatalogConstraint,
  table: CatalogTable,
  target: CatalogTable | undefined,
): string | undefined {
  const reference = readForeignKey(key)
  const column = table.columns.find(({ name }) => name === reference?.column)
  if (!reference || !column) return `the file cannot say ${key.definition}`
  if (!target || !(isPrimary(target, [reference.key]) || isReferable(target, reference.key)))
    return `${reference.target}.${reference.key} is neither the primary key nor another unique column`
  const pointed = target.columns.find(({ name }) => name === reference.key)
  if (!pointed || !isOfKeyType(column, pointed)) return `it is ${column.type}, and the key is of another type`
  if (!key.validated) return 'the foreign key is not valid for all rows'
  return reference.onDelete === 'set_null' && !column.nullable ? 'on delete set null, and it takes no null' : undefined
}

/** Whether `references` can name the field of a column. A relation has the values of a key, and is not referred to itself. */
function isReferable(table: CatalogTable, column: string): boolean {
  return (
    isUnique(table, column) &&
    !table.constraints.some((each) => each.kind === 'foreign_key' && isOnly(each.columns, column))
  )
}

/** Whether a relation can describe a column that refers to a key: with the key's own type, or with one of the same numbers. */
function isOfKeyType(column: CatalogColumn, key: CatalogColumn): boolean {
  const type = keyTypeOf(key)
  if (type === undefined || type !== keyTypeOf(column)) return false
  return type.assigned !== undefined || (column.type === key.type && column.collation === key.collation)
}

/** Why a primary key cannot be a relation: the keys that it refers to lead back to it, and none would say what type they have. */
export function reasonAgainstCircle(key: CatalogConstraint, table: CatalogTable, tables: Catalog): string | undefined {
  if (!isPrimary(table, key.columns)) return undefined
  const seen = new Set<string>()
  for (let name = key.target; name !== null && !seen.has(name); ) {
    if (name === table.name) return 'it is the primary key, and leads back to itself'
    seen.add(name)
    const at = tables.find((each) => each.name === name)
    name = at?.constraints.find((each) => each.kind === 'foreign_key' && isPrimary(at, each.columns))?.target ?? null
  }
  return undefined
}

/** Whether these columns are one, and the whole primary key. */
export function isPrimary({ constraints }: CatalogTable, columns: CatalogConstraint['columns']): boolean {
  const primary = constraints.find(({ kind }) => kind === 'primary_key')
  return columns.length === 1 && isOnly(primary?.columns ?? [], columns[0] ?? '')
}

/** What a foreign key does besides, and stays as it is. */
export function besidesForeignKey({ definition }: CatalogConstraint): readonly string[] {
  return (
    definition.match(
      /ON UPDATE (?:CASCADE|SET NULL|SET DEFAULT|RESTRICT)|(?<!NOT )DEFERRABLE(?: INITIALLY DEFERRED)?|MATCH FULL|NOT VALID/g,
    ) ?? []
  )
}
