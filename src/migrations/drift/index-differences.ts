import { columnsInUse } from '../../config/indexes/needs.js'
import type { Rejection } from '../../config/parse/rejection.js'
import { type AppSpec, columnsOf, type ModelSpec } from '../../config/spec.js'
import type { Connection } from '../../db/database.js'
import { identifier } from '../../fields/sql-literal.js'
import { sameColumns } from '../introspect/catalog/plain-parts.js'
import { type LiveIndex, type LiveTable, readLiveIndexes } from './live-indexes.js'
import { createIndex } from '../plan/wanted-indexes.js'
import { addConstraint, type WantedTable, wantedTables } from '../plan/sql.js'

/** The result of checking the indexes of a database. */
export interface IndexFindings {
  /** The number of indexes on the tables of the configuration. */
  readonly indexes: number
  readonly rejections: readonly Rejection[]
}

/**
 * Compares the indexes of a database with those that a configuration needs, and reports missing, invalid and unused indexes. Changes nothing.
 * All migrations must be applied.
 */
export async function indexDifferences(spec: AppSpec, database: Connection): Promise<IndexFindings> {
  const live = await readLiveIndexes(database)
  const tables = new Map(wantedTables(spec).map((table) => [table.name, table]))
  const models = spec.models.filter(({ managed }) => managed)
  const columns = columnsInUse(spec.resources)
  const rejections = models.flatMap((model) => {
    const table = tables.get(model.table)
    const there = live.get(model.table)
    if (table === undefined || there === undefined) return [tableMissing(model)]
    const { indexes: found } = there
    const wanted = wantedOf(model, table)
    const own = new Set(table.indexes.map(({ name }) => name))
    const used = columns.get(model) ?? new Set<string>()
    return [
      ...wanted.flatMap((index) => missing(model, index, there)),
      ...found.filter(({ valid }) => !valid).map((index) => notValid(model, index)),
      ...found.flatMap((index) => notNeeded({ model, index, found, own, used })),
    ]
  })
  const counts = spec.models.map(({ table }) => live.get(table)?.indexes.length ?? 0)
  return { indexes: counts.reduce((sum, each) => sum + each, 0), rejections }
}

interface WantedLive {
  readonly columns: readonly string[]
  readonly unique: boolean
  /** Whether it belongs to a relation, and the file does not declare it. */
  readonly implied: boolean
  readonly sql: string
}

function wantedOf({ table: name }: ModelSpec, table: WantedTable): readonly WantedLive[] {
  const keys = table.constraints.filter(({ kind }) => kind === 'primary_key' || kind === 'unique')
  return [
    ...keys.map((key) => ({ columns: key.columns, unique: true, implied: false, sql: addConstraint(name, key) })),
    // `declaredIndexDifferences` compares the others.
    ...table.indexes
      .filter((index) => index.isPlain)
      .map((index) => ({
        columns: index.columns,
        unique: false,
        implied: index.implied,
        // Does not block writes.
        sql: createIndex(table, index).replace(/^create index/, 'create index concurrently'),
      })),
  ]
}

const PLAN = 'write the migration, unless there is one: snippetctl migrate plan --write NAME'

function tableMissing({ name, table }: ModelSpec): Rejection {
  const message = `the database has no table \`${table}\``
  return { code: 'SC403', path: ['models', name], part: 'key', message, help: [PLAN] }
}

function missing(
  model: ModelSpec,
  { columns, unique, implied, sql }: WantedLive,
  { indexes: found, references }: LiveTable,
): readonly Rejection[] {
  const same = ({ columns: others, unique: only }: LiveIndex) =>
    startsWith(others, columns) && (!unique || (only && others.length === columns.length))
  // Invalid indexes are reported separately.
  if (found.some(same)) return []
  const message = `the database has no ${unique ? 'unique ' : ''}index ${shown(columns)} of the table \`${model.table}\``
  // No plan adds an index to a foreign key that was there before its relation.
  const isKept = implied && references.some((each) => sameColumns(each, columns))
  const help = [isKept ? declaration(model, columns) : PLAN, `or, if the index was dropped, create it again: ${sql}`]
  return [{ code: 'SC403', ...placeOf(model, columns), message, help }]
}

function declaration({ name, fields }: ModelSpec, columns: readonly string[]): string {
  const names = columns.map((column) => fields.find((field) => field.column === column)?.name ?? column)
  return `declare it in \`models.${name}.indexes\`, as \`- [${names.join(', ')}]\`, and write the migration: snippetctl migrate plan --write NAME`
}

function notValid(model: ModelSpec, { name, columns, lacking }: LiveIndex): Rejection {
  const place = { code: 'SC404', ...placeOf(model, columns) } as const
  if (lacking.length > 0)
    return {
      ...place,
      message: `the index \`${name}\` of the database is not valid: partitions lack it: ${lacking.join(', ')}`,
      help: [
        `create an index like it on each of them, concurrently, and attach it to the index of its parent table: alter index ${identifier(name)} attach partition ITS_NAME`,
      ],
    }
  return {
    ...place,
    message: `the index \`${name}\` of the database is not valid: building it failed, and it is never read`,
    help: [`build it again: reindex index concurrently ${identifier(name)}`],
  }
}

interface UsedIndex {
  readonly model: ModelSpec
  readonly index: LiveIndex
  readonly found: readonly LiveIndex[]
  /** The names of the indexes that the configuration declares. */
  readonly own: ReadonlySet<string>
  readonly used: ReadonlySet<string>
}

/** Skips indexes that serve no list (on expressions, partial, or of another kind), because nothing is known about their use. */
function notNeeded({ model, index, found, own, used }: UsedIndex): readonly Rejection[] {
  const { name, columns, valid, unique, constraint, refers, scans, since } = index
  const [first] = columns
  // `check` already reports declared indexes that are not needed.
  if (!valid || unique || constraint || first === undefined || own.has(name)) return []
  const help = [
    `drop it in a migration, since each write has to keep it up to date: drop index if exists ${identifier(name)}`,
  ]
  const rejection = (message: string): Rejection => ({ code: 'SC405', ...placeOf(model, columns), message, help })
  const twin = found.find((other) => replaces(other, index, own))
  if (twin) {
    return [
      rejection(`the index \`${name}\` of the database is not needed: \`${twin.name}\` starts with the same columns`),
    ]
  }
  const isRelation = model.relations.some((relation) => columnsOf(relation)[0] === first)
  // An index that has been read serves something else, such as a plugin or a report.
  if (used.has(first) || isRelation || refers || (scans ?? 0) > 0) return []
  const read =
    scans === undefined ? '' : `, and PostgreSQL has not read it${since === undefined ? '' : ` since ${since}`}`
  return [rejection(`nothing uses the index \`${name}\` of the database: no list reads by \`${first}\`${read}`)]
}

/** Whether an index makes another one redundant. Of two equal indexes, only one is redundant. */
function replaces(other: LiveIndex, index: LiveIndex, own: ReadonlySet<string>): boolean {
  if (other === index || !other.valid || !startsWith(other.columns, index.columns)) return false
  return other.columns.length > index.columns.length || other.unique || own.has(other.name) || other.name < index.name
}

function startsWith(columns: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((column, at) => column === columns[at])
}

function shown(columns: readonly string[]): string {
  return `\`(${columns.join(', ')})\``
}

/** Finds the place for a diagnostic about an index: its declaration, else its field, else its model. */
function placeOf({ name, fields, indexes }: ModelSpec, columns: readonly string[]): Pick<Rejection, 'path' | 'part'> {
  const declared = indexes.findIndex((index) => sameColumns(index.columns, columns))
  if (declared >= 0) return { path: ['models', name, 'indexes', declared], part: 'value' }
  const field = columns.length === 1 ? fields.find(({ column }) => column === columns[0]) : undefined
  return { path: ['models', name, ...(field ? ['fields', field.name] : [])], part: 'key' }
}
