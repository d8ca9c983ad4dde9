import { canonicalDuration, durationOfPrinted, printedDuration, storedDuration } from './duration.js'
import type { FieldType } from '../field-type.js'
import { ORDERED } from './integer-type.js'

/** A value that no body can have, but that newer versions of PostgreSQL can store. */
const FOREIGN = ['infinity', '-infinity']

const UNITS_OF_DATE = [
  ['year', 'Y'],
  ['month', 'M'],
  ['day', 'D'],
] as const
const UNITS_OF_TIME = [
  ['hour', 'H'],
  ['minute', 'M'],
  ['second', 'S'],
] as const

/** SQL: the numbers other than zero, each with its letter. */
function counts(column: string, units: typeof UNITS_OF_DATE | typeof UNITS_OF_TIME): string {
  return units
    .map(([unit, letter]) => `nullif(trim_scale(extract(${unit} from ${column})::numeric), 0) || '${letter}'`)
    .join(', ')
}

/** A length of time. */
export const interval: FieldType<string> = {
  name: 'interval',
  synonyms: ['duration'],
  summary:
    'A length of time as an ISO 8601 duration, such as P1Y2M3DT4H5M6.5S; each number can be negative (P1MT-30M). Months, days and ' +
    'smaller units are kept apart, because months and days have no fixed length; within them, 90 minutes are returned as PT1H30M and a week ' +
    'as P7D. Comparisons count 30 days to a month and 24 hours to a day: P1D is equal to PT24H.',
  options: {},
  typescript: 'string',
  comparisons: ORDERED,
  orderable: true,
  // Equal values can differ.
  key: false,
  examples: [
    { json: 'P1Y2M3DT4H5M6.5S', text: 'P14M3DT4H5M6.500S', value: 'P1Y2M3DT4H5M6.5S' },
    { json: 'PT0S', text: 'P0D', value: 'PT0S' },
    { json: 'P1W', wire: 'P7D', text: 'P7D', value: 'P7D' },
    { json: 'PT90M', wire: 'PT1H30M', text: 'PT5400S', value: 'PT1H30M' },
    { json: 'P-1MT-0.000001S', text: 'P-1MT-0.000001S', value: 'P-1MT-0.000001S' },
    { json: 'P1MT-30M', text: 'P1MT-1800S', value: 'P1MT-30M' },
    {
      json: 'P178956970Y7M-2147483647DT2147483647H',
      text: 'P178956970Y7M-2147483647DT2147483647H',
      value: 'P178956970Y7M-2147483647DT2147483647H',
    },
  ],
  column: () => 'interval',
  fromColumn: ({ type }) =>
    type === 'interval' ? { expresses: [], options: () => ({}), literal: durationOfPrinted } : undefined,
  samples: { columns: /^interval/, texts: ['PT1H', 'P1D', '-1:02:03.5', 'P1Y2M'] },
  rules: () => [
    {
      name: 'type',
      schema: { type: 'string', format: 'signed-duration' },
      message: 'must be an ISO 8601 duration such as P1DT12H',
    },
  ],
  // Six counts of 13 digits with their letters, and a fraction, each character perhaps an escape of six bytes.
  maxBytes: () => 6 * 100 + 2,
  // `P-178956970Y-11M-2147483648DT-2562047788H-59M-59.999999S`
  longest: () => 56,
  select(column) {
    const time = `'T' || nullif(concat(${counts(column, UNITS_OF_TIME)}), '')`
    const shown = `coalesce(nullif(concat('P', ${counts(column, UNITS_OF_DATE)}, ${time}), 'P'), 'PT0S')`
    // Does not depend on the session's IntervalStyle.
    return `case when isfinite(${column}) then ${shown} else ${column}::text end`
  },
  read: (text) => text,
  parse: (text) => (FOREIGN.includes(text) ? text : canonicalDuration(text)),
  parseStored: (text) => (FOREIGN.includes(text) ? text : storedDuration(text)),
  fromJson(json) {
    const value = canonicalDuration(String(json))
    if (value === undefined) throw new Error(`not a duration: ${String(json)}`)
    return value
  },
  write: (value) => value,
  print: printedDuration,
}
