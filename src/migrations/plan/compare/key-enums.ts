import { formatValue } from '../../../config/edit/format-value.js'
import type { Catalog, CatalogColumn, CatalogConstraint } from '../../introspect/catalog/catalog.js'
import type { WantedColumn, WantedTable } from '../sql.js'
import { choicesOf } from '../steps/enum-steps.js'
import { find } from './pair.js'
import type { TargetSchema } from './reconcile-pair.js'

/**
 * Gives a new column of a relation the enum of the existing key that it refers to. The models have no enums, only choices, so the column would be a text, of
 * which no foreign key can refer to an enum.
 */
export function withKeyEnums({ wanted, to }: TargetSchema, from: Catalog): TargetSchema {
  let tables = to
  const changed = wanted.map((table) => {
    const target = find(tables, table.name)
    const there = find(from, table.name)
    const enums = new Map(
      keyColumns(table, tables).flatMap(({ asked, key }) =>
        hasChoices(asked, key.labels ?? []) && !(there && find(there.columns, asked.name))
          ? [[asked.name, key] as const]
          : [],
      ),
    )
    if (!target || enums.size === 0) return table
    // The enum already limits the choices.
    const remain = ({ kind, columns }: Pick<CatalogConstraint, 'kind' | 'columns'>) =>
      kind !== 'check' || !columns.every((column) => column !== null && enums.has(column))
    const typed = {
      ...target,
      columns: target.columns.map((column) => ({ ...column, ...typeOf(column, enums.get(column.name)) })),
      constraints: target.constraints.filter(remain),
    }
    tables = tables.map((each) => (each === target ? typed : each))
    return {
      ...table,
      columns: table.columns.map((column) => retyped(column, enums.get(column.name))),
      constraints: table.constraints.filter(remain),
    }
  })
  return { wanted: changed, to: tables }
}

/** Relations between an enum and a column of another type: PostgreSQL has no foreign keys between them. */
export function keyEnumRejections({ wanted, to }: TargetSchema): readonly string[] {
  return wanted.flatMap((table) =>
    referringColumns(table, to).flatMap(({ asked, key, keyName, choices }) => {
      const column = find(find(to, table.name)?.columns ?? [], asked.name)
      if (!column || column.type === key.type || (key.labels === null && column.labels === null)) return []
      const type = key.labels === null ? '' : '`type: choice` and '
      const remedy =
        choices === undefined || hasChoices(asked, choices)
          ? `write a migration by hand that gives the column this ${key.labels === null ? 'type' : 'enum'}`
          : `write ${type}\`choices: ${formatValue(choices)}\` in the field \`${asked.field}\` of the model \`${table.model}\``
      return `${table.name}.${asked.name} is ${shown(column)} and cannot refer to ${keyName}, which is ${shown(key)}: ${remedy}`
    }),
  )
}

function shown({ type, labels }: CatalogColumn): string {
  return labels === null ? type : `the enum ${type}`
}

interface Reference {
  /** The column that refers to the key. */
  readonly asked: WantedColumn
  readonly key: CatalogColumn
  readonly keyName: string
  /** The choices of the key. */
  readonly choices: readonly string[] | undefined
}

/** The columns of a table that refer to enums. */
function keyColumns(table: WantedTable, to: Catalog) {
  return referringColumns(table, to).filter(({ key }) => key.labels !== null)
}

function referringColumns(table: WantedTable, to: Catalog): readonly Reference[] {
  return table.constraints.flatMap(({ kind, columns, target, targetColumns = [] }) => {
    const keys = kind === 'foreign_key' && target !== undefined ? find(to, target) : undefined
    return columns.flatMap((name, place) => {
      const key = keys && find(keys.columns, targetColumns[place] ?? '')
      const asked = find(table.columns, name)
      if (!keys || !key || !asked) return []
      return [{ asked, key, keyName: `${target}.${key.name}`, choices: key.labels ?? choicesOf(keys, key.name) }]
    })
  })
}

function hasChoices({ choices, impliedChoices }: WantedColumn, others: readonly string[]): boolean {
  return (choices ?? impliedChoices)?.toSorted().join('\0') === others.toSorted().join('\0')
}

function typeOf(column: CatalogColumn, key: CatalogColumn | undefined): Partial<CatalogColumn> {
  if (!key) return {}
  const { type, collation, labels } = key
  return { type, collation, labels, default: column.default?.replace(/::text$/, `::${type}`) ?? null }
}

function retyped(column: WantedColumn, key: CatalogColumn | undefined): WantedColumn {
  return key
    ? { ...column, type: key.type, definition: key.type + column.definition.slice(column.type.length) }
    : column
}
