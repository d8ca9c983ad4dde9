import { tableSql } from '../../../fields/table-name.js'
import { sequenceRange } from '../../../fields/columns.js'
import { identifier } from '../../../fields/sql-literal.js'
import type { CatalogColumn } from '../../introspect/catalog/catalog.js'
import { collationSql } from '../../introspect/catalog/collation.js'
import { block, type Conversion } from './conversions.js'
import { type RowQuery, rowsOf } from '../prove/row-query.js'
import type { WantedColumn } from '../sql.js'
import { conversionsOf, misfitRows, type Retyped, riskOfGiven } from './type-change.js'
import { alter, blocking, destructive, risky, safe, type Step } from '../../files/steps.js'

export function renameColumn(table: string, from: string, to: string): Step {
  const rename = (one: string, other: string) =>
    alter(table, `rename column ${identifier(one)} to ${identifier(other)}`)
  return {
    change: 'rename',
    subject: `${table}.${to}`,
    detail: `was ${from}`,
    renamed: from,
    ...safe,
    risk: 'programs that still use the old name fail',
    up: [rename(from, to)],
    down: [rename(to, from)],
  }
}

/** @param relation the former name of the table, for counting */
export function addColumn(table: string, column: WantedColumn, relation: string): Step {
  const rewrites = column.default?.startsWith('gen_random_uuid') === true
  return {
    change: 'add',
    subject: `${table}.${column.name}`,
    detail: column.definition,
    ...(rewrites ? rewriting(relation) : column.nullable || column.filled ? safe : valueless(relation)),
    up: [alter(table, `add column ${identifier(column.name)} ${column.definition}`)],
    down: [alter(table, `drop column ${identifier(column.name)}`)],
  }
}

function valueless(relation: string) {
  return {
    ...risky(`fails when there is a row: ${NEW_VALUES}`),
    rows: {
      ...rowsOf(relation, 'true'),
      says: (count: string) => `${count} rows would have no value`,
      decides: { cannot: 'be added', help: NEW_VALUES },
    } as const,
  }
}

const NEW_VALUES = 'give the field a `default`, make it `nullable`, or fill it by a migration of your own'

/** @param relation the former name of the table, for counting */
export function dropColumn(table: string, column: CatalogColumn, relation: string): Step {
  const name = identifier(column.name)
  const filled = column.default !== null || column.identity !== null || column.generated !== null
  const made = remake(table, column, column.nullable || !filled)
  const back = [...made.before, alter(table, `add column ${name} ${made.definition}`), ...made.after]
  const strict = alter(table, `alter column ${name} set not null`)
  // The values are lost, so a not null column can be restored only in an empty table.
  const empty = block([
    'begin',
    `  if not exists (select from ${tableSql(table)}) then`,
    `    ${strict};`,
    '  end if;',
    'end',
  ])
  return {
    change: 'drop',
    subject: `${table}.${column.name}`,
    detail: definitionOf(column, column.nullable),
    ...destructive(`the values of ${table}.${column.name}`),
    rows: { ...rowsOf(relation, `${name} is not null`), says: (count) => `${count} rows have a value` },
    up: [alter(table, `drop column ${name}`)],
    down: column.nullable || filled ? back : [...back, empty],
  }
}

/** The full definition of an existing column, after its name. */
export function definitionOf(column: CatalogColumn, nullable: boolean): string {
  const { type, collation, default: value, identity, generated } = column
  const parts = [
    type,
    collation && `collate ${collationSql(collation)}`,
    generated && `generated always as ${generated}`,
    identity && `generated ${identity} as identity`,
    !nullable && identity === null && 'not null',
    value !== null && `default ${value}`,
  ]
  return parts.filter(Boolean).join(' ')
}

/** SQL that creates a column again, with its sequence. */
interface Remade {
  readonly before: readonly string[]
  /** The full definition of the column, after its name. */
  readonly definition: string
  readonly after: readonly string[]
}

/** How to restore a column: the sequence of a `serial` was dropped with it, and the sequence of an identity keeps its name. */
export function remake(table: string, column: CatalogColumn, nullable: boolean): Remade {
  const { name, type, identity, sequence } = column
  const definition = definitionOf(column, nullable)
  if (sequence === null) return { before: [], definition, after: [] }
  const quoted = identifier(sequence)
  if (identity !== null) {
    const named = sequence === `${table}_${name}_seq` ? '' : ` (sequence name ${quoted})`
    return { before: [], definition: definition.replace(' as identity', (text) => text + named), after: [] }
  }
  const width = sequenceRange(type) ? ` as ${type}` : ''
  return {
    before: [`create sequence ${quoted}${width}`],
    definition,
    after: [`alter sequence ${quoted} owned by ${tableSql(table)}.${identifier(name)}`],
  }
}

/** A column that becomes required or nullable. */
interface Nullability {
  readonly from: CatalogColumn
  readonly to: CatalogColumn
  /** The former name of the table, for counting. */
  readonly relation: string
  /** Whether rows without a value may get the default. */
  readonly fills: boolean
}

export function changeNullable(table: string, { from, to, relation, fills }: Nullability): Step {
  const name = identifier(to.name)
  const [allow, forbid] = ['drop', 'set'].map((verb) => alter(table, `alter column ${name} ${verb} not null`))
  const isFilled = fills && !to.nullable && to.default !== null
  const fill = `update ${tableSql(table)} set ${name} = ${to.default} where ${name} is null`
  return {
    change: 'change',
    subject: `${table}.${to.name}`,
    detail: to.nullable ? 'not null -> null' : 'null -> not null',
    ...(to.nullable ? safe : isFilled ? filling(relation, to) : requiring(table, { to, relation, fills })),
    up: [...(isFilled ? [fill] : []), (from.nullable ? forbid : allow) ?? ''],
    down: [(from.nullable ? allow : forbid) ?? ''],
  }
}

function filling(relation: string, { name, default: value }: CatalogColumn) {
  const rows: RowQuery = {
    ...rowsOf(relation, `${identifier(name)} is null`),
    says: (count, total) => `${count} of ${total} rows get ${value}`,
  }
  return { ...risky('writes the default into rows without a value, and `down` does not remove it'), rows }
}

function requiring(table: string, { to: { name }, relation, fills }: Omit<Nullability, 'from'>) {
  const where = `${identifier(name)} is null`
  const fill = `fill them first: update ${tableSql(table)} set ${identifier(name)} = … where ${where}`
  const rows: RowQuery = {
    ...rowsOf(relation, where),
    says: (count, total) => `${count} of ${total} rows have no value`,
    decides: {
      cannot: 'become required',
      help: fills ? `give the field a \`default\`, which these rows get unless it must be unique, or ${fill}` : fill,
    },
  }
  return { ...risky('fails when a row has no value'), rows }
}

export function changeDefault(table: string, from: CatalogColumn, to: CatalogColumn): Step {
  return {
    change: 'change',
    subject: `${table}.${to.name}`,
    detail: `default ${from.default ?? 'none'} -> ${to.default ?? 'none'}`,
    safety: 'safe',
    up: [setDefault(table, to)],
    down: [setDefault(table, from)],
  }
}

/**
 * Another type or collation. The default changes with it, because the old one may not be a value of the new type.
 * @param indexed whether an index or a constraint has the column
 */
export function changeType(change: Retyped, { indexed } = { indexed: false }): Step {
  const { table, from, to, given } = change
  const [there, back] = conversionsOf(change)
  return {
    change: 'change',
    subject: `${table}.${to.name}`,
    detail: `${typeOf(from)} -> ${typeOf(to)}`,
    ...(given ? riskOfGiven(change, given) : riskOf(change, there, indexed && from.collation !== to.collation)),
    up: retype(table, { from, to, conversion: there }),
    down: retype(table, { from: { ...to, sequence: from.sequence }, to: from, conversion: back }),
  }
}

function riskOf(change: Retyped, conversion: Conversion, reindexes: boolean) {
  const rows = misfitRows(change, conversion)
  if (rows) return { ...risky('fails when a value does not fit'), rows }
  if (conversion.rewrites) return rewriting(change.relation)
  return reindexes ? blocking : safe
}

function rewriting(relation: string) {
  const rows: RowQuery = { ...rowsOf(relation, 'true'), says: (count) => `${count} rows` }
  return { ...blocking, rows }
}

interface Retyping {
  readonly from: CatalogColumn
  readonly to: CatalogColumn
  readonly conversion: Conversion
}

function retype(table: string, { from, to, conversion }: Retyping): readonly string[] {
  const column = identifier(to.name)
  const free = { ...from, default: null }
  return [
    ...conversion.guards,
    ...(from.default === null ? [] : [setDefault(table, free)]),
    alter(table, `alter column ${column} ${conversion.action}`),
    ...(to.default === null ? [] : [setDefault(table, to)]),
    // The sequence of an identity gets the type of its column; the sequence of a `serial` would stop at the limit of the old type.
    ...(from.sequence !== null && from.identity === null && sequenceRange(to.type) !== undefined
      ? [`alter sequence ${identifier(from.sequence)} as ${to.type}`]
      : []),
  ]
}

function typeOf({ type, collation }: CatalogColumn): string {
  return collation === null ? type : `${type} collate ${collationSql(collation)}`
}

function setDefault(table: string, { name, default: value }: CatalogColumn): string {
  return alter(table, `alter column ${identifier(name)} ${value === null ? 'drop default' : `set default ${value}`}`)
}
