import type { FieldType } from '../field-type.js'
import { ORDERED } from './integer-type.js'

/** `partial-time` of RFC 3339, without leap seconds, which PostgreSQL would move to the next minute, and without finer fractions, which it would round. */
const PATTERN = '^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?$'
const TIME = new RegExp(PATTERN)

/** As PostgreSQL prints it: without zeros at the end of the fraction. */
function canonical(text: string): string {
  const [whole = '', fraction = ''] = text.split('.')
  const digits = fraction.replace(/0{1,6}$/, '')
  return digits === '' ? whole : `${whole}.${digits}`
}

/** The canonical form of a time; undefined if the text is not one. No body can have midnight at the end of the day, but other programs can store it. */
function parse(text: string): string | undefined {
  return TIME.test(text) || text === '24:00:00' ? canonical(text) : undefined
}

/** A time of day. */
export const time: FieldType<string> = {
  name: 'time',
  summary:
    'A time of day without a date or an offset, to the microsecond: the `partial-time` of RFC 3339 (09:30:00, 09:30:00.25), from 00:00:00 to ' +
    '23:59:59.999999. Seconds are required; 24:00:00 and leap seconds (23:59:60) are rejected. Responses omit zeros at the end of the ' +
    'fraction: 09:30:00.250 is returned as 09:30:00.25.',
  options: {},
  // The name in the OpenAPI format registry; a `time` has an offset.
  documented: () => ({ format: 'time-local' }),
  typescript: 'string',
  comparisons: ORDERED,
  orderable: true,
  key: true,
  escapes: () => true,
  examples: [
    { json: '09:30:00', text: '09:30:00', value: '09:30:00' },
    { json: '00:00:00', text: '00:00:00', value: '00:00:00' },
    { json: '23:59:59.999999', text: '23:59:59.999999', value: '23:59:59.999999' },
    { json: '10:00:00.000001', text: '10:00:00.000001', value: '10:00:00.000001' },
    { json: '20:00:00.250', wire: '20:00:00.25', text: '20:00:00.2500', value: '20:00:00.25' },
    { json: '20:20:20.000000', wire: '20:20:20', text: '20:20:20.0', value: '20:20:20' },
  ],
  input: 'time',
  column: () => 'time',
  fromColumn: ({ type }) =>
    /^time(?:\(6\))? without time zone$/.test(type)
      ? { expresses: [], options: () => ({}), literal: (text) => (TIME.test(text) ? canonical(text) : undefined) }
      : undefined,
  serves: ({ type }) => type === 'time(6) without time zone',
  samples: { columns: /^time(?!stamp)/, texts: ['09:30:00', '00:00:00', '23:59:59.999999'] },
  rules: () => [
    {
      name: 'type',
      schema: { type: 'string', pattern: PATTERN },
      message: 'must be a time of day such as 09:30:00',
    },
  ],
  // Each character of `23:59:59.999999` is perhaps an escape of six bytes, and the quotes.
  maxBytes: () => 6 * 15 + 2,
  longest: () => 15,
  read: (text) => text,
  parse,
  fromJson(json) {
    const value = parse(String(json))
    if (value === undefined) throw new Error(`not a time: ${String(json)}`)
    return value
  },
  write: (value) => value,
}
