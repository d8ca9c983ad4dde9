import { keyTypeOf } from '../../fields/columns.js'
import { identifier, literal } from '../../fields/sql-literal.js'
import { partsOf, tableSql } from '../../fields/table-name.js'
import { isCitext } from '../../fields/text-rules.js'
import { collationSql } from './catalog/collation.js'
import type {
  SchemaInspection,
  InspectedColumn,
  InspectedPart,
  InspectedSequence,
  InspectedTable,
} from './catalog/inspect.js'

/** The first migration of an existing database: SQL that creates its tables again. */
export interface Recorded {
  /** Statements without a semicolon; empty if there is nothing to record. */
  readonly statements: readonly string[]
  /** Parts of the database that the statements leave out, one sentence each. */
  readonly left: readonly string[]
  /** The columns, constraints and indexes among these parts that belong to a recorded table: `books.title_search`. */
  readonly known: readonly string[]
}

/** The advice for an object that the first migration leaves out. */
const BY_HAND = 'create it in other databases yourself'

/**
 * Records the tables of a database as SQL. Parts that only this database can create, such as a type of an extension, are left out and listed,
 * because an empty database could not run them.
 * @param known tables that migrations create already
 * @param unmanaged tables that other programs keep making
 */
export function recordTables(
  inspected: SchemaInspection,
  known: readonly string[] = [],
  unmanaged: ReadonlySet<string> = new Set(),
): Recorded {
  const fresh = inspected.tables.filter(({ name }) => !known.includes(name))
  const tables = fresh.filter((table) => reasonAgainstManaging(table) === undefined && !unmanaged.has(table.name))
  const made = new Set([...known, ...tables.map(({ name }) => name)])
  const plans = tables.map((table) => planTable(table, made))
  const used = new Set(plans.flatMap(({ columns }) => columns.map(({ type }) => type.replaceAll(/["[\]]/g, ''))))
  const enums = inspected.enums.filter(({ name }) => used.has(name))
  const sequences = inspected.sequences.filter(
    ({ table }) => table === null || tables.some(({ name }) => name === table),
  )
  const statements = [
    ...enums.map(({ name, labels }) => `create type ${identifier(name)} as enum (${labels.map(literal).join(', ')})`),
    ...sequences.map(({ name, options }) => `create sequence ${identifier(name)} ${options}`.trimEnd()),
    ...plans.map(createTable),
    ...plans.flatMap(({ indexes }) => indexes.map(({ definition }) => definition)),
    ...sequences.flatMap(ownSequence),
    ...plans.flatMap(({ table, later }) => later.map((part) => addConstraint(table, part))),
    ...plans.flatMap(commentsOf),
  ]
  return {
    statements: tables.length > 0 ? statements : [],
    left: [
      ...fresh.flatMap(({ name, special }) =>
        special === null ? [] : [`${name} is not recorded: ${special}; ${BY_HAND}`],
      ),
      ...plans.flatMap(({ left }) => left),
      ...inspected.others.map((other) => `${other} is ignored; ${BY_HAND}`),
    ],
    known: plans.flatMap(({ table, known }) => known.map((name) => `${table.name}.${name}`)),
  }
}

/** Why recorded tables do not replace the files that made them, from a line of `left`. */
export function whyNotShown(left: string): string {
  return left.replace(`; ${BY_HAND}`, '').replace(/^(.+) is ignored$/, 'the final tables do not show the $1')
}

/**
 * Why migrations cannot make a table; undefined if they can. A column of a foreign type is left out of the table, unless a field can describe it.
 */
export function reasonAgainstManaging({ name, special, columns }: InspectedTable): string | undefined {
  if (special !== null) return special
  // The tables are those of the current schema, which other names leave out.
  if (partsOf(name).schema !== undefined) return 'a system catalogue has its name'
  const text = columns.find(({ type, foreign }) => foreign && isCitext({ type: type.replace(/\[\]$/, '') }))
  if (text) return `the type of its column ${text.name}, ${text.type}, does not exist in every database`
  const column = columns.find(({ foreign, foreignCollation }) => foreignCollation && !foreign)
  return column && `the collation ${column.collation} of its column ${column.name} does not exist in every database`
}

interface TablePlan {
  readonly table: InspectedTable
  readonly columns: readonly InspectedColumn[]
  readonly inside: readonly InspectedPart[]
  /** Constraints that can only be added once their table is there, or all tables are. */
  readonly later: readonly InspectedPart[]
  readonly indexes: readonly InspectedPart[]
  readonly left: readonly string[]
  /** The names of the columns, constraints and indexes that are left out, or recorded without their default. */
  readonly known: readonly string[]
}

function planTable(table: InspectedTable, made: ReadonlySet<string>): TablePlan {
  const foreign = table.columns.filter((column) => column.foreign).map(({ name }) => name)
  const columns = table.columns.filter((column) => reasonAgainstColumn(column, foreign) === undefined)
  const unfilled = columns.filter(({ foreignDefault }) => foreignDefault)
  const there = new Set(columns.map(({ name }) => name))
  const absent = table.columns.map(({ name }) => name).filter((name) => !there.has(name))
  const reasonOf = ({ columns: parts, foreign, target, kind, definition }: InspectedPart): string | undefined => {
    if (foreign) return 'it uses objects that only this database has'
    const isAbsent =
      parts.some((column) => column !== null && !there.has(column)) ||
      (kind === 'index' && namedIn(definition.slice(definition.indexOf(' USING ')), absent) !== undefined)
    if (isAbsent) return 'one of its columns is not recorded'
    return target !== null && !made.has(target) ? `${target} is not recorded` : undefined
  }
  const parts = [...table.constraints, ...table.indexes]
  const kept = parts.filter((part) => reasonOf(part) === undefined)
  const repeated = repetitionsIn(kept)
  const isLate = (part: InspectedPart) =>
    part.kind === 'foreign_key' || / NOT VALID$/.test(part.definition) || repeated.has(part)
  return {
    table,
    columns,
    inside: kept.filter((part) => part.kind !== 'index' && !isLate(part)),
    later: kept.filter(isLate),
    indexes: kept.filter(({ kind }) => kind === 'index'),
    left: [
      ...table.columns.flatMap((column) => {
        const reason = reasonAgainstColumn(column, foreign)
        return reason === undefined ? [] : [`${table.name}.${column.name} is not recorded: ${reason}; ${BY_HAND}`]
      }),
      ...unfilled.map((column) => {
        const place = `the default of ${table.name}.${column.name} is`
        const other = standIn(table, column)
        return `${place} ${other === null ? 'not recorded' : `recorded as ${other}`}: ${column.default}`
      }),
      ...parts.flatMap((part) => {
        const reason = reasonOf(part)
        return reason === undefined ? [] : [`${table.name}.${part.name} is not recorded: ${reason}; ${BY_HAND}`]
      }),
      ...table.attached.map((what) => `${what} of ${table.name} is not recorded; ${BY_HAND}`),
    ],
    known: [
      ...table.columns.filter((column) => !columns.includes(column) || unfilled.includes(column)),
      ...parts.filter((part) => !kept.includes(part)),
    ].map(({ name }) => name),
  }
}

/** The keys and unique constraints with the same columns as another one before them: `create table` makes only the first of them. */
function repetitionsIn(parts: readonly InspectedPart[]): ReadonlySet<InspectedPart> {
  const seen = new Set<string>()
  const keys = parts.filter(({ kind }) => kind === 'primary_key' || kind === 'unique' || kind === 'exclusion')
  const first = keys.toSorted((one, other) => Number(other.kind === 'primary_key') - Number(one.kind === 'primary_key'))
  return new Set(
    first.filter(({ definition }) => {
      const made = definition.replace(/^(?:PRIMARY KEY|UNIQUE) /, '').replace(/ WITH \([^)]*\)/, '')
      const isRepeated = seen.has(made)
      seen.add(made)
      return isRepeated
    }),
  )
}

/** Why a column is not recorded; undefined if it is. */
function reasonAgainstColumn(column: InspectedColumn, ofForeignTypes: readonly string[]): string | undefined {
  const { type, foreign, generated, foreignDefault } = column
  if (foreign) return `${type} is a type that only this database has`
  if (generated === null) return undefined
  if (foreignDefault) return 'it is computed by objects that only this database has'
  const source = namedIn(generated, ofForeignTypes)
  return source === undefined ? undefined : `it is computed from ${source}, which is not recorded`
}

/** The first of the columns that an expression names; a string literal in it may look like a name. */
function namedIn(expression: string, columns: readonly string[]): string | undefined {
  const names = new Set(expression.match(/"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*/gu))
  return columns.find((column) => names.has(column) || names.has(identifier(column)))
}

function createTable({ table, columns, inside }: TablePlan): string {
  const members = [
    ...columns.map((column) => defineColumn(table, column)),
    ...inside.map(({ name, definition }) => `constraint ${identifier(name)} ${definition}`),
  ]
  const kind = table.unlogged ? 'unlogged table' : 'table'
  return `create ${kind} ${tableSql(table.name)} (\n  ${members.join(',\n  ')}\n)${storageOf(table)}`
}

function storageOf({ storage }: InspectedTable): string {
  if (storage.length === 0) return ''
  const parameters = storage.map((each) => {
    const at = each.indexOf('=')
    return `${each.slice(0, at)} = ${literal(each.slice(at + 1))}`
  })
  return ` with (${parameters.join(', ')})`
}

/** The default to record for a default that only this database has: keys that are random UUIDs stay so. */
function standIn({ constraints }: InspectedTable, { name, type }: InspectedColumn): string | null {
  const isKey = constraints.some(({ kind, columns }) => kind === 'primary_key' && columns.includes(name))
  const keyType = isKey ? keyTypeOf({ type, collation: null, labels: null }) : undefined
  return keyType?.functions?.uuid ?? null
}

function defineColumn(table: InspectedTable, column: InspectedColumn): string {
  const { name, type, collation, notNull, identity, sequenceOptions, generated } = column
  const value = column.foreignDefault ? standIn(table, column) : column.default
  const parts = [
    identifier(name),
    type,
    collation !== null && `collate ${collationSql(collation)}`,
    identity !== null && `generated ${identity} as identity${sequenceOptions === null ? '' : ` (${sequenceOptions})`}`,
    generated !== null && `generated always as ${generated}`,
    value !== null && `default ${value}`,
    notNull && identity === null && 'not null',
  ]
  return parts.filter(Boolean).join(' ')
}

function addConstraint(table: InspectedTable, { name, definition }: InspectedPart): string {
  return `alter table ${tableSql(table.name)} add constraint ${identifier(name)} ${definition}`
}

function ownSequence({ name, table, column }: InspectedSequence): readonly string[] {
  if (table === null || column === null) return []
  return [`alter sequence ${identifier(name)} owned by ${tableSql(table)}.${identifier(column)}`]
}

function commentsOf({ table, columns }: TablePlan): readonly string[] {
  const relation = tableSql(table.name)
  return [
    ...(table.comment === null ? [] : [`comment on table ${relation} is ${literal(table.comment)}`]),
    ...columns.flatMap(({ name, comment }) =>
      comment === null ? [] : [`comment on column ${relation}.${identifier(name)} is ${literal(comment)}`],
    ),
  ]
}
