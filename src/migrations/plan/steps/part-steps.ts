import { inSchemaOf, tableSql } from '../../../fields/table-name.js'
import { identifier, literal } from '../../../fields/sql-literal.js'
import type { CatalogConstraint, CatalogIndex } from '../../introspect/catalog/catalog.js'
import { isPlainIndex } from '../../introspect/catalog/plain-parts.js'
import { type Decision, type RowQuery, rowsOf } from '../prove/row-query.js'
import { addConstraint as addConstraintSql, type WantedConstraint, type WantedTable } from '../sql.js'
import { createIndex, indexDefinition, type WantedIndex } from '../wanted-indexes.js'
import { alter, blocking, risky, safe, type Step } from '../../files/steps.js'

/** The tables before the plan, under their later names, for counting. */
interface Relations {
  readonly relation: string
  /** The name of the table before the plan. */
  readonly was: string
  /** The table that a foreign key refers to; undefined if it is new and has no rows yet. */
  readonly target: string | undefined
  /** How to fix rows that violate the constraint, if the plan itself sets their values. */
  readonly decides: Decision | undefined
}

type Counted = Pick<Relations, 'relation' | 'was'>

/** A constraint, an index or a sequence whose name follows that of a renamed table or column. */
export function renamePart(
  kind: 'constraint' | 'index' | 'sequence',
  table: string,
  names: { readonly from: string; readonly to: string },
): Step {
  const rename = (one: string, other: string) =>
    kind === 'constraint'
      ? alter(table, `rename constraint ${identifier(one)} to ${identifier(other)}`)
      : `alter ${kind} ${inSchemaOf(table, one)} rename to ${identifier(other)}`
  return {
    change: 'rename',
    subject: `${table}.${names.to}`,
    detail: `${kind}, was ${names.from}`,
    safety: 'safe',
    owns: kind === 'sequence' ? [] : [names.to],
    up: [rename(names.from, names.to)],
    down: [rename(names.to, names.from)],
  }
}

/**
 * @param isNew whether the same plan adds its columns, so that no existing value can violate it
 * @param owned whether resources.yaml owns it
 */
export function addConstraint(
  table: string,
  constraint: WantedConstraint,
  { isNew, owned, ...relations }: Relations & { readonly isNew: boolean; readonly owned: boolean },
): Step {
  return {
    change: 'add',
    subject: `${table}.${constraint.name}`,
    detail: constraint.definition,
    ...(isNew ? safe : { ...risky(BREAKS), ...breakers(constraint, relations) }),
    owns: owned ? [constraint.name] : [],
    up: [addConstraintSql(table, constraint)],
    down: [dropConstraintSql(table, constraint.name)],
  }
}

const BREAKS = 'fails if an existing row violates it'

/** The condition for rows of a table and its partitions. Keys do not apply to other tables that inherit from it. */
function ownRows(was: string): string {
  const table = literal(tableSql(was))
  return `tableoid in (select ${table}::regclass union select relid from pg_partition_tree(${table}))`
}

/** The rows that have the same values as another row in some SQL expressions, none of which is null. */
function twins(keys: readonly string[], { relation, was }: Counted, condition = 'true'): RowQuery {
  const own = ownRows(was)
  const present = [own, ...keys.map((key) => `${key} is not null`), condition].join(' and ')
  const each = `select count(*) over (partition by ${keys.join(', ')}) as n from ${relation} where ${present}`
  const sql = `select count(*) filter (where n > 1), (select count(*) from ${relation} where ${own}) from (${each}) twins`
  const says = (count: string, total: string) => `${count} of ${total} rows have the same value as another`
  return {
    sql,
    says,
    decides: ROWS_FIRST,
  }
}

const ROWS_FIRST: Decision = {
  cannot: 'be added',
  help: 'change these rows first, by a migration of its own if other databases have some, too',
}

/** The rows that violate a constraint. */
function breakers(constraint: WantedConstraint, relations: Relations): { readonly rows?: RowQuery } {
  const rows = breakingRows(constraint, relations)
  return rows ? { rows: { ...rows, decides: relations.decides ?? ROWS_FIRST } } : {}
}

function breakingRows(constraint: WantedConstraint, { relation, was, target }: Relations): RowQuery | undefined {
  const columns = constraint.columns.map(identifier)
  const says = (count: string, total: string) => `${count} of ${total} rows violate it`
  if (constraint.kind === 'check') {
    const where = `not ${constraint.definition.replace(/^check /i, '')}`
    return { ...rowsOf(relation, where), says }
  }
  if (constraint.kind === 'unique') return twins(columns, { relation, was })
  if (constraint.kind === 'foreign_key') {
    const names = columns.map((_, place) => `own.value${place + 1}`)
    const there = (constraint.targetColumns ?? []).map((name, place) => `there.${identifier(name)} = ${names[place]}`)
    const found = `select from (select * from ${target}) there where ${there.join(' and ')}`
    const isSet = names.map((name) => `${name} is not null`).join(' and ')
    const orphan = `${isSet}${target === undefined ? '' : ` and not exists (${found})`}`
    const own = columns.map((column, place) => `${column} as value${place + 1}`).join(', ')
    // A join of two tables, where a filter of the count would look for each row, which takes hours without an index on the target.
    const orphans = `select count(*) from (select ${own} from ${relation} where ${ownRows(was)}) own where ${orphan}`
    const sql = `select (${orphans}), (select count(*) from ${relation} where ${ownRows(was)})`
    return { sql, says: (count, total) => `${count} of ${total} rows refer to a missing row` }
  }
  return undefined
}

/** @param isWeaker whether the table accepts more afterwards */
export function dropConstraint(table: string, constraint: CatalogConstraint, isWeaker: boolean): Step {
  const { kind } = constraint
  return {
    change: 'drop',
    subject: `${table}.${constraint.name}`,
    detail: constraint.definition,
    ...(isWeaker ? risky(WEAKER[kind] ?? WEAKER.check) : safe),
    up: [dropConstraintSql(table, constraint.name)],
    down: [addConstraintSql(table, constraint)],
  }
}

/** The effect of dropping a constraint, after which `down` may fail. */
const WEAKER: Readonly<Partial<Record<CatalogConstraint['kind'], string>>> & Record<'check' | 'unique', string> = {
  check: 'weakens the table: it then accepts values that violate the check, and with such values `down` fails',
  unique: 'weakens the table: it then accepts equal values, and with such values `down` fails',
  foreign_key: 'weakens the table: it then accepts values that refer to nothing, and with such values `down` fails',
}

/** @param from the constraint, or the checks of another tool that together state its rule */
export function changeConstraint(
  table: string,
  { from, to }: { readonly from: readonly CatalogConstraint[]; readonly to: WantedConstraint },
  relations: Relations,
): Step {
  const before = from.map(({ name, definition }) => (name === to.name ? definition : `${name} ${definition}`))
  return {
    change: 'change',
    subject: `${table}.${to.name}`,
    detail: `${before.join(' and ')} -> ${to.definition}`,
    ...risky(BREAKS),
    ...breakers(to, relations),
    owns: [to.name],
    up: [...from.map(({ name }) => dropConstraintSql(table, name)), addConstraintSql(table, to)],
    down: [dropConstraintSql(table, to.name), ...from.map((each) => addConstraintSql(table, each))],
  }
}

export function addIndex(table: WantedTable, index: WantedIndex, counted: Counted): Step {
  return {
    change: 'add',
    subject: `${table.name}.${index.name}`,
    detail: index.isPlain
      ? `index (${index.columns.join(', ')})`
      : `${index.unique ? 'unique ' : ''}index ${indexDefinition(index)}`,
    ...(index.unique ? { ...risky(BREAKS), rows: twins(index.keys, counted, index.condition) } : blocking),
    owns: [index.name],
    up: [createIndex(table, index)],
    down: [`drop index ${identifier(index.name)}`],
  }
}

interface Consequences {
  /** Whether the table accepts more afterwards, if the index is unique. */
  readonly isWeaker: boolean
  /** A foreign key that stays and has no other index. */
  readonly served: CatalogConstraint | undefined
}

export function dropIndex(table: string, index: CatalogIndex, { isWeaker, served }: Consequences): Step {
  const risks = [
    ...(isWeaker && index.definition.startsWith('CREATE UNIQUE ') ? [WEAKER.unique] : []),
    ...(served
      ? [
          `serves the foreign key ${served.name}: without it, each delete in ${served.target} reads all rows of ${table}`,
        ]
      : []),
  ]
  return {
    change: 'drop',
    subject: `${table}.${index.name}`,
    detail: isPlainIndex(table, index)
      ? `index (${index.columns.join(', ')})`
      : index.definition.replace(/^CREATE (UNIQUE )?INDEX .*? USING (?:btree )?/, (_text, unique?: string) =>
          unique === undefined ? 'index ' : 'unique index ',
        ),
    ...(risks.length > 0 ? risky(risks.join('; ')) : safe),
    up: [`drop index ${identifier(index.name)}`],
    down: [index.definition],
  }
}

function dropConstraintSql(table: string, name: string): string {
  return alter(table, `drop constraint ${identifier(name)}`)
}
