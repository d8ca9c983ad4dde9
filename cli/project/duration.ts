import { Failure } from '../failure.js'

const FORM = /^([1-9][0-9]{0,4})([smhdy])$/
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, y: 365 * 86_400 }
/** In seconds: a hundred years. */
const MAX_SECONDS = 100 * 365 * 86_400

/**
 * Reads a duration such as `90d`, in seconds.
 * @throws Failure 2 that names the option
 */
export function readDuration(text: string, option: string): number {
  const [, amount, unit = ''] = FORM.exec(text) ?? []
  const seconds = Number(amount) * (SECONDS[unit] ?? Number.NaN)
  if (seconds > 0 && seconds <= MAX_SECONDS) return seconds
  throw new Failure(2, `${option} is a whole number with a unit, not \`${text}\``, [
    '`30m`, `12h`, `90d` or `1y`, a hundred years at most',
  ])
}
