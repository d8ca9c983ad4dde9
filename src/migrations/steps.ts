import { identifier } from '../fields/sql-literal.js'
import type { CatalogColumn, CatalogConstraint, CatalogIndex } from './catalog.js'
import {
  addConstraint as addConstraintSql,
  createIndex,
  createTable,
  type WantedColumn,
  type WantedConstraint,
  type WantedIndex,
  type WantedTable,
} from './sql.js'

/** One change of a plan: what `migrate plan` shows, and the SQL both ways. */
export interface Step {
  readonly change: 'add' | 'change' | 'drop'
  /** `books`, `books.title`, or the name of a constraint or index with its table. */
  readonly subject: string
  /** What is added, changed or dropped, in a few words. */
  readonly detail: string
  /** `safe` cannot fail on the rows that are there, and loses nothing that `down` does not bring back. */
  readonly safety: 'safe' | 'risky'
  /** What to know before it is applied. */
  readonly risk?: string
  readonly up: readonly string[]
  readonly down: readonly string[]
}

/** Whether the columns of a constraint are new in the same plan, so that there is no value yet that could break it. */
type IsNew = (column: string) => boolean

export function addTable(table: WantedTable, exists: (target: string) => boolean): Step {
  const columns = table.columns.map(({ name }) => name).join(', ')
  return {
    change: 'add',
    subject: table.name,
    detail: `table (${columns})`,
    safety: 'safe',
    up: createTable(table, exists),
    down: [`drop table ${identifier(table.name)}`],
  }
}

export function addColumn(table: string, column: WantedColumn): Step {
  const rewrites = column.default?.startsWith('gen_random_uuid') === true
  return {
    change: 'add',
    subject: `${table}.${column.name}`,
    detail: column.definition,
    ...safe,
    ...(rewrites && { risk: 'rewrites the table, which is locked meanwhile' }),
    up: [alter(table, `add column ${identifier(column.name)} ${column.definition}`)],
    down: [alter(table, `drop column ${identifier(column.name)}`)],
  }
}

export function addConstraint(table: string, constraint: WantedConstraint, isNew: IsNew): Step {
  return {
    change: 'add',
    subject: `${table}.${constraint.name}`,
    detail: constraint.definition,
    ...(constraint.columns.every(isNew)
      ? safe
      : risky('fails when a row that is there breaks it; writes wait while the rows are read')),
    up: [addConstraintSql(table, constraint)],
    down: [dropConstraintSql(table, constraint.name)],
  }
}

export function dropConstraint(table: string, constraint: CatalogConstraint): Step {
  return {
    change: 'drop',
    subject: `${table}.${constraint.name}`,
    detail: constraint.definition,
    safety: 'safe',
    up: [dropConstraintSql(table, constraint.name)],
    down: [addConstraintSql(table, constraint)],
  }
}

export function changeConstraint(table: string, from: CatalogConstraint, to: WantedConstraint): Step {
  return {
    change: 'change',
    subject: `${table}.${to.name}`,
    detail: `${from.definition} -> ${to.definition}`,
    ...risky('fails when a row that is there breaks it; writes wait while the rows are read'),
    up: [dropConstraintSql(table, from.name), addConstraintSql(table, to)],
    down: [dropConstraintSql(table, to.name), addConstraintSql(table, from)],
  }
}

export function addIndex(table: WantedTable, index: WantedIndex): Step {
  return {
    change: 'add',
    subject: `${table.name}.${index.name}`,
    detail: `index (${index.columns.join(', ')})`,
    ...safe,
    risk: 'writes wait while the index is built',
    up: [createIndex(table, index)],
    down: [`drop index ${identifier(index.name)}`],
  }
}

export function dropIndex(table: string, index: CatalogIndex): Step {
  return {
    change: 'drop',
    subject: `${table}.${index.name}`,
    detail: `index (${index.columns.join(', ')})`,
    safety: 'safe',
    up: [`drop index ${identifier(index.name)}`],
    down: [index.definition],
  }
}

export function changeNullable(table: string, from: CatalogColumn, to: CatalogColumn): Step {
  const column = `alter column ${identifier(to.name)}`
  const [allow, forbid] = [alter(table, `${column} drop not null`), alter(table, `${column} set not null`)]
  return {
    change: 'change',
    subject: `${table}.${to.name}`,
    detail: to.nullable ? 'not null -> null' : 'null -> not null',
    ...(to.nullable ? safe : risky('fails when a row has no value')),
    up: [from.nullable ? forbid : allow],
    down: [from.nullable ? allow : forbid],
  }
}

export function changeDefault(table: string, from: CatalogColumn, to: CatalogColumn): Step {
  const set = ({ name, default: value }: CatalogColumn) =>
    alter(table, `alter column ${identifier(name)} ${value === null ? 'drop default' : `set default ${value}`}`)
  return {
    change: 'change',
    subject: `${table}.${to.name}`,
    detail: `default ${from.default ?? 'none'} -> ${to.default ?? 'none'}`,
    safety: 'safe',
    up: [set(to)],
    down: [set(from)],
  }
}

const safe = { safety: 'safe' } as const

function risky(risk: string) {
  return { safety: 'risky', risk } as const
}

function alter(table: string, action: string): string {
  return `alter table ${identifier(table)} ${action}`
}

function dropConstraintSql(table: string, name: string): string {
  return alter(table, `drop constraint ${identifier(name)}`)
}
