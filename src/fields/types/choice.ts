import type { ColumnForm, ExistingColumn } from '../existing-column.js'
import type { FieldType } from '../field-type.js'
import { isStorable } from '../spelling/formats.js'
import { literal } from '../sql-literal.js'
import { COLLATION, collated, collationOption, servesText, textColumn, textForm } from '../text-rules.js'

interface ChoiceOptions {
  readonly choices: readonly string[]
  readonly collation?: string
}

/** Whether these texts are valid `choices`. */
export function areChoices(texts: readonly string[]): boolean {
  const areDistinct = new Set(texts).size === texts.length
  return texts.length > 0 && areDistinct && texts.every((text) => text !== '' && [...text].length <= 255)
}

function longest(choices: readonly string[]): number {
  return Math.max(...choices.map((each) => each.length))
}

function enumForm(labels: readonly string[]): ColumnForm {
  return {
    limits: { choices: labels },
    expresses: ['choices'],
    options: ({ choices = labels }) => ({ choices }),
    literal: (text) => text,
  }
}

function choiceForm(column: ExistingColumn, room = Number.POSITIVE_INFINITY): ColumnForm {
  return {
    ...textForm(column, []),
    expresses: ['choices'],
    options: ({ choices = [] }) =>
      choices.length > 0 && longest(choices) <= room ? { choices, ...collationOption(column) } : undefined,
  }
}

/** One of a fixed list of texts. */
export const choice: FieldType<string, ChoiceOptions> = {
  name: 'choice',
  synonyms: ['enum', 'select'],
  summary: 'One of a fixed list of texts, given as `choices`.',
  options: {
    choices: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { type: 'string', minLength: 1, maxLength: 255 },
    },
    collation: COLLATION,
  },
  required: ['choices'],
  typescript: 'string',
  typescriptOf: ({ choices }) => choices.map((each) => JSON.stringify(each)).join(' | '),
  comparisons: ['equality', 'membership'],
  comparesAs: 'text',
  orderable: true,
  key: true,
  escapes: () => true,
  examples: [
    { json: 'draft', text: 'draft', value: 'draft', options: { choices: ['draft', 'published'] } },
    { json: "it's", text: "it's", value: "it's", options: { choices: ["it's", 'a\\b', '?'] } },
    { json: 'a\\b', text: 'a\\b', value: 'a\\b', options: { choices: ["it's", 'a\\b', '?'] } },
    { json: '😀', text: '😀', value: '😀', options: { choices: ['😀'] } },
  ],
  values: ({ choices }) => choices.length,
  choices: ({ choices }) => choices,
  column: ({ collation }) => collated('text', collation),
  fromColumn(column) {
    if (column.type.endsWith('[]')) return undefined
    if (column.labels) return areChoices(column.labels) ? enumForm(column.labels) : undefined
    const text = textColumn(column)
    return text && choiceForm(column, text.room)
  },
  serves: (column, { choices }) => servesText(column, longest(choices)),
  rules: ({ choices }) => [
    {
      name: 'type',
      schema: { type: 'string', enum: choices },
      message: `must be one of: ${choices.join(', ')}`,
      check: (column) => `${column} in (${choices.map(literal).join(', ')})`,
    },
  ],
  conflicts: ({ choices }) =>
    choices
      .filter((each) => !isStorable(each))
      .map((each) => ({
        option: 'choices',
        message: `the choice ${JSON.stringify(each)} contains U+0000 or an unpaired surrogate, which PostgreSQL cannot store`,
      })),
  maxBytes: ({ choices }) => 12 * longest(choices) + 2,
  longest: ({ choices }) => longest(choices),
  read: (text) => text,
  parse: (text, { choices }) => (choices.includes(text) ? text : undefined),
  parseStored: (text) => (isStorable(text) ? text : undefined),
  fromJson: (json) => String(json),
  write: (value) => value,
}
