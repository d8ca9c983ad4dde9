import { PAGE_SIZES } from '../../features/pagination.js'
import { formatValue } from '../../config/edit/format-value.js'
import { isReading } from '../../config/core-spec.js'
import { exact } from '../../lookups/exact.js'
import type { ChosenModel } from './choose/choose.js'
import { formatOperations } from './choose/choose-operations.js'
import type { Words } from './choose/column-words.js'

/** The text of a model, one block that starts with its comments. */
export function renderModel(model: ChosenModel): string {
  const { name, table, fields, key, relations, indexes, left, isUnmanageable } = model
  const names = fields.map((field) => `${formatValue(field.name)}:`)
  const width = Math.max(...names.map(({ length }) => length))
  return [
    ...left.map(comment),
    `${formatValue(name)}:`,
    ...(table === name ? [] : [`  table: ${formatValue(table)}`]),
    ...(isUnmanageable ? ['  managed: false'] : []),
    ...(key.length === 1 ? [] : [`  primary_key: ${key.length === 0 ? 'none' : formatValue(key)}`]),
    '  fields:',
    ...fields.map(({ words }, at) => `    ${names[at]?.padEnd(width)} ${formatWords(words)}`),
    ...(relations.length === 0 ? [] : ['  relations:', ...relations.map((each) => `    ${formatRelation(each)}`)]),
    ...(indexes.length === 0 ? [] : ['  indexes:', ...indexes.map((index) => `    - ${formatIndex(index)}`)]),
    '',
  ].join('\n')
}

/** Renders a resource for a model, with every operation that its table supports, or only with the reading ones. */
export function renderResource(model: ChosenModel, readOnly: boolean): string {
  const { name, operations, filterable, orderable, search, pageSize } = model
  const given = readOnly ? operations.filter(isReading) : operations
  const said = formatOperations(given)
  const settings = [
    ...(said === undefined ? [] : [said]),
    ...formatFilters(filterable),
    ...formatNames('orderable', orderable),
    ...formatNames('search', search),
    ...(pageSize === undefined ? [] : [formatPages(pageSize)]),
  ]
  const key = formatValue(name)
  return [`${key}:`, `  model: ${key}`, `  path: /${name}/`, ...settings.map((each) => `  ${each}`), ''].join('\n')
}

function formatFilters(filters: ChosenModel['filterable']): readonly string[] {
  if (filters.length === 0) return []
  if (filters.every(({ lookups }) => lookups.join() === exact.name))
    return [`filterable: [${filters.map(({ field }) => formatValue(field)).join(', ')}]`]
  return ['filterable:', ...filters.map(({ field, lookups }) => `  ${formatValue(field)}: [${lookups.join(', ')}]`)]
}

function formatNames(key: string, fields: readonly string[]): readonly string[] {
  return fields.length === 0 ? [] : [`${key}: [${fields.map(formatValue).join(', ')}]`]
}

function formatPages(size: number): string {
  const usual = Math.min(size, PAGE_SIZES.page_size)
  return `pagination: { page_size: ${usual}, max_page_size: ${size} }`
}

/** Renders a comment of one line. */
export function comment(text: string): string {
  return `# ${onOneLine(text)}`
}

/** A text without control characters: names of columns can have line feeds, and sequences that a terminal obeys. */
export function onOneLine(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\ufeff\ufffe\uffff\s]+/g, ' ')
}

function formatWords(words: Words): string {
  return `{ ${formatSettings(words).join(', ')} }`
}

/** Renders words, one setting each. */
export function formatSettings(words: Words): readonly string[] {
  return words.map(([key, value]) => `${key}: ${formatValue(value)}`)
}

/** Renders a relation over several fields with its name. */
export function formatRelation({
  name,
  model,
  fields,
  references,
  onDelete,
}: ChosenModel['relations'][number]): string {
  const list = (names: readonly string[]) => `[${names.map(formatValue).join(', ')}]`
  const settings = [
    `model: ${formatValue(model)}`,
    `fields: ${list(fields)}`,
    ...(references ? [`references: ${list(references)}`] : []),
    ...(onDelete === 'restrict' ? [] : [`on_delete: ${onDelete}`]),
  ]
  return `${formatValue(name)}: { ${settings.join(', ')} }`
}

/** Renders an index: a list of fields if it is plain. */
export function formatIndex({ fields, unique, ...others }: ChosenModel['indexes'][number]): string {
  const isList = !unique && Object.keys(others).length === 0
  return formatValue(isList ? fields : { fields, ...(unique && { unique }), ...others })
}
