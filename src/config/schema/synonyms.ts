import { KEY_SYNONYMS } from '../../features/index.js'
import { FIELD_TYPES } from '../../fields/index.js'
import { nearest, type Synonyms } from '../words.js'

/** Other words for the keys that belong to no feature, by key. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  choices: ['enum', 'options', 'values'],
  nullable: ['required', 'optional', 'null'],
  max: ['max_length', 'maxLength', 'maximum'],
  min: ['min_length', 'minLength', 'minimum'],
  maximum: ['max'],
  minimum: ['min'],
  default: ['default_value'],
  messages: ['error_messages'],
  primary_key: ['primary', 'pk', 'key'],
  read_only: ['readonly'],
  path: ['url_path'],
  operations: ['actions'],
}

/** Other words for the types of fields and the keys of the file. */
export const SYNONYMS: Synonyms = namesByWord([
  ...FIELD_TYPES.map(({ name, synonyms = [] }) => [name, synonyms] as const),
  ...KEY_SYNONYMS,
  ...Object.entries(KEYS),
])

function namesByWord(given: readonly (readonly [name: string, words: readonly string[]])[]): Synonyms {
  const names = new Map<string, readonly string[]>()
  for (const [name, words] of given) for (const word of words) names.set(word, [...(names.get(word) ?? []), name])
  return names
}

/** Returns the type or key that a name was probably meant to be. */
export function nearestWord(given: string, known: readonly string[]): string | undefined {
  return nearest(given, known, SYNONYMS)
}
