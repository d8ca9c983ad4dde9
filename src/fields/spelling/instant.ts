const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:Z|([+-])(\d\d):(\d\d))$/
const FIRST = Date.parse('0001-01-01T00:00:00Z')
const LAST = Date.parse('9999-12-31T23:59:59Z')

/**
 * The canonical UTC form, with six fractional digits, of an RFC 3339 timestamp with upper-case `T` and `Z`. Undefined if the text has another
 * form, if the day or time does not exist, if it is outside the years 0001 to 9999 in UTC, or if it has a leap second or more than six
 * fractional digits, which PostgreSQL does not store.
 */
export function utcTimestamp(text: string): string | undefined {
  const [, local, fraction = '', sign, hours = '0', minutes = '0'] = TIMESTAMP.exec(text) ?? []
  if (local === undefined || Number(hours) > 23 || Number(minutes) > 59) return undefined
  const time = Date.parse(`${local}Z`)
  // Date.parse reads 30 February as a day in March, and 24:00 as the next day.
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 19) !== local) return undefined
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000
  const instant = sign === '+' ? time - offset : time + offset
  if (instant < FIRST || instant > LAST) return undefined
  return `${new Date(instant).toISOString().slice(0, 19)}.${fraction.padEnd(6, '0')}Z`
}

/** Does the same for a timestamp without an offset. */
export function canonicalLocal(text: string): string | undefined {
  return utcTimestamp(`${text}Z`)?.slice(0, -1)
}

/** PostgreSQL's own spelling of a canonical timestamp, with or without an offset. Other texts, which only the database can have, stay as they are. */
export function printTimestamp(text: string): string {
  const [, day, time, fraction = '', zone = ''] = /^(\d{4}-\d\d-\d\d)T([\d:]+)\.(\d{6})(Z?)$/.exec(text) ?? []
  if (day === undefined) return text
  const digits = fraction.replace(/0{1,6}$/, '')
  return `${day} ${time}${digits === '' ? '' : `.${digits}`}${zone === '' ? '' : '+00'}`
}
