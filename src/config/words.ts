import { distance } from 'fastest-levenshtein'
import type { Json } from '../foundation/json.js'

const MAX_LENGTH = 60

/** A name or text from the file, in backquotes, cut and without control characters. */
export function show(text: string): string {
  const characters = [...text]
  const cut = characters.length > MAX_LENGTH ? `${characters.slice(0, MAX_LENGTH).join('')}…` : text
  return `\`${cut.replace(/[\u0000-\u001f]/g, (control) => JSON.stringify(control).slice(1, -1))}\``
}

/** A value that should be a name, as text; `String` would fail on a mapping, which has no prototype. */
export function nameOf(json: Json): string {
  return typeof json === 'string' ? json : JSON.stringify(json)
}

/** Describes a value by a noun: `the text \`no\``, `a list`, `nothing`. */
export function describe(json: Json): string {
  if (json === null) return 'empty'
  if (Array.isArray(json)) return 'a list'
  if (typeof json === 'object') return 'a mapping'
  if (typeof json === 'string') return `the text ${show(json)}`
  return `\`${json}\``
}

/** Words that are pronounced with an initial consonant, such as `user`, and words that are not, such as `hour`. */
const AS_CONSONANT = /^(?:eu|one|once|u(?:ni(?!n)|s[aeiu]|ti|r[aieol]|ku|fo|uid))/
const AS_VOWEL = /^(?:[aeiou]|h(?:our|onest|onou?r|eir)|x(?:ml|$))/

/** Returns `a` or `an`, by the pronunciation of the word that follows. */
export function article(word: string): 'a' | 'an' {
  const [plain = ''] = /[a-z]+/.exec(word.toLowerCase()) ?? []
  return AS_VOWEL.test(plain) && !AS_CONSONANT.test(plain) ? 'an' : 'a'
}

/** No name is longer. Comparing two names takes time proportional to the product of their lengths. */
const MAX_NAME_LENGTH = 120

/** Other words for names, such as the names in other tools, and the names that each may stand for. */
export type Synonyms = ReadonlyMap<string, readonly string[]>

const NO_SYNONYMS: Synonyms = new Map()

/** Returns the known name that an unknown one was probably meant to be. */
export function nearest(given: string, known: readonly string[], synonyms: Synonyms = NO_SYNONYMS): string | undefined {
  const meant = synonyms.get(given)?.find((name) => known.includes(name))
  if (meant !== undefined || given === '' || given.length > MAX_NAME_LENGTH) return meant
  const bound = Math.max(1, Math.floor(given.length / 3))
  return known
    .map((name) => ({ name, far: isSwap(given, name) ? 1 : distance(given.toLowerCase(), name.toLowerCase()) }))
    .filter(({ far }) => far <= bound)
    .sort((one, other) => one.far - other.far)[0]?.name
}

/** Whether two neighbouring letters are swapped, which is the most common typing mistake. */
function isSwap(given: string, name: string): boolean {
  if (given.length !== name.length) return false
  const first = [...given].findIndex((_letter, index) => given[index] !== name[index])
  const swapped = `${given.slice(0, first)}${given[first + 1] ?? ''}${given[first] ?? ''}${given.slice(first + 2)}`
  return first >= 0 && swapped === name
}

const MAX_NAMES = 24

/** Help for an unknown name: the nearest known one, or else all of them. `noun` is `key`, `field`, … */
export function suggest(given: string, known: readonly string[], noun: string, synonyms = NO_SYNONYMS): string[] {
  const near = nearest(given, known, synonyms)
  if (near !== undefined && synonyms.get(given)?.includes(near))
    return [`the ${noun} for this is called \`${near}\` here`]
  if (near !== undefined) return [`${article(noun)} ${noun} with a similar name exists: \`${near}\``]
  if (known.length === 0) return [`there are no ${noun}s`]
  const names = known.slice(0, MAX_NAMES).map((name) => `\`${name}\``)
  const more = known.length > MAX_NAMES ? ` and ${known.length - MAX_NAMES} more` : ''
  return [`known: ${names.join(', ')}${more}`]
}
