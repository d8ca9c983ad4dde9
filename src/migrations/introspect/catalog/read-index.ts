import { supportsType } from '../../../config/indexes/index-methods.js'
import { INDEX_METHODS, type IndexMethod, MAX_CONDITIONS } from '../../../config/model-spec.js'
import type { FieldType } from '../../../fields/field-type.js'
import { fieldType } from '../../../fields/index.js'
import { unquote } from '../../../fields/sql-literal.js'
import { choice } from '../../../fields/types/choice.js'
import { belongsTo } from '../../../fields/types/relation.js'
import type { Json } from '../../../foundation/json.js'
import { iexact } from '../../../lookups/iexact.js'
import { parameterOf } from '../../../lookups/index.js'
import { isnull } from '../../../lookups/isnull.js'
import { find } from '../../plan/compare/pair.js'
import type { CatalogColumn, CatalogIndex, CatalogTable } from './catalog.js'
import type { ChosenField } from '../choose/field-of-column.js'
import { isPlainIndex } from './plain-parts.js'

/** An index as a model declares it. */
export interface IndexSettings {
  readonly fields: readonly string[]
  readonly unique: boolean
  readonly ignore_case?: true
  readonly where?: Readonly<Record<string, Json>>
  readonly using?: IndexMethod
}

/** A field for a column. */
export type IndexedField = Pick<ChosenField, 'name' | 'words'>

function typeOf({ words }: IndexedField): FieldType | undefined {
  return fieldType(String(words.find(([word]) => word === 'type')?.[1]))
}

const NAME = String.raw`(?:[a-z_][a-z0-9_]*|"(?:[^"]|"")+")`
const DEFINITION = /^CREATE (UNIQUE )?INDEX .* USING ([a-z]+) \((.*?)\)(?: WHERE (.*))?$/
const KEY = new RegExp(`^(?:lower\\((${NAME})(?:::text)?\\)|(${NAME}))$`)
const NULL_TEST = new RegExp(`^(${NAME}) IS (NOT )?NULL$`)
const EQUAL = new RegExp(String.raw`^(${NAME})(?:::text)? = (?:(true|false|\d+)|'([^'\\]*)'::(.+))$`)

/**
 * Reads an index as `indexes:` declares it.
 * @param fields the fields of the model, by column
 * @returns undefined if a model cannot declare it, or has no field for a column
 */
export function readIndex(
  table: CatalogTable,
  index: CatalogIndex,
  fields: ReadonlyMap<string, IndexedField>,
): IndexSettings | undefined {
  if (!index.valid) return undefined
  const unique = isPlainIndex(table.name, index, 'unique')
  const settings =
    unique || isPlainIndex(table.name, index)
      ? plainSettings(index.columns, unique, fields)
      : readSpecialIndex(table, index, fields)
  return settings && new Set(settings.fields).size === settings.fields.length ? settings : undefined
}

/** The settings of a plain index or unique constraint; undefined if a column has no field. */
export function plainSettings(
  columns: readonly (string | null)[],
  unique: boolean,
  fields: ReadonlyMap<string, IndexedField>,
): IndexSettings | undefined {
  const names = columns.flatMap((column) => fields.get(column ?? '')?.name ?? [])
  return names.length === columns.length ? { fields: names, unique } : undefined
}

function readSpecialIndex(
  { columns }: CatalogTable,
  { definition }: CatalogIndex,
  fields: ReadonlyMap<string, IndexedField>,
): IndexSettings | undefined {
  const [, unique, method = '', list = '', condition] = DEFINITION.exec(definition) ?? []
  const using = INDEX_METHODS.find((each) => each === method)
  const keys = list.split(', ').map((key) => readKey(key, fields))
  const where = condition === undefined ? {} : readConditions(condition, { columns, fields })
  if (using === undefined || where === undefined || (using !== 'btree' && unique !== undefined)) return undefined
  if (!keys.every((key) => key !== undefined) || !keys.every(({ field }) => fits(using, field))) return undefined
  const ignoresCase = keys.some(({ lowered }) => lowered)
  // `ignore_case` applies to every text of the index.
  if (ignoresCase && (using !== 'btree' || keys.some(({ field, lowered }) => lowered !== isText(field))))
    return undefined
  return {
    fields: keys.map(({ field }) => field.name),
    unique: unique !== undefined,
    ...(ignoresCase && { ignore_case: true }),
    ...(condition === undefined ? {} : { where }),
    ...(using === 'btree' ? {} : { using }),
  }
}

function fits(using: IndexMethod, field: IndexedField): boolean {
  const type = typeOf(field)
  return type !== undefined && supportsType(using, type)
}

function isText(field: IndexedField): boolean {
  const type = typeOf(field)
  return type !== undefined && iexact.isOffered(type)
}

function readKey(key: string, fields: ReadonlyMap<string, IndexedField>) {
  const [, lowered, plain] = KEY.exec(key) ?? []
  const field = fields.get(unquote(lowered ?? plain ?? ''))
  return field && { field, lowered: lowered !== undefined }
}

interface Known {
  readonly columns: readonly CatalogColumn[]
  readonly fields: ReadonlyMap<string, IndexedField>
}

function readConditions(condition: string, known: Known): Readonly<Record<string, Json>> | undefined {
  const read = condition.split(' AND ').map((each) => readCondition(each, known))
  if (!read.every((each) => each !== undefined)) return undefined
  const where = Object.fromEntries(read)
  return Object.keys(where).length === read.length && read.length <= MAX_CONDITIONS ? where : undefined
}

/** Reads a condition, unless PostgreSQL would print the condition of the model's index in another way. */
function readCondition(text: string, { columns, fields }: Known): readonly [string, Json] | undefined {
  const [, nullable, not] = NULL_TEST.exec(text) ?? []
  if (nullable !== undefined) {
    const field = fields.get(unquote(nullable))
    return field && (not === undefined ? [field.name, null] : [parameterOf(field.name, isnull), false])
  }
  const [, name = '', bare, quoted, cast] = EQUAL.exec(text) ?? []
  const column = find(columns, unquote(name))
  const field = fields.get(unquote(name))
  if (!column || !field || typeOf(field)?.name === belongsTo.name) return undefined
  if (bare !== undefined) {
    const type = bare === 'true' || bare === 'false' ? 'boolean' : 'integer'
    return column.type === type ? [field.name, JSON.parse(bare) as Json] : undefined
  }
  const isPrinted = cast === column.type || (cast === 'text' && column.type.startsWith('character varying'))
  return isPrinted && (isText(field) || typeOf(field)?.name === choice.name) ? [field.name, quoted ?? ''] : undefined
}
