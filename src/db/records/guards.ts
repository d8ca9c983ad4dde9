import { remember } from '../../foundation/remember.js'
import { indexesOf } from '../../config/indexes/coverage.js'
import { outgrowing, outgrowingAny } from '../../config/indexes/index-size.js'
import { isPlain, type ModelRelation } from '../../config/model-spec.js'
import { type AppSpec, columnsOf, type FieldSpec, isShown, type ModelSpec } from '../../config/spec.js'
import { type Cell, printCell, readCell } from '../../fields/cell.js'
import { identifier } from '../../fields/sql-literal.js'
import { bareName, partsOf } from '../../fields/table-name.js'
import { lowerCase } from '../../fields/text-rules.js'
import type { FieldError } from '../../foundation/problem.js'
import type { Id, Row } from '../../resource/plan.js'
import { recordKey } from '../../resource/keys/record-key.js'
import type { Bounds } from '../statements/rules/bounds.js'
import { changedSql } from '../statements/rules/covering-sql.js'
import { parameters } from '../statements/parameters.js'
import {
  type ConstraintErrors,
  type NamedKey,
  referenceName,
  type Referrers,
  splitColumns,
} from '../driver/field-errors.js'
import {
  constraintFields,
  declaredIndexName,
  fieldsOf,
  foreignKeyName,
  indexName,
  uniqueName,
} from '../../config/parse/constraint-names.js'
import type { Database } from '../database.js'
import { parameterOf } from '../driver/misfits.js'
import { explaining, missingKeyOf, referredKeyOf, takenKeyOf, toProblem } from '../driver/errors.js'

const BROKEN = {
  unique: 'is taken by another record',
  foreign_key: 'names a record that does not exist',
  check: 'is not valid',
} as const

/** The tables of all models, without their schemas. */
const tablesOf = remember(
  (models: readonly ModelSpec[]): ReadonlySet<string> => new Set(models.map(({ table }) => bareName(table))),
)

/** Returns `title` for `lower(title::text)`, which is how the server names the key of an index that ignores case, and any other key unchanged. */
function columnIn(key: string): string {
  return /^lower\(\(?([^():]+)\)?(?:::text)?\)$/.exec(key)?.[1] ?? key
}

interface Explaining extends Partial<Pick<ConstraintErrors, 'checkedColumns'>> {
  /** Whether the caller must not know of a field; by default, whether it is private. */
  readonly isHidden?: ((field: FieldSpec) => boolean) | undefined
}

/** Builds the messages for clients when the database rejects a change. Hidden fields are never mentioned. */
export function constraintErrorsOf(
  model: ModelSpec,
  models: readonly ModelSpec[],
  { isHidden = ({ private: isPrivate }) => isPrivate, checkedColumns = () => undefined }: Explaining = {},
): ConstraintErrors {
  const { fields, table } = model
  const own = bareName(table)
  const tables = tablesOf(models)
  // A combination with a private field gets no message: one about its public fields alone would be wrong. A field that is hidden from this caller, such as
  // its tenant, is only left out: the caller must learn which of its own values is taken.
  const allShown = (guarded: readonly FieldSpec[]) =>
    guarded.some((field) => field.private) ? [] : guarded.filter((field) => !isHidden(field))
  const namesOf = (names: readonly string[]) => allShown(fields.filter(({ name }) => names.includes(name)))
  const indexes = indexesOf(model).map(({ columns, unique }) => ({
    name: unique ? uniqueName(table, columns) : indexName(table, columns),
    indexed: fieldsOf(model, columns),
  }))
  const others = model.indexes
    .filter((index) => !isPlain(index) && index.method === 'btree')
    .map((index) => ({ name: declaredIndexName(table, index), indexed: fieldsOf(model, index.columns) }))
  const required = (field: FieldSpec) => (isHidden(field) ? undefined : errorOf(field, `${field.label} is required`))
  const tooLong = (long: readonly FieldSpec[]) => tooLongErrors(long.filter((field) => !isHidden(field)))
  return {
    table: own,
    isOfOtherModel: (name) => name !== own && tables.has(name),
    messages: new Map(Object.entries(model.messages)),
    constraints: new Map(
      [...constraintFields(model)].map(([name, { fields: guarded, kind, message }]) => [
        name,
        errorsOf(namesOf(guarded), kind, message),
      ]),
    ),
    columns(kind, columns) {
      const named = columns.map(columnIn)
      const guarded = fields.filter(({ column }) => named.includes(column) || named.includes(identifier(column)))
      // The value of a hidden field, or of a column without one, may be the reason why a check fails.
      const isUncertain = kind === 'check' && (guarded.length < named.length || guarded.some(isHidden))
      return isUncertain ? [] : errorsOf(allShown(guarded), kind)
    },
    checkedColumns,
    misfits(columns) {
      const unfit = allShown(fields.filter(({ column }) => columns.includes(column)))
      const message = (unfit.length === 1 ? unfit[0]?.message : undefined) ?? `${labelsOf(unfit)} cannot be stored`
      return unfit.map((field) => errorOf(field, message))
    },
    oversized: new Map([...indexes, ...others].map(({ name, indexed }) => [name, tooLong(outgrowing(indexed))])),
    anyOversized: tooLong([...new Set([...indexes, ...others].flatMap(({ indexed }) => outgrowingAny(indexed)))]),
    required: new Map(
      fields.filter((field) => !field.nullable && !field.generated).map((field) => [field.column, required(field)]),
    ),
  }
}

function errorOf({ name }: FieldSpec, message: string): FieldError {
  return { field: name, message }
}

function labelsOf(fields: readonly FieldSpec[]): string {
  return fields.map(({ label }) => label).join(' or ')
}

/** Names every field that may be too long, because the database does not say which one is. */
function tooLongErrors(shown: readonly FieldSpec[]): readonly FieldError[] {
  const message = `${labelsOf(shown)} is too long to be indexed`
  return shown.map((field) => errorOf(field, message))
}

function errorsOf(fields: readonly FieldSpec[], kind: keyof typeof BROKEN, message?: string): readonly FieldError[] {
  const labels = fields.map(({ label }) => label)
  const subject = labels.length > 1 ? `The combination of ${labels.join(' and ')}` : labels.join('')
  return fields.map((field) => errorOf(field, message ?? `${subject} ${BROKEN[kind]}`))
}

/**
 * Builds the messages for deleting a record that is referenced: for public relations, and for constraints with a configured message. Models with records
 * that `bounds` hide are not mentioned.
 */
export function referrersOf({ resources, models }: AppSpec, model: ModelSpec, bounds?: Bounds): Referrers {
  const isHidden = (other: ModelSpec) =>
    bounds?.scopes?.has(other.table) === true || bounds?.granted?.access.retrievable(other.table) !== undefined
  // If several resources expose a model, the first one gives its name.
  const referring = [...resources]
    .reverse()
    .filter((resource) => !isHidden(resource.model))
    .map(({ name, model: { table, relations } }) => ({
      table,
      message: `A record of ${name} still refers to it`,
      relations: relations.filter(({ target }) => target.model === model.name),
      isPublic: relations.every(isPublic),
    }))
    .filter(({ relations }) => relations.length > 0)
  const constraints = referring.flatMap(({ table, message, relations }) =>
    relations
      .filter(isPublic)
      .map((relation) => [foreignKeyName(table, columnsOf(relation)), `${message}, by ${relation.name}`] as const),
  )
  // The constraints of other programs have names of their own, which tell the table, but not the relation.
  const tables = referring.flatMap((each) => (each.isPublic ? [[each.table, each.message] as const] : []))
  const names = (table: string) =>
    [bareName(model.table), undefined].map((referred) => referenceName(bareName(table), referred))
  return {
    constraints: new Map([...constraints, ...Object.entries(model.messages)]),
    tables: new Map(tables.flatMap(([table, message]) => names(table).map((name) => [name, message] as const))),
    named: (name) => models.map(({ table }) => partsOf(table)).filter((each) => each.name === name),
  }
}

function isPublic({ parts }: ModelRelation): boolean {
  return parts.every(({ field }) => isShown(field))
}

/** Finds which of several new rows has the duplicate key, or the reference to a record that does not exist. */
export function placeOfKey(model: ModelSpec, rows: readonly Row[], error: unknown): number | undefined {
  const named = takenKeyOf(error) ?? missingKeyOf(error)
  if (!named) return undefined
  // The collation of an unmanaged column is unknown.
  const collations = model.managed ? [undefined] : [undefined, 'default']
  const printed = collations.map((collation) => printKeys(model, rows, named, collation))
  const exact = printed.map((keys) => exactPlace(keys, named)).find((place) => place >= 0)
  return exact ?? printed.map((keys) => onlyPlace(keys, named)).find((place) => place !== undefined)
}

/** The parts of a key; undefined for one that the database has filled in. */
type PrintedKey = readonly (string | undefined)[]

/** @param collation by which `lower` works; by default, that of each field */
function printKeys(
  { fields }: ModelSpec,
  rows: readonly Row[],
  { columns }: NamedKey,
  collation: string | undefined,
): readonly PrintedKey[] {
  const prints = splitColumns(columns).map((key) => {
    const column = columnIn(key)
    const field = fieldOf(fields, column)
    return (row: Row) => {
      if (!field || !Object.hasOwn(row, field.name)) return undefined
      const text = printCell(field, row[field.name])
      return column === key ? text : lowerCase(text, collation === undefined ? field.options : { collation })
    }
  })
  return rows.map((row) => prints.map((print) => print(row)))
}

/** The last match, because an earlier one may be the row that it collides with. Without a collision, all matches are wrong. */
function exactPlace(keys: readonly PrintedKey[], { texts }: NamedKey): number {
  return keys.findLastIndex((parts) => parts.join(', ') === texts && !parts.includes(undefined))
}

/** The only row that can have the key. */
function onlyPlace(keys: readonly PrintedKey[], { texts }: NamedKey): number | undefined {
  const [place, ...others] = keys.flatMap((parts, index) => (isJoined(texts, parts) ? [index] : []))
  return others.length === 0 ? place : undefined
}

/** Whether a text has these parts between commas. An undefined part can be any text. */
function isJoined(text: string, parts: PrintedKey): boolean {
  // No text in PostgreSQL contains U+0000.
  const pieces = parts
    .map((part) => part ?? '\0')
    .join(', ')
    .split('\0')
  const last = pieces.pop() ?? ''
  let end = 0
  for (const [index, piece] of pieces.entries()) {
    const start = text.indexOf(piece, end)
    if (start < 0 || (index === 0 && start > 0)) return false
    end = start + piece.length
  }
  return pieces.length === 0 ? text === last : text.slice(end).endsWith(last)
}

/** A value that its column does not take: the place of its row, and the columns of the row with this value. */
interface Misfit {
  readonly place: number
  readonly columns: readonly string[]
}

/** Finds the value of some rows that the server could not convert to the type of its column. */
export function misfitOf(
  model: ModelSpec,
  rows: readonly Row[],
  { error, values }: { readonly error: unknown; readonly values: readonly Cell[] },
): Misfit | undefined {
  const number = parameterOf(error)
  if (number === undefined) return undefined
  const value = values[number - 1]
  const isValue = (row: Row) => (field: FieldSpec) => {
    if (!Object.hasOwn(row, field.name)) return false
    const params = parameters()
    changedSql(model, field, row, { params })
    return params.values.some((each) => each === value)
  }
  // The values of a statement are in the order of its rows.
  const owners = rows.flatMap((row, place) => {
    const columns = model.fields.filter(isValue(row)).map(({ column }) => column)
    return columns.map(() => ({ place, columns }))
  })
  const isSame = (each: Cell) => each === value
  if (owners.length === values.filter(isSame).length) return owners[values.slice(0, number - 1).filter(isSame).length]
  return owners.every(({ place }) => place === owners[0]?.place) ? owners[0] : undefined
}

/** Finds which of several records was not deleted because others refer to it by its primary key. */
export function placeOfReferred(model: ModelSpec, ids: readonly Id[], error: unknown): number | undefined {
  const referred = referredKeyOf(error, bareName(model.table))
  if (!referred) return undefined
  const key = recordKey(model)
  const named = splitColumns(referred.columns).map((column) => fieldOf(key.fields, column))
  const textOf = (cells: readonly string[]) =>
    named.map((field) => field && printCell(field, readCell(field, cells[key.fields.indexOf(field)]))).join(', ')
  const place = ids.findIndex((id) => textOf(key.write(id)) === referred.texts)
  return place < 0 ? undefined : place
}

/** The field of a column that the server names; undefined if the column has no field. */
function fieldOf(fields: readonly FieldSpec[], name: string): FieldSpec | undefined {
  return fields.find(({ column }) => column === name || identifier(column) === name)
}

/** The constraint errors of each model, by its table without the schema, which is how the server names it in errors. */
export function constraintErrorsByTable(models: readonly ModelSpec[]): ReadonlyMap<string, ConstraintErrors> {
  return new Map(models.map((model) => [bareName(model.table), constraintErrorsOf(model, models)]))
}

/** Wraps a database so that a failed commit names the fields, as failed statements do. Errors of the work itself pass unchanged. */
export function guardTransactions(database: Database, models: readonly ModelSpec[]): Database['transaction'] {
  const constraintErrors = constraintErrorsByTable(models)
  return async (work, options) => {
    let worked = false
    try {
      return await database.transaction(async (connection) => {
        worked = false
        const result = await work(connection)
        worked = true
        return result
      }, options)
    } catch (error) {
      // Here only the commit can fail: because of an error that the work has caught, or a deferred constraint.
      if (!worked) throw error
      throw toProblem(error, explaining(error, constraintErrors))
    }
  }
}
