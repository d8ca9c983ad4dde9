import { reservedParameters } from '../../../features/index.js'
import { PAGE_SIZES } from '../../../features/pagination.js'
import { formOf } from '../../../fields/columns.js'
import { formatValue } from '../../../config/edit/format-value.js'
import { exact } from '../../../lookups/exact.js'
import { lookupsOfType } from '../../../lookups/index.js'
import { fieldType } from '../../../fields/index.js'
import { find } from '../../plan/compare/pair.js'
import type { CatalogTable } from '../catalog/catalog.js'
import type { ChosenField } from './field-of-column.js'
import type { IndexSettings } from '../catalog/read-index.js'
import type { Table } from './table.js'

/** A field that lists can be filtered by, and the lookups that its index helps. */
interface ChosenFilter {
  readonly field: string
  readonly lookups: readonly string[]
}

/** The settings of the lists of a resource. */
export interface ListSettings {
  /** The fields that lists can be filtered by with the existing indexes. */
  readonly filterable: readonly ChosenFilter[]
  /** The fields that lists can be ordered by with the existing indexes. */
  readonly orderable: readonly string[]
  /** The fields that `search` looks in with the existing indexes. */
  readonly search: readonly string[]
  /** The maximum size of a page; undefined for the default. */
  readonly pageSize: number | undefined
}

interface Keyed {
  readonly key: readonly string[]
  readonly keyFields: readonly string[]
  readonly indexes: readonly IndexSettings[]
}

/**
 * Chooses how lists can be filtered, ordered and searched with the existing indexes, and how long their pages are.
 * @returns also the indexes that the model declares: `indexes`, and the first column of each other index that filters use. A model that migrations
 *   make has no such filter, because a plan would create the index.
 */
export function chooseLists(
  { live, inspected, managed }: Table,
  fields: readonly ChosenField[],
  { key, keyFields, indexes }: Keyed,
): { readonly settings: ListSettings; readonly indexes: readonly IndexSettings[]; readonly left: readonly string[] } {
  const { filterable, left } = chooseFilters(live, fields, key)
  const unserved = filterable.filter((filter) => !isServed(filter, fields, { keyFields, indexes }))
  const settings = {
    filterable: managed ? filterable.filter((filter) => !unserved.includes(filter)) : filterable,
    orderable: chooseOrders(fields, { key: keyFields, indexes }),
    search: chooseSearch(live, fields, filterable),
    pageSize: choosePageSize(inspected.width),
  }
  const added = managed ? [] : unserved.map(({ field }) => ({ fields: [field], unique: false }))
  return { settings, indexes: [...indexes, ...added], left }
}

/** Whether the model declares an index that a filter uses. */
function isServed(
  { field, lookups }: ChosenFilter,
  fields: readonly ChosenField[],
  { keyFields, indexes }: Pick<Keyed, 'keyFields' | 'indexes'>,
): boolean {
  const words = fields.find(({ name }) => name === field)?.words ?? []
  return (
    !lookups.includes(exact.name) ||
    keyFields[0] === field ||
    words.some(([word]) => word === 'unique') ||
    indexes.some((index) => isPlain(index) && index.fields[0] === field)
  )
}

function isPlain({ ignore_case, where, using }: IndexSettings): boolean {
  return (ignore_case ?? where ?? using) === undefined
}

/** The parameters of a list with nothing but filters. */
const RESERVED = reservedParameters({ given: () => undefined })

/**
 * Chooses the fields that lists can be filtered by: those whose column is the first of a valid index without a condition, except a key of one field, which is
 * part of paths, and lists with an inverted index.
 * @returns also the fields whose names belong to other parameters
 */
function chooseFilters(
  live: CatalogTable,
  fields: readonly ChosenField[],
  key: readonly string[],
): { readonly filterable: readonly ChosenFilter[]; readonly left: readonly string[] } {
  const indexes = live.indexes.filter(({ valid }) => valid)
  const parts = [
    ...live.constraints.filter(({ kind, validated }) => (kind === 'primary_key' || kind === 'unique') && validated),
    ...indexes.filter(({ definition }) => / USING btree \((?!.* (?:WHERE|COLLATE) )/.test(definition)),
  ]
  const first = new Set(parts.map(({ columns: [column] }) => column))
  if (key.length === 1) first.delete(key[0])
  // An inverted index finds rows by the items of each of its columns.
  const listed = new Set(
    indexes
      .filter(({ definition }) => / USING gin \((?!.* WHERE |.* gin__int_ops)/.test(definition))
      .flatMap(({ columns }) => columns),
  )
  const lookupsFor = (column: string): readonly string[] => {
    const found = find(live.columns, column)
    const type = found && formOf(found)?.type
    if (!type) return []
    const offered = lookupsOfType(type)
    if (offered.includes(exact)) return first.has(column) ? [exact.name] : []
    const inverted = offered.filter((lookup) => lookup.index({ type, options: {} }) === 'gin')
    return listed.has(column) ? inverted.map(({ name }) => name) : []
  }
  const indexed = fields.flatMap(({ name, column }) => {
    const lookups = lookupsFor(column)
    return lookups.length === 0 ? [] : [{ field: name, column, lookups }]
  })
  return {
    filterable: indexed.flatMap(({ field, lookups }) => (RESERVED.has(field) ? [] : [{ field, lookups }])),
    left: indexed
      .filter(({ field }) => RESERVED.has(field))
      .map(
        ({ field: name, column }) =>
          `${live.name}.${column}: no filter: lists use the parameter ${name}; to have one, rename the field: \`${name}_value: { …, column: ${formatValue(column)} }\` and \`filterable: [${name}_value]\``,
      ),
  }
}

/** Texts without a bound make links to pages too long. */
const LONGEST_ORDERED = 300

/**
 * Chooses the fields that lists can be ordered by: those for which an index has the whole order. The order of lists begins with the key, so its first
 * field needs no choice.
 * @param key the fields of the primary key
 */
function chooseOrders(
  fields: readonly ChosenField[],
  { key, indexes }: { readonly key: readonly string[]; readonly indexes: readonly IndexSettings[] },
): readonly string[] {
  const hasOrder = (order: readonly string[]) =>
    indexes.some((index) => isPlain(index) && index.fields.join() === order.join())
  const isBounded = ({ type: name, ...options }: Readonly<Record<string, unknown>>) => {
    const type = fieldType(String(name))
    const isOrdered = type?.orderable === true && name !== 'belongs_to'
    return isOrdered && (type.longest(options) ?? Number.POSITIVE_INFINITY) <= LONGEST_ORDERED
  }
  return fields.flatMap(({ name, words }) => {
    const said = Object.fromEntries(words)
    if (key.length === 0 || key[0] === name || !isBounded(said)) return []
    const isUnique = said['unique'] === true && said['nullable'] !== true
    const rest = key.filter((part) => part !== name)
    return isUnique || hasOrder([name, ...rest]) ? [name] : []
  })
}

/**
 * Chooses the fields that `search` looks in: texts with a valid trigram index over all rows. None if a field is named like the parameter.
 * @param filterable the fields that lists can be filtered by
 */
function chooseSearch(
  live: CatalogTable,
  fields: readonly ChosenField[],
  filterable: readonly ChosenFilter[],
): readonly string[] {
  if (filterable.some(({ field }) => field === 'search')) return []
  const indexed = new Set(
    live.indexes
      .filter(({ definition, valid }) => valid && / USING (?:gin|gist) \((?!.* WHERE ).*_trgm_ops/.test(definition))
      .flatMap(({ columns }) => columns),
  )
  const isText = (column: string) => {
    const found = find(live.columns, column)
    return found !== undefined && formOf(found)?.type.comparisons.includes('text') === true
  }
  return fields.flatMap(({ name, column }) => (indexed.has(column) && isText(column) ? [name] : []))
}

/** A page of this many bytes is read and sent quickly. */
const LARGEST_PAGE = 1024 * 1024

/** Chooses a size for pages of wide rows, of this many bytes each; undefined where the default does. */
function choosePageSize(width: number | null): number | undefined {
  if (width === null || width * PAGE_SIZES.max_page_size <= LARGEST_PAGE) return undefined
  return Math.max(1, Math.floor(LARGEST_PAGE / width))
}
