import type { FieldType } from '../field-type.js'

/** True or false. */
export const boolean: FieldType<boolean> = {
  name: 'boolean',
  synonyms: ['bool'],
  summary: 'True or false.',
  options: {},
  typescript: 'boolean',
  comparisons: ['equality'],
  comparesAs: 'boolean',
  plainTexts: ['true', 'false'],
  orderable: true,
  key: true,
  examples: [
    { json: true, text: 'true', value: true },
    { json: false, text: 'false', value: false },
  ],
  values: () => 2,
  column: () => 'boolean',
  fromColumn: ({ type }) =>
    type === 'boolean'
      ? {
          expresses: [],
          options: () => ({}),
          literal: (text) => (text.startsWith('t') ? true : text.startsWith('f') ? false : undefined),
        }
      : undefined,
  samples: { columns: /^boolean/, texts: ['true', 'false', 'true'] },
  rules: () => [{ name: 'type', schema: { type: 'boolean' }, message: 'must be true or false' }],
  maxBytes: () => 5,
  longest: () => 5,
  read: (text) => text === 't' || text === 'true',
  parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  fromJson: (json) => json === true,
  write: String,
  print: (value) => (value ? 't' : 'f'),
}
