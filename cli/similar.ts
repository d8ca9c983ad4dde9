import { article, nearestWord } from '../src/internal.js'

interface Noun {
  readonly singular: string
  readonly plural: string
}

/** Suggests the nearest existing name, or lists all names if none is near. */
export function similarHelp(name: string, known: readonly string[], noun: Noun): readonly string[] {
  const names = [...new Set(known)]
  const near = nearestWord(name, names)
  if (near !== undefined) return [`${article(noun.singular)} ${noun.singular} with a similar name exists: \`${near}\``]
  return [`the ${noun.plural} are: ${names.join(', ')}`]
}
