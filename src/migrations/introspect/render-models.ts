import { spellValue } from '../../config/edit/spell-value.js'
import { isReading, type Operation, OPERATIONS, READS } from '../../config/core-spec.js'
import { exact } from '../../lookups/exact.js'
import type { ChosenModel } from './choose.js'
import type { Words } from './column-words.js'

/** The text of a model, one block that starts with its comments. */
export function renderModel(model: ChosenModel): string {
  const { name, table, fields, key, relations, indexes, left, isUnmanageable } = model
  const width = Math.max(...fields.map((field) => field.name.length)) + 1
  return [
    ...left.map(comment),
    `${name}:`,
    ...(table === name ? [] : [`  table: ${spellValue(table)}`]),
    ...(isUnmanageable ? ['  managed: false'] : []),
    ...(key.length === 1 ? [] : [`  primary_key: ${key.length === 0 ? 'none' : `[${key.join(', ')}]`}`]),
    '  fields:',
    ...fields.map((field) => `    ${`${field.name}:`.padEnd(width)} ${spellWords(field.words)}`),
    ...(relations.length === 0 ? [] : ['  relations:', ...relations.map((each) => `    ${spellRelation(each)}`)]),
    ...(indexes.length === 0 ? [] : ['  indexes:', ...indexes.map((index) => `    - ${spellIndex(index)}`)]),
    '',
  ].join('\n')
}

/** Renders a resource for a model, with every operation that its table supports, or only with the reading ones. */
export function renderResource({ name, operations, filterable }: ChosenModel, readOnly: boolean): string {
  const given = readOnly ? operations.filter(isReading) : operations
  const said = spellOperations(given)
  const settings = [...(said === undefined ? [] : [said]), ...spellFilters(filterable)]
  return [`${name}:`, `  model: ${name}`, `  path: /${name}/`, ...settings.map((each) => `  ${each}`), ''].join('\n')
}

function spellFilters(filters: ChosenModel['filterable']): readonly string[] {
  if (filters.length === 0) return []
  if (filters.every(({ lookups }) => lookups.join() === exact.name))
    return [`filterable: [${filters.map(({ field }) => spellValue(field)).join(', ')}]`]
  return ['filterable:', ...filters.map(({ field, lookups }) => `  ${spellValue(field)}: [${lookups.join(', ')}]`)]
}

function spellOperations(operations: readonly Operation[]): string | undefined {
  if (operations.length === OPERATIONS.length) return undefined
  return operations.length === READS.length && operations.every(isReading)
    ? 'read_only: true'
    : `operations: [${operations.join(', ')}]`
}

/** Renders a comment of one line. */
export function comment(text: string): string {
  return `# ${text.replaceAll(/[\u0000-\u001f\u007f-\u009f\ufeff\ufffe\uffff\s]+/g, ' ')}`
}

const spellWords = (words: Words): string => `{ ${spellSettings(words).join(', ')} }`

/** Renders words, one setting each. */
export function spellSettings(words: Words): readonly string[] {
  return words.map(([key, value]) => `${key}: ${spellValue(value)}`)
}

/** Renders a relation over several fields with its name. */
export function spellRelation({ name, model, fields, references, onDelete }: ChosenModel['relations'][number]): string {
  const list = (names: readonly string[]) => `[${names.map(spellValue).join(', ')}]`
  const settings = [
    `model: ${spellValue(model)}`,
    `fields: ${list(fields)}`,
    ...(references ? [`references: ${list(references)}`] : []),
    ...(onDelete === 'restrict' ? [] : [`on_delete: ${onDelete}`]),
  ]
  return `${spellValue(name)}: { ${settings.join(', ')} }`
}

/** Renders an index: a list of fields if it is plain. */
export function spellIndex({ fields, unique, ...others }: ChosenModel['indexes'][number]): string {
  const isList = !unique && Object.keys(others).length === 0
  return spellValue(isList ? fields : { fields, ...(unique && { unique }), ...others })
}
