import { keyTypeOf } from '../../../fields/columns.js'
import type { Catalog, CatalogColumn, CatalogConstraint, CatalogTable } from './catalog.js'
import { INTEGERS } from '../../../fields/types/integer-type.js'
import { isOnly, isPlainIndex, isPlainUnique, isUnique } from './plain-parts.js'

/** The effect of a foreign key, as far as resources.yaml can express it. `on update` and deferral are ignored. */
export interface Reference {
  readonly columns: readonly string[]
  readonly target: string
  /** The columns that it refers to, one for each of its own columns. */
  readonly key: readonly string[]
  readonly onDelete: 'restrict' | 'cascade' | 'set_null'
}

const ON_DELETE: Readonly<Record<string, Reference['onDelete']>> = {
  '': 'restrict',
  RESTRICT: 'restrict',
  CASCADE: 'cascade',
  'SET NULL': 'set_null',
}

/** Reads a foreign key, with its columns in the order of their names; undefined if it has another action. */
export function readForeignKey({
  kind,
  columns,
  target,
  targetColumns,
  definition,
}: CatalogConstraint): Reference | undefined {
  const pairs = columns
    .flatMap((column, place) => (column === null ? [] : [{ column, key: targetColumns[place] ?? '' }]))
    .toSorted((one, other) => (one.column < other.column ? -1 : 1))
  const action = / ON DELETE (RESTRICT|CASCADE|SET NULL(?! \()|SET DEFAULT|SET NULL)/.exec(definition)?.[1] ?? ''
  const onDelete = ON_DELETE[action]
  if (kind !== 'foreign_key' || pairs.length === 0 || target === null) return undefined
  return onDelete && { columns: pairs.map(({ column }) => column), target, key: pairs.map(({ key }) => key), onDelete }
}

/** A foreign key as far as a relation of an unmanaged table needs it: neither its actions nor whether it is validated matter. */
export function asUnmanaged(key: CatalogConstraint): CatalogConstraint {
  return { ...key, definition: '', validated: true }
}

/** Why no relation can describe a foreign key, whatever models exist; undefined if one can. */
export function reasonAgainstRelation(
  key: CatalogConstraint,
  { live: table, managed }: { readonly live: CatalogTable; readonly managed: boolean },
  target: CatalogTable | undefined,
): string | undefined {
  const reference = readForeignKey(key)
  const columns = reference?.columns.flatMap((each) => table.columns.find(({ name }) => name === each) ?? []) ?? []
  if (!reference || columns.length < reference.columns.length) return `the file cannot express ${key.definition}`
  const [own = '', ...others] = reference.key
  const isKey =
    target &&
    (others.length > 0
      ? isUniqueTogether(target, reference.key)
      : isPrimary(target, reference.key) || isReferable(target, own))
  if (!isKey) {
    return others.length > 0
      ? `${reference.target} (${reference.key.join(', ')}) is neither the primary key nor another unique combination`
      : `${reference.target}.${own} is neither the primary key nor another unique column`
  }
  // In an unmanaged table, the column of a relation can have another integer type than its key, and a relation over several columns can have shorter texts.
  const areAlike = others.length === 0 ? areIntegers : areTexts
  for (const [place, column] of columns.entries()) {
    const pointed = target.columns.find(({ name }) => name === reference.key[place])
    if (pointed?.generated && others.length === 0 && !isReferable(target, own)) return `the key ${own} is computed`
    if (pointed && (isOfKeyType(column, pointed) || (!managed && areAlike(column, pointed)))) continue
    if (pointed && !keyTypeOf(pointed)) return `no relation can refer to the type ${pointed.type}`
    return `${others.length > 0 ? column.name : 'it'} is ${column.type}, and the key is of another type`
  }
  if (!key.validated) return 'the foreign key is not valid for all rows'
  return reference.onDelete === 'set_null' && columns.some(({ nullable }) => !nullable)
    ? 'on delete set null, but it is not null'
    : undefined
}

/** Whether columns are the primary key, or the columns of a plain unique constraint or index. */
function isUniqueTogether(table: CatalogTable, columns: readonly string[]): boolean {
  const isAll = (part: CatalogConstraint['columns']) =>
    part.length === columns.length && columns.every((column) => part.includes(column))
  return (
    table.constraints.some(
      (each) => isAll(each.columns) && (each.kind === 'primary_key' || (each.kind === 'unique' && isPlainUnique(each))),
    ) || table.indexes.some((each) => isAll(each.columns) && isPlainIndex(table.name, each, 'unique'))
  )
}

/** Whether `references` can name the field of a column: it must be unique, and not a relation itself. */
function isReferable(table: CatalogTable, column: string): boolean {
  return (
    isUnique(table, column) &&
    !table.constraints.some((each) => each.kind === 'foreign_key' && isOnly(each.columns, column))
  )
}

function areIntegers(...columns: readonly CatalogColumn[]): boolean {
  return columns.every(({ type }) => INTEGERS.has(type))
}

/** Whether columns have texts of any lengths, in the same collation. */
function areTexts(one: CatalogColumn, other: CatalogColumn): boolean {
  const isText = ({ type }: CatalogColumn) => /^(?:text|character varying(?:\(\d+\))?)$/.test(type)
  return isText(one) && isText(other) && one.collation === other.collation
}

/** Whether a relation can describe a column that refers to a key: its type must be the key's own, or an integer type like it. */
function isOfKeyType(column: CatalogColumn, key: CatalogColumn): boolean {
  const type = keyTypeOf(key)
  if (type === undefined || type !== keyTypeOf(column)) return false
  return type.assigned !== undefined || (column.type === key.type && column.collation === key.collation)
}

/** Why a primary key cannot be a relation: the keys that it refers to lead back to it, so that none has a type. */
export function reasonAgainstCircle(key: CatalogConstraint, table: CatalogTable, tables: Catalog): string | undefined {
  if (!isPrimary(table, key.columns)) return undefined
  const seen = new Set<string>()
  for (let name = key.target; name !== null && !seen.has(name); ) {
    if (name === table.name) return 'it is the primary key, and part of a circle of relations'
    seen.add(name)
    const at = tables.find((each) => each.name === name)
    name = at?.constraints.find((each) => each.kind === 'foreign_key' && isPrimary(at, each.columns))?.target ?? null
  }
  return undefined
}

/** Whether these columns are one column, which is the whole primary key. */
export function isPrimary({ constraints }: CatalogTable, columns: CatalogConstraint['columns']): boolean {
  const primary = constraints.find(({ kind }) => kind === 'primary_key')
  return columns.length === 1 && isOnly(primary?.columns ?? [], columns[0] ?? '')
}

/** Further effects of a foreign key, which stay as they are. */
export function besidesForeignKey({ definition }: CatalogConstraint): readonly string[] {
  return (
    definition.match(
      /ON UPDATE (?:CASCADE|SET NULL|SET DEFAULT|RESTRICT)|(?<!NOT )DEFERRABLE(?: INITIALLY DEFERRED)?|MATCH FULL|NOT VALID/g,
    ) ?? []
  )
}
