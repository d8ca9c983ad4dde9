import type { FieldType } from '../field-type.js'
import { CITEXT_FORM, collated, isCitext, servesText, textForm, type TextOptions, textType } from '../text-rules.js'

/** Text of any length. */
export const text: FieldType<string, TextOptions> = {
  ...textType(false),
  name: 'text',
  summary:
    'Text of any length, line breaks included: a description, source code. Lengths count characters (Unicode code points).',
  examples: [
    { json: 'one\ntwo\r\n\tthree', text: 'one\ntwo\r\n\tthree', value: 'one\ntwo\r\n\tthree' },
    { json: '', text: '', value: '' },
    { json: '👩‍👩‍👧', text: '👩‍👩‍👧', value: '👩‍👩‍👧', options: { min: 5, max: 5 } },
  ],
  column: ({ collation }) => collated('text', collation),
  fromColumn(column) {
    if (isCitext(column)) return CITEXT_FORM
    return column.type === 'text' ? textForm(column, ['min', 'max']) : undefined
  },
  serves: (column, { max }) => servesText(column, max),
  samples: {
    columns: /^(?:text|character)/,
    texts: ['a', 'b', 'c', 'sample', 'another sample', '1234', '1234567890123'],
  },
}
