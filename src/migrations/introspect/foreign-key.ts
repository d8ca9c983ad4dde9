import { keyTypeOf } from '../../fields/columns.js'
import type { CatalogConstraint, CatalogTable } from './catalog.js'
import { isOnly } from './plain-parts.js'

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
  const primary = target?.constraints.find(({ kind }) => kind === 'primary_key')
  if (!primary || !isOnly(primary.columns, reference.key))
    return `${reference.target}.${reference.key} is not the primary key`
  const pointed = target?.columns.find(({ name }) => name === reference.key)
  if ((pointed && keyTypeOf(pointed)) !== keyTypeOf(column))
    return `it is ${column.type}, and the key is of another type`
  if (table.constraints.some(({ kind, columns }) => kind === 'primary_key' && columns.includes(column.name)))
    return 'it is the primary key'
  if (!key.validated) return 'the foreign key is not valid for all rows'
  return reference.onDelete === 'set_null' && !column.nullable ? 'on delete set null, and it takes no null' : undefined
}

/** What a foreign key does besides, and stays as it is. */
export function besidesForeignKey({ definition }: CatalogConstraint): readonly string[] {
  return (
    definition.match(
      /ON UPDATE (?:CASCADE|SET NULL|SET DEFAULT|RESTRICT)|(?<!NOT )DEFERRABLE(?: INITIALLY DEFERRED)?|MATCH FULL|NOT VALID/g,
    ) ?? []
  )
}
