import type { AppSpec } from '../../config/spec.js'

const OF_OTHERS = '; migrations do not change it (`managed: false`)'

interface TableDifference {
  readonly table: string
  readonly text: string
}

/** Describes differences, and says which of them are about tables that migrations do not change. */
export function sentenceOf({ models }: AppSpec): (difference: TableDifference) => string {
  const others = new Set(models.filter(({ managed, view }) => !managed && view === undefined).map(({ table }) => table))
  return ({ table, text }) => (others.has(table) ? `${text}${OF_OTHERS}` : text)
}

/** Whether the sentence is about a table or view that migrations do not change. */
export function isOfOthers(sentence: string): boolean {
  return sentence.endsWith(OF_OTHERS)
}
