/** A duration as PostgreSQL stores it: months, days and time separately, because months and days have no fixed length. */
interface Duration {
  readonly months: bigint
  readonly days: bigint
  readonly microseconds: bigint
}

const NUMBER = String.raw`([+-]?\d{1,10})`
const SECONDS = String.raw`([+-]?\d{1,13})(?:[.,](\d{1,6}))?`
const DATE = `(?:${NUMBER}Y)?(?:${NUMBER}M)?(?:${NUMBER}W)?(?:${NUMBER}D)?`
const TIME = `(?:T(?:${NUMBER}H)?(?:${NUMBER}M)?(?:${SECONDS}S)?)?`
const DURATION = new RegExp(`^P${DATE}${TIME}$`)

const MAX_COUNT_DIGITS = 2_147_483_647n
const SECOND = 1_000_000n
const HOUR = 3600n * SECOND

/** PostgreSQL stores each count separately, and versions before 15 read no more hours. */
const LIMITS: Duration = { months: MAX_COUNT_DIGITS, days: MAX_COUNT_DIGITS, microseconds: MAX_COUNT_DIGITS * HOUR }

/**
 * The canonical form of an ISO 8601 duration, whose numbers may be negative: years, months, days, hours and minutes are whole,
 * and zeros are left out. Undefined for any other text, and for what not every version of PostgreSQL reads.
 */
export function canonicalDuration(text: string): string | undefined {
  const duration = readDuration(text)
  return duration && isWithin(duration) ? printDuration(duration) : undefined
}

/** Does the same within the range that PostgreSQL stores, which is larger. */
export function storedDuration(text: string): string | undefined {
  const duration = readDuration(text)
  return duration && isStored(duration) ? printDuration(duration) : undefined
}

function readDuration(text: string): Duration | undefined {
  const parts = DURATION.exec(text)
  if (!parts || /[PT]$/.test(text)) return undefined
  const [years, months, weeks, days, hours, minutes, seconds] = parts.slice(1, 8).map((count) => BigInt(count ?? 0))
  const fraction = BigInt((parts[8] ?? '').padEnd(6, '0'))
  return {
    months: 12n * (years ?? 0n) + (months ?? 0n),
    days: 7n * (weeks ?? 0n) + (days ?? 0n),
    microseconds:
      (3600n * (hours ?? 0n) + 60n * (minutes ?? 0n) + (seconds ?? 0n)) * SECOND +
      (parts[7]?.startsWith('-') ? -fraction : fraction),
  }
}

function isWithin({ months, days, microseconds }: Duration): boolean {
  const isSmall = (value: bigint, limit: bigint) => value <= limit && value >= -limit
  return isSmall(months, LIMITS.months) && isSmall(days, LIMITS.days) && isSmall(microseconds, LIMITS.microseconds)
}

function isStored({ months, days, microseconds }: Duration): boolean {
  const fits = (value: bigint, bits: number) => BigInt.asIntN(bits, value) === value
  return fits(months, 32) && fits(days, 32) && fits(microseconds, 64)
}

function printDuration({ months, days, microseconds }: Duration): string {
  const part = (count: bigint, unit: string) => (count === 0n ? '' : `${count}${unit}`)
  const date = part(months / 12n, 'Y') + part(months % 12n, 'M') + part(days, 'D')
  const rest = microseconds % (60n * SECOND)
  const time = part(microseconds / HOUR, 'H') + part((microseconds % HOUR) / (60n * SECOND), 'M') + printSeconds(rest)
  return date === '' && time === '' ? 'PT0S' : `P${date}${time === '' ? '' : `T${time}`}`
}

function printSeconds(microseconds: bigint): string {
  if (microseconds === 0n) return ''
  const size = microseconds < 0n ? -microseconds : microseconds
  return `${microseconds < 0n ? '-' : ''}${size / SECOND}${printFraction(size)}S`
}

function printFraction(microseconds: bigint): string {
  const digits = String(microseconds % SECOND).padStart(6, '0')
  return microseconds % SECOND === 0n ? '' : `.${digits.replace(/0{1,5}$/, '')}`
}

const PRINTED =
  /^(?:([+-]?\d+) years? ?)?(?:([+-]?\d+) mons? ?)?(?:([+-]?\d+) days? ?)?(?:([+-]?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?$/

/** Does the same for a text in PostgreSQL's own style: `1 year 2 days -03:04:05.6`. */
export function durationOfPrinted(text: string): string | undefined {
  const parts = PRINTED.exec(text)
  if (!parts || text === '') return undefined
  const [years = '0', months = '0', days = '0', sign = '', hours = '0', minutes = '0', seconds = '0', fraction = '0'] =
    parts.slice(1)
  return canonicalDuration(
    `P${years}Y${months}M${days}DT${sign}${hours}H${sign}${minutes}M${sign}${seconds}.${fraction}S`,
  )
}

/** The text in PostgreSQL's own style of a duration in its canonical form. */
export function printedDuration(canonical: string): string {
  const duration = readDuration(canonical)
  if (!duration) return canonical
  const { months, days, microseconds } = duration
  const parts = [
    { count: months / 12n, unit: 'year' },
    { count: months % 12n, unit: 'mon' },
    { count: days, unit: 'day' },
    { count: microseconds, unit: undefined },
  ].filter(({ count }) => count !== 0n)
  const texts = parts.map(({ count, unit }, place) => {
    const sign = count > 0n && (parts[place - 1]?.count ?? 0n) < 0n ? '+' : ''
    return sign + (unit === undefined ? printClock(count) : `${count} ${unit}${count === 1n ? '' : 's'}`)
  })
  return texts.length === 0 ? '00:00:00' : texts.join(' ')
}

function printClock(microseconds: bigint): string {
  const size = microseconds < 0n ? -microseconds : microseconds
  const [hours, minutes, seconds] = [size / HOUR, (size / (60n * SECOND)) % 60n, (size / SECOND) % 60n].map((count) =>
    String(count).padStart(2, '0'),
  )
  return `${microseconds < 0n ? '-' : ''}${hours}:${minutes}:${seconds}${printFraction(size)}`
}
