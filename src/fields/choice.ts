import type { FieldType } from './field-type.js'
import { isStorable } from './formats.js'
import { literal } from './sql-literal.js'
import { COLLATION, collated } from './text-rules.js'

interface ChoiceOptions {
  readonly choices: readonly string[]
  readonly collation?: string
}

/** One of a fixed list of texts. */
export const choice: FieldType<string, ChoiceOptions> = {
  name: 'choice',
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
  orderable: true,
  key: false,
  examples: [
    { json: 'draft', text: 'draft', value: 'draft', options: { choices: ['draft', 'published'] } },
    { json: "it's", text: "it's", value: "it's", options: { choices: ["it's", 'a\\b', '?'] } },
    { json: 'a\\b', text: 'a\\b', value: 'a\\b', options: { choices: ["it's", 'a\\b', '?'] } },
    { json: '😀', text: '😀', value: '😀', options: { choices: ['😀'] } },
  ],
  values: ({ choices }) => choices.length,
  choices: ({ choices }) => choices,
  column: ({ collation }) => collated('text', collation),
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
  maxBytes: ({ choices }) => 12 * Math.max(...choices.map((each) => each.length)) + 2,
  longest: ({ choices }) => Math.max(...choices.map((each) => each.length)),
  read: (text) => text,
  parse: (text, { choices }) => (choices.includes(text) ? text : undefined),
  fromJson: (json) => String(json),
  write: (value) => value,
}
