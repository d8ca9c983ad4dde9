import type { FieldType } from '../field-type.js'
import { isForeignTime, shownWithin } from '../spelling/foreign-time.js'
import { canonicalLocal, printTimestamp } from '../spelling/instant.js'
import { ORDERED } from './integer-type.js'

interface LocalTimestampOptions {
  readonly precision?: number
}

function isFiner(text: string, { precision = 6 }: LocalTimestampOptions): boolean {
  return /[1-9]/.test((text.split('.')[1] ?? '').slice(precision))
}

function precisionMessage(precision: number): string {
  return precision === 0
    ? 'must not have fractions of a second'
    : `must have at most ${precision} ${precision === 1 ? 'digit' : 'digits'} after the point`
}

/** A date and a time of day; it means a moment only in a known time zone. */
export const localTimestamp: FieldType<string, LocalTimestampOptions> = {
  name: 'local_timestamp',
  synonyms: ['datetime'],
  summary:
    'A date and a time of day without an offset, to the microsecond (2026-11-21T10:00:00). Offsets are rejected and nothing is converted; ' +
    'responses have six digits after the point (2026-11-21T10:00:00.000000). The function `now` is the time in UTC.',
  options: {
    precision: {
      type: 'integer',
      minimum: 0,
      maximum: 5,
      description: 'The number of digits after the point, if fewer than 6.',
    },
  },
  // The name in the OpenAPI format registry; a `date-time` has an offset.
  documented: () => ({ format: 'date-time-local' }),
  typescript: 'string',
  comparisons: ORDERED,
  orderable: true,
  key: true,
  escapes: () => true,
  examples: [
    {
      json: '2026-11-21T10:00:00',
      wire: '2026-11-21T10:00:00.000000',
      text: '2026-11-21T10:00:00',
      value: '2026-11-21T10:00:00.000000',
    },
    { json: '0001-01-01T00:00:00.000000', text: '0001-01-01T00:00:00', value: '0001-01-01T00:00:00.000000' },
    { json: '9999-12-31T23:59:59.999999', text: '9999-12-31T23:59:59.999999', value: '9999-12-31T23:59:59.999999' },
    {
      json: '2024-02-29T02:30:00.120',
      wire: '2024-02-29T02:30:00.120000',
      text: '2024-02-29T02:30:00.12',
      value: '2024-02-29T02:30:00.120000',
      options: { precision: 3 },
    },
  ],
  input: 'datetime-local',
  column: ({ precision }) => (precision === undefined ? 'timestamp' : `timestamp(${precision})`),
  fromColumn({ type }) {
    const [found, digits = '6'] = /^timestamp(?:\(([0-6])\))? without time zone$/.exec(type) ?? []
    if (found === undefined) return undefined
    const options = digits === '6' ? {} : { precision: Number(digits) }
    return {
      expresses: [],
      options: () => options,
      callRemark: 'is the time in UTC for this service, and in the time zone of the session for other programs',
      literal: (text) => canonicalLocal(text.replace(' ', 'T')),
    }
  },
  serves: ({ type }, { precision }) => precision === undefined && type === 'timestamp(6) without time zone',
  samples: {
    columns: /^timestamp.*without/,
    texts: ['2026-11-21T10:00:00', '2024-02-29T00:00:00', '1999-12-31T23:59:59.999999'],
  },
  functions: { now: 'now()' },
  rules: ({ precision }) => [
    {
      name: 'type',
      schema: { type: 'string', format: 'local-date-time' },
      message: 'must be a timestamp without an offset such as 2026-11-21T10:00:00',
    },
    ...(precision === undefined ? [] : [{ name: 'precision', schema: {}, message: precisionMessage(precision) }]),
  ],
  admits: (json, _source, options) => (isFiner(String(json), options) ? 'precision' : undefined),
  // Each of 26 characters is perhaps an escape of six bytes, and the quotes.
  maxBytes: () => 6 * 26 + 2,
  // `294276-12-31 23:59:59.999999`
  longest: () => 29,
  select: (column) => shownWithin(column, 'timestamp', `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US')`),
  read: (text) => text,
  parse: (text) => canonicalLocal(text) ?? (isForeignTime(text, 'timestamp') ? text : undefined),
  fromJson(json) {
    const value = canonicalLocal(String(json))
    if (value === undefined) throw new Error(`not a local timestamp: ${String(json)}`)
    return value
  },
  write: (value) => value,
  print: printTimestamp,
}
