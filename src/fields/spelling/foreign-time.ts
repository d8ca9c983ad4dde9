const SPELLING = /^(\d{4,7})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.\d{1,6})?(\+00)?)?( BC)?$/

/** The first day of PostgreSQL's types, and their last years. */
const FIRST = { year: 4714, day: '11-24' }
const LAST = { date: 5_874_897, timestamp: 294_276, timestamptz: 294_276 } as const

/** The range that bodies can have, by the type of the column. */
const SHOWN = {
  date: ['0001-01-01', '9999-12-31'],
  timestamp: ['0001-01-01T00:00:00', '9999-12-31T23:59:59.999999'],
  timestamptz: ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z'],
} as const

/**
 * The SQL of `shown` for times of the years 0001 to 9999, and PostgreSQL's own spelling for others. The bounds name the
 * type of the column, so that a column of another type is reported as not comparable, rather than its value as unreadable.
 */
export function shownWithin(column: string, type: keyof typeof SHOWN, shown: string): string {
  const [first, last] = SHOWN[type].map((bound) => `${type} '${bound}'`)
  return `case when ${column} between ${first} and ${last} then ${shown} else ${column}::text end`
}

/**
 * Whether a text is PostgreSQL's own spelling (in its style `ISO`, and UTC) of a time that no request body can have,
 * but that other programs can store: `infinity`, `-infinity`, and times before the year 0001 or after 9999.
 */
export function isForeignTime(text: string, type: keyof typeof LAST): boolean {
  if (text === 'infinity' || text === '-infinity') return true
  const [, years = '', month, day, hours, minutes, seconds, offset, bc] = SPELLING.exec(text) ?? []
  if ((hours === undefined) !== (type === 'date') || (offset !== undefined) !== (type === 'timestamptz')) return false
  const year = Number(years)
  const isAfterFirst = year < FIRST.year || (year === FIRST.year && `${month}-${day}` >= FIRST.day)
  const inRange = bc === undefined ? year > 9999 && year <= LAST[type] : year > 0 && isAfterFirst
  if (!inRange || (years.length > 4 && years.startsWith('0'))) return false
  // Days repeat every 400 years, and the year before year 1 counts as 0 here.
  const cycle = 2000 + ((bc === undefined ? year : 400 * 12 + 1 - year) % 400)
  const days = new Date(Date.UTC(cycle, Number(month), 0)).getUTCDate()
  const isDay = Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= days
  return isDay && Number(hours ?? 0) < 24 && Number(minutes ?? 0) < 60 && Number(seconds ?? 0) < 60
}
