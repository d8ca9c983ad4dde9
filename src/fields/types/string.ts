import type { FieldType } from '../field-type.js'
import { collated, servesText, textColumn, textForm, type TextOptions, textType } from '../text-rules.js'

/** A line of text. */
export const string: FieldType<string, TextOptions> = {
  ...textType(true),
  name: 'string',
  synonyms: ['str', 'varchar'],
  summary:
    'Text, usually one line: a title, a name. Lengths count characters (Unicode code points); nothing is trimmed.',
  examples: [
    { json: 'Hello, world', text: 'Hello, world', value: 'Hello, world' },
    { json: '', text: '', value: '' },
    { json: '😀'.repeat(3), text: '😀😀😀', value: '😀😀😀', options: { min: 1, max: 3 } },
    { json: ' it\'s "100%_" \\ a+b&c=d ', text: ' it\'s "100%_" \\ a+b&c=d ', value: ' it\'s "100%_" \\ a+b&c=d ' },
    {
      json: 'a\u0301 \u{10ffff}\ufeff\u0001',
      text: 'a\u0301 \u{10ffff}\ufeff\u0001',
      value: 'a\u0301 \u{10ffff}\ufeff\u0001',
    },
    { json: 'a-b-2', text: 'a-b-2', value: 'a-b-2', options: { pattern: '^[a-z0-9]+(-[a-z0-9]+)*$' } },
  ],
  column: ({ max, collation }) => collated(max === undefined ? 'text' : `varchar(${max})`, collation),
  fromColumn: (column) => (textColumn(column) && column.type !== 'text' ? textForm(column, ['min']) : undefined),
  serves: (column, { max }) => max === undefined && servesText(column, max),
}
