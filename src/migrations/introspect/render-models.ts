import type { Json } from '../../json.js'
import type { ChosenModel } from './choose.js'
import type { Words } from './column-words.js'

/** Words that YAML does not read as text. */
const TAKEN = /^(?:true|false|null|yes|no|on|off|y|n)$/i

/** The text of a model, one block that starts with its comments. */
export function renderModel({ name, table, fields, indexes, left }: ChosenModel): string {
  const width = Math.max(...fields.map((field) => field.name.length)) + 1
  return [
    ...left.map(comment),
    `${name}:`,
    ...(table === name ? [] : [`  table: ${table}`]),
    '  fields:',
    ...fields.map((field) => `    ${`${field.name}:`.padEnd(width)} ${spellWords(field.words)}`),
    ...(indexes.length === 0 ? [] : ['  indexes:', ...indexes.map((index) => `    - ${spellIndex(index)}`)]),
    '',
  ].join('\n')
}

/** Renders a read-only resource for a model. */
export function renderResource({ name, table }: ChosenModel): string {
  return [`${name}:`, `  model: ${name}`, `  path: /${table}/`, '  read_only: true', ''].join('\n')
}

/** Renders a comment of one line. */
export function comment(text: string): string {
  return `# ${text.replaceAll(/[\u0000-\u001f\u007f-\u009f\ufeff\ufffe\uffff\s]+/g, ' ')}`
}

const spellWords = (words: Words): string => `{ ${spellSettings(words).join(', ')} }`

/** Renders words, one setting each. */
export function spellSettings(words: Words): readonly string[] {
  return words.map(([key, value]) => `${key}: ${spell(value)}`)
}

function spellIndex({ fields, unique }: ChosenModel['indexes'][number]): string {
  const list = `[${fields.map(spell).join(', ')}]`
  return unique ? `{ fields: ${list}, unique: true }` : list
}

/** JSON, which is YAML, without the characters that YAML does not allow as they are. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function spell(value: Json): string {
  if (typeof value === 'string') return /^[a-z][a-z0-9_-]*$/i.test(value) && !TAKEN.test(value) ? value : quote(value)
  if (Array.isArray(value)) return `[${value.map(spell).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([key, each]) => `${key}: ${spell(each)}`)
    .join(', ')} }`
}
