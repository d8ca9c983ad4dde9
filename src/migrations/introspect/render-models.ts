import { spellValue } from '../../config/edit/spell-value.js'
import type { ChosenModel } from './choose.js'
import type { Words } from './column-words.js'

/** The text of a model, one block that starts with its comments. */
export function renderModel({ name, table, fields, key, indexes, left }: ChosenModel): string {
  const width = Math.max(...fields.map((field) => field.name.length)) + 1
  return [
    ...left.map(comment),
    `${name}:`,
    ...(table === name ? [] : [`  table: ${table}`]),
    ...(key.length === 1 ? [] : [`  primary_key: ${key.length === 0 ? 'none' : `[${key.join(', ')}]`}`]),
    '  fields:',
    ...fields.map((field) => `    ${`${field.name}:`.padEnd(width)} ${spellWords(field.words)}`),
    ...(indexes.length === 0 ? [] : ['  indexes:', ...indexes.map((index) => `    - ${spellIndex(index)}`)]),
    '',
  ].join('\n')
}

/** Renders a read-only resource for a model. */
export function renderResource({ name, table, key }: ChosenModel): string {
  const operations = key.length === 0 ? 'operations: [list]' : 'read_only: true'
  return [`${name}:`, `  model: ${name}`, `  path: /${table}/`, `  ${operations}`, ''].join('\n')
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

function spellIndex({ fields, unique }: ChosenModel['indexes'][number]): string {
  const list = `[${fields.map(spellValue).join(', ')}]`
  return unique ? `{ fields: ${list}, unique: true }` : list
}
