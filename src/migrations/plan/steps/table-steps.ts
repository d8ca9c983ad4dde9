import { tableSql } from '../../../fields/table-name.js'
import { identifier } from '../../../fields/sql-literal.js'
import type { CatalogTable } from '../../introspect/catalog/catalog.js'
import { remake } from './column-steps.js'
import { rowsOf } from '../prove/row-query.js'
import { addConstraint, createTable, type WantedTable } from '../sql.js'
import { destructive, safe, type Step } from '../../files/steps.js'

export function addTable(table: WantedTable, exists: (target: string) => boolean): Step {
  const columns = table.columns.map(({ name }) => name).join(', ')
  return {
    change: 'add',
    subject: table.name,
    detail: `table (${columns})`,
    safety: 'safe',
    owns: [...table.constraints, ...table.indexes].map(({ name }) => name),
    up: createTable(table, exists),
    down: [`drop table ${tableSql(table.name)}`],
  }
}

/** @param table its foreign keys are dropped by separate steps, before the tables that they refer to */
export function dropTable(table: CatalogTable): Step {
  const columns = table.columns.map((column) => ({ ...remake(table.name, column, column.nullable), name: column.name }))
  const parts = table.constraints.filter(({ kind }) => kind !== 'foreign_key')
  const members = [
    ...columns.map(({ name, definition }) => `${identifier(name)} ${definition}`),
    ...parts
      .filter(({ validated }) => validated)
      .map(({ name, definition }) => `constraint ${identifier(name)} ${definition}`),
  ]
  return {
    change: 'drop',
    subject: table.name,
    detail: `table (${table.columns.map(({ name }) => name).join(', ')})`,
    ...destructive(`the rows of ${table.name}`),
    rows: { ...rowsOf(tableSql(table.name), 'true'), says: (count) => `${count} rows` },
    up: [`drop table ${tableSql(table.name)}`],
    down: [
      ...columns.flatMap(({ before }) => before),
      `create table ${tableSql(table.name)} (\n  ${members.join(',\n  ')}\n)`,
      ...columns.flatMap(({ after }) => after),
      // A new table has no rows to check.
      ...parts.filter(({ validated }) => !validated).map((constraint) => addConstraint(table.name, constraint)),
      ...table.indexes.map(({ definition }) => definition),
    ],
  }
}

export function renameTable(from: string, to: string): Step {
  const rename = (one: string, other: string) => `alter table ${identifier(one)} rename to ${identifier(other)}`
  return {
    change: 'rename',
    subject: to,
    detail: `table, was ${from}`,
    renamed: from,
    ...safe,
    risk: 'programs that still use the old name fail',
    up: [rename(from, to)],
    down: [rename(to, from)],
  }
}
