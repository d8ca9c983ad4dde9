import { NAME, unquoted } from '../files/statements.js'
import { bareName, formatTableName } from '../../fields/table-name.js'
import type { CatalogConstraint, CatalogTable } from '../introspect/catalog/catalog.js'
import { convert } from '../plan/steps/conversions.js'
import type { LockMode, TableLock, Work } from './modes.js'

/** A lock that a statement takes on a table, and what it does there. */
export interface Effect extends TableLock {
  readonly work?: Work
}

type Match = Readonly<Record<string, string>>

interface Rule {
  readonly pattern: RegExp
  readonly effects: (match: Match, tables: readonly CatalogTable[]) => readonly Effect[]
}

const TABLE = String.raw`(?<table>(?:${NAME}\.)?${NAME})`
const COLUMN = String.raw`(?<column>${NAME})`
const TARGET = String.raw`references (?<target>(?:${NAME}\.)?${NAME})`

function rule(pattern: string, effects: Rule['effects']): Rule {
  return {
    pattern: new RegExp(`^${pattern}`, 'isu'),
    effects,
  }
}

function on(text: string | undefined, mode: LockMode, work?: Work): Effect {
  return {
    table: tableNamed(text ?? ''),
    mode,
    ...(work && { work }),
  }
}

/** The definition of a check that a column has no null, and nothing else. */
const IS_NOT_NULL = new RegExp(`^check \\(+${NAME} is not null\\)+$`, 'iu')

/** A lock for a moment. */
const briefly: Rule['effects'] = ({ table }) => [on(table, 'AccessExclusiveLock')]

const none: Rule['effects'] = () => []

/**
 * The statements of plans, and the locks of PostgreSQL 14 to 18, whose documentation names them under each command. The first match counts. Tests
 * compare all of them with `pg_locks`.
 */
const RULES: readonly Rule[] = [
  rule(`create table ${TABLE} `, ({ text = '' }) =>
    [...text.matchAll(new RegExp(TARGET, 'gisu'))].map(({ groups }) => on(groups?.target, 'ShareRowExclusiveLock')),
  ),
  rule(`alter table ${TABLE} add column ${NAME} (?<definition>.*)`, ({ table, definition = '' }) => [
    on(table, 'AccessExclusiveLock', isFilled(definition) ? 'rewrite' : undefined),
  ]),
  rule(`alter table ${TABLE} alter column ${COLUMN} type (?<type>.*)`, retyping),
  rule(`alter table ${TABLE} alter column ${COLUMN} set not null`, ({ table = '', column = '' }, tables) => {
    const isProof = ({ kind, validated, columns, definition }: CatalogConstraint) =>
      kind === 'check' && validated && columns.join() === unquoted(column) && IS_NOT_NULL.test(definition)
    const isProved = find(tables, table)?.constraints.some(isProof) === true
    return [on(table, 'AccessExclusiveLock', isProved ? undefined : 'scan')]
  }),
  rule(`alter table ${TABLE} rename to ${COLUMN}`, ({ column }) => [on(column, 'AccessExclusiveLock')]),
  rule(`alter table ${TABLE} add constraint ${NAME} (?:unique|primary key) using index`, briefly),
  rule(`alter table ${TABLE} add constraint ${NAME} (?:unique|primary key)`, ({ table }) => [
    on(table, 'AccessExclusiveLock', 'index'),
  ]),
  rule(`alter table ${TABLE} add constraint ${NAME} foreign key .*?${TARGET}(?<rest>.*)`, ({ table, target, rest }) => [
    on(table, 'ShareRowExclusiveLock', isUnchecked(rest) ? undefined : 'scan'),
    on(target, 'ShareRowExclusiveLock'),
  ]),
  rule(`alter table ${TABLE} add constraint ${NAME} check (?<rest>.*)`, ({ table, rest }) => [
    on(table, 'AccessExclusiveLock', isUnchecked(rest) ? undefined : 'scan'),
  ]),
  rule(`alter table ${TABLE} validate constraint `, ({ table }) => [on(table, 'ShareUpdateExclusiveLock', 'scan')]),
  rule(`alter table ${TABLE} drop constraint (?:if exists )?(?<name>${NAME})`, ({ table = '', name = '' }, tables) => {
    const target = find(tables, table)?.constraints.find((each) => each.name === unquoted(name))?.target ?? undefined
    return [target, tableNamed(table)].flatMap((each) =>
      each === undefined ? [] : [{ table: each, mode: 'AccessExclusiveLock' as const }],
    )
  }),
  rule(`alter table ${TABLE} (?:drop column|alter column|rename|set|reset) `, briefly),
  rule(`drop table ${TABLE}`, briefly),
  rule(`create (?:unique )?index concurrently ${NAME} on ${TABLE}`, ({ table }) => [
    on(table, 'ShareUpdateExclusiveLock', 'index'),
  ]),
  rule(`create (?:unique )?index (?:${NAME} )?on ${TABLE}`, ({ table }) => [on(table, 'ShareLock', 'index')]),
  rule(`drop index concurrently (?:if exists )?${TABLE}`, ({ table }, tables) =>
    ofIndex(table, tables, 'ShareUpdateExclusiveLock'),
  ),
  rule(`drop index (?:if exists )?${TABLE}`, ({ table }, tables) => ofIndex(table, tables, 'AccessExclusiveLock')),
  rule(`drop view ${TABLE}`, briefly),
  rule(`create or replace view ${TABLE}`, briefly),
  rule('create view ', none),
  // Parts of a view that the same plan recreates.
  rule('(?:grant|comment on|alter view|create rule|create trigger) ', none),
  rule('(?:create|alter|drop) (?:type|sequence) ', none),
  rule('alter index ', none),
  rule(`do .*?\\bexists \\(select from ${TABLE}`, ({ table }) => [on(table, 'AccessShareLock', 'scan')]),
  rule(`update ${TABLE} `, ({ table }) => [on(table, 'RowExclusiveLock', 'update')]),
]

/** The locks that a statement of a plan takes; undefined if it is unknown. */
export function effectsOf(statement: string, tables: readonly CatalogTable[]): readonly Effect[] | undefined {
  for (const { pattern, effects } of RULES) {
    const match = pattern.exec(statement)
    if (match) return effects({ ...match.groups, text: statement }, tables)
  }
  return undefined
}

function isUnchecked(rest = ''): boolean {
  return /\bnot valid$/i.test(rest)
}

/** Whether each row gets its own value. PostgreSQL stores a constant, or the time of the change, once for all existing rows. */
function isFilled(definition: string): boolean {
  if (/\bgenerated (?:always|by default) as (?:identity|\(.*\) stored)/is.test(definition)) return true
  const [, value = ''] = /\bdefault (.*)$/is.exec(definition.replaceAll(/'(?:[^']|'')*'/g, "''")) ?? []
  return /(?<!::)\b(?!now\()\w+\(/i.test(value)
}

function retyping(
  { table = '', column = '', type: text = '' }: Match,
  tables: readonly CatalogTable[],
): readonly Effect[] {
  const found = find(tables, table)
  const name = unquoted(column)
  const from = found?.columns.find((each) => each.name === name)
  const [, type = text, collation = null, using] =
    new RegExp(`^(.*?)(?: collate (${NAME}(?:\\.${NAME})?))?( using .*)?$`, 'isu').exec(text) ?? []
  const to = { type, collation: collation === null ? null : unquoted(collation) }
  const isRewritten = using !== undefined || !from || convert(table, name, from, to).rewrites
  if (isRewritten) return [on(table, 'AccessExclusiveLock', 'rewrite')]
  const indexes = (found?.indexes ?? []).filter(({ uses }) => uses.includes(name))
  const keys = (found?.constraints ?? []).filter(({ columns }) => columns.includes(name))
  const isReordered =
    from.collation !== to.collation &&
    (indexes.length > 0 || keys.some(({ kind }) => kind === 'unique' || kind === 'primary_key'))
  // PostgreSQL keeps an index on the column itself, and builds one on an expression, or with a condition, again.
  const isKept = indexes.every(({ columns, definition }) => !columns.includes(null) && !/ WHERE /.test(definition))
  if (isReordered || !isKept) return [on(table, 'AccessExclusiveLock', 'index')]
  // It checks each check of the column again.
  return [on(table, 'AccessExclusiveLock', keys.some(({ kind }) => kind === 'check') ? 'scan' : undefined)]
}

function ofIndex(text: string | undefined, tables: readonly CatalogTable[], mode: LockMode): readonly Effect[] {
  const name = bareName(tableNamed(text ?? ''))
  const owner = tables.find(({ indexes }) => indexes.some((index) => index.name === name))
  return owner ? [{ table: owner.name, mode }] : []
}

function find(tables: readonly CatalogTable[], text: string): CatalogTable | undefined {
  const table = tableNamed(text)
  return tables.find(({ name }) => name === table)
}

/** The name of a table from its SQL, as a catalogue spells it: `sales.orders` for `"sales"."orders"`. */
export function tableNamed(text: string): string {
  const [first = '', second] = [...text.matchAll(new RegExp(NAME, 'giu'))].map(([name]) => unquoted(name))
  return formatTableName(second === undefined ? { schema: undefined, name: first } : { schema: first, name: second })
}
