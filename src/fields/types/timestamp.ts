import type { FieldType } from '../field-type.js'
import { isForeignTime, shownWithin } from '../spelling/foreign-time.js'
import { printTimestamp, utcTimestamp } from '../spelling/instant.js'
import { ORDERED } from './integer-type.js'

/** A moment in time. */
export const timestamp: FieldType<string> = {
  name: 'timestamp',
  synonyms: ['datetime', 'timestamptz'],
  summary:
    'A moment in time, to the microsecond. Requests may use any offset (2026-11-21T11:00:00+01:00), and at most six digits after the decimal ' +
    'point; responses are in UTC, with six digits (2026-11-21T10:00:00.000000Z).',
  options: {},
  typescript: 'string',
  comparisons: ORDERED,
  orderable: true,
  key: true,
  escapes: () => true,
  examples: [
    {
      json: '2026-11-21T11:00:00+01:00',
      wire: '2026-11-21T10:00:00.000000Z',
      text: '2026-11-21T10:00:00Z',
      value: '2026-11-21T10:00:00.000000Z',
    },
    {
      json: '0001-01-01T00:00:00.000000Z',
      text: '0001-01-01T00:00:00Z',
      value: '0001-01-01T00:00:00.000000Z',
    },
    {
      json: '9999-12-31T23:59:59.999999Z',
      text: '9999-12-31T23:59:59.999999Z',
      value: '9999-12-31T23:59:59.999999Z',
    },
    {
      json: '2024-02-29T00:00:00.1-23:59',
      wire: '2024-02-29T23:59:00.100000Z',
      text: '2024-02-29T00:00:00.1-23:59',
      value: '2024-02-29T23:59:00.100000Z',
    },
  ],
  input: 'datetime-local',
  column: () => 'timestamptz',
  // A literal default cannot be expressed: PostgreSQL prints it in the time zone of the session.
  fromColumn: ({ type }) =>
    /^timestamp(?:\(6\))? with time zone$/.test(type) ? { expresses: [], options: () => ({}) } : undefined,
  serves: ({ type }) => type === 'timestamp(6) with time zone',
  samples: {
    columns: /^timestamp.*with time/,
    texts: ['2026-11-21T10:00:00Z', '2024-02-29T00:00:00Z', '1999-12-31T23:59:59.999999Z'],
  },
  functions: { now: 'now()' },
  rules: () => [
    {
      name: 'type',
      schema: { type: 'string', format: 'date-time' },
      message: 'must be a timestamp such as 2026-11-21T10:00:00Z',
    },
  ],
  // The longest value has 32 characters: `2026-11-21T10:00:00.123456+00:00`. Each may be an escape of six bytes, and the quotes add two.
  maxBytes: () => 6 * 32 + 2,
  // `4713-01-01 00:00:00.000001+00 BC`
  longest: () => 32,
  select: (column) =>
    shownWithin(column, 'timestamptz', `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`),
  read: (text) => text,
  parse: (text) => utcTimestamp(text) ?? (isForeignTime(text, 'timestamptz') ? text : undefined),
  fromJson(json) {
    const value = utcTimestamp(String(json))
    if (value === undefined) throw new Error(`not a timestamp: ${String(json)}`)
    return value
  },
  write: (value) => value,
  print: printTimestamp,
}
