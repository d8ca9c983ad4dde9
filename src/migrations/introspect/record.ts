import { identifier, literal } from '../../fields/sql-literal.js'
import type { Survey, SurveyColumn, SurveyPart, SurveySequence, SurveyTable } from './survey.js'

/** The first migration of a database that was there before: SQL that makes its tables again. */
export interface Recorded {
  /** Statements without a semicolon; empty when there is nothing to record. */
  readonly statements: readonly string[]
  /** What is in the database and not in the statements, one sentence each. */
  readonly left: readonly string[]
}

/**
 * Writes down the tables of a database as they are. What only this database can make, such as a type of an extension, is left out
 * and named, because an empty database could not run it.
 * @param known tables that migrations make already
 */
export function recordTables(survey: Survey, known: readonly string[] = []): Recorded {
  const fresh = survey.tables.filter(({ name }) => !known.includes(name))
  const tables = fresh.filter(({ special }) => special === null)
  const made = new Set([...known, ...tables.map(({ name }) => name)])
  const plans = tables.map((table) => planTable(table, made))
  const used = new Set(plans.flatMap(({ columns }) => columns.map(({ type }) => type.replaceAll(/["[\]]/g, ''))))
  const enums = survey.enums.filter(({ name }) => used.has(name))
  const sequences = survey.sequences.filter(({ table }) => table === null || tables.some(({ name }) => name === table))
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
      ...fresh.flatMap(({ name, special }) => (special === null ? [] : [`table ${name} is not recorded: ${special}`])),
      ...plans.flatMap(({ left }) => left),
      ...survey.others.map((other) => `${other} is not looked at`),
    ],
  }
}

interface TablePlan {
  readonly table: SurveyTable
  readonly columns: readonly SurveyColumn[]
  readonly inside: readonly SurveyPart[]
  /** Constraints that can only be added once all tables are there. */
  readonly later: readonly SurveyPart[]
  readonly indexes: readonly SurveyPart[]
  readonly left: readonly string[]
}

function planTable(table: SurveyTable, made: ReadonlySet<string>): TablePlan {
  const columns = table.columns.filter(({ foreign }) => !foreign)
  const there = new Set(columns.map(({ name }) => name))
  const reasonOf = ({ columns: parts, foreign, target }: SurveyPart): string | undefined => {
    if (foreign) return 'it uses what only this database has'
    if (parts.some((column) => column !== null && !there.has(column))) return 'a column of it is not recorded'
    return target !== null && !made.has(target.replaceAll('"', '')) ? `${target} is not recorded` : undefined
  }
  const parts = [...table.constraints, ...table.indexes]
  const kept = parts.filter((part) => reasonOf(part) === undefined)
  const isLate = ({ kind, definition }: SurveyPart) => kind === 'foreign_key' || / NOT VALID$/.test(definition)
  return {
    table,
    columns,
    inside: kept.filter((part) => part.kind !== 'index' && !isLate(part)),
    later: kept.filter(isLate),
    indexes: kept.filter(({ kind }) => kind === 'index'),
    left: [
      ...table.columns
        .filter(({ foreign }) => foreign)
        .map(
          ({ name, type }) => `${table.name}.${name} is not recorded: ${type} is a type that only this database has`,
        ),
      ...columns
        .filter(({ foreignDefault }) => foreignDefault)
        .map((column) => `the default of ${table.name}.${column.name} is not recorded: ${column.default}`),
      ...parts.flatMap((part) => {
        const reason = reasonOf(part)
        return reason === undefined ? [] : [`${table.name}.${part.name} is not recorded: ${reason}`]
      }),
      ...table.attached.map((what) => `${what} of ${table.name} is not recorded`),
    ],
  }
}

function createTable({ table, columns, inside }: TablePlan): string {
  const members = [
    ...columns.map(defineColumn),
    ...inside.map(({ name, definition }) => `constraint ${identifier(name)} ${definition}`),
  ]
  return `create table ${identifier(table.name)} (\n  ${members.join(',\n  ')}\n)`
}

function defineColumn(column: SurveyColumn): string {
  const { name, type, collation, notNull, identity, counter, generated } = column
  const value = column.foreignDefault ? null : column.default
  const parts = [
    identifier(name),
    type,
    collation !== null && `collate ${identifier(collation)}`,
    identity !== null && `generated ${identity} as identity${counter === null ? '' : ` (${counter})`}`,
    value !== null && (generated ? `generated always as (${value}) stored` : `default ${value}`),
    notNull && identity === null && 'not null',
  ]
  return parts.filter(Boolean).join(' ')
}

function addConstraint(table: SurveyTable, { name, definition }: SurveyPart): string {
  return `alter table ${identifier(table.name)} add constraint ${identifier(name)} ${definition}`
}

function ownSequence({ name, table, column }: SurveySequence): readonly string[] {
  if (table === null || column === null) return []
  return [`alter sequence ${identifier(name)} owned by ${identifier(table)}.${identifier(column)}`]
}

function commentsOf({ table, columns }: TablePlan): readonly string[] {
  const relation = identifier(table.name)
  return [
    ...(table.comment === null ? [] : [`comment on table ${relation} is ${literal(table.comment)}`]),
    ...columns.flatMap(({ name, comment }) =>
      comment === null ? [] : [`comment on column ${relation}.${identifier(name)} is ${literal(comment)}`],
    ),
  ]
}
