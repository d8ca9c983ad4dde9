import type { FieldType } from '../field-type.js'
import { isForeignTime, shownWithin } from '../spelling/foreign-time.js'
import { isDate } from '../spelling/formats.js'
import { ORDERED } from './integer-type.js'

/** A day of the calendar. */
export const date: FieldType<string> = {
  name: 'date',
  summary: 'A day of the calendar, from 0001-01-01 to 9999-12-31.',
  options: {},
  typescript: 'string',
  comparisons: ORDERED,
  comparesAs: 'text',
  orderable: true,
  key: true,
  escapes: () => true,
  examples: [
    { json: '2024-02-29', text: '2024-02-29', value: '2024-02-29' },
    { json: '0001-01-01', text: '0001-01-01', value: '0001-01-01' },
    { json: '9999-12-31', text: '9999-12-31', value: '9999-12-31' },
  ],
  input: 'date',
  column: () => 'date',
  fromColumn: ({ type }) =>
    type === 'date'
      ? {
          expresses: [],
          options: () => ({}),
          literal: (text) => (/^\d{4}-\d\d-\d\d$/.test(text) ? text : undefined),
        }
      : undefined,
  samples: { columns: /^date/, texts: ['2026-11-21', '2024-02-29', '1999-12-31'] },
  rules: () => [
    { name: 'type', schema: { type: 'string', format: 'date' }, message: 'must be a date such as 2026-11-21' },
  ],
  // Ten characters, each perhaps an escape of six bytes, and the quotes.
  maxBytes: () => 62,
  // `5874897-12-31`
  longest: () => 13,
  // Does not depend on the session's DateStyle.
  select: (column) => shownWithin(column, 'date', `to_char(${column}, 'YYYY-MM-DD')`),
  read: (text) => text,
  parse: (text) => (isDate(text) || isForeignTime(text, 'date') ? text : undefined),
  fromJson: (json) => String(json),
  write: (value) => value,
}
