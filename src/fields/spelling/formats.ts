import { canonicalAddress, canonicalNetwork } from './address.js'
import { canonicalDuration } from '../types/duration.js'
import { canonicalLocal, utcTimestamp } from './instant.js'

/** An Ajv format over strings. */
export interface Format {
  readonly type: 'string'
  readonly validate: (text: string) => boolean
}

/** Whether PostgreSQL can store a text and return it unchanged: no U+0000, no unpaired surrogate. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Whether a text is a real day of the years 0001 to 9999, such as `2024-02-29`. */
export function isDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && utcTimestamp(`${text}T00:00:00Z`) !== undefined
}

/** Whether a text is base64 with padding, in the canonical encoding of its bytes (RFC 4648, sections 3.5 and 4). */
export function isBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text
}

function format(validate: (text: string) => boolean): Format {
  return { type: 'string', validate }
}

/** Numbers that bodies cannot have, but other programs can store. */
export const INFINITE: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity'])

/** The format `decimal` of schemas: plain digits, one spelling for each amount except for trailing zeros and the sign of zero. */
export const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/

/**
 * The formats that field schemas name, for registration with Ajv. The standard names are stricter here than in ajv-formats:
 * PostgreSQL accepts everything that they accept, and keeps it exactly.
 */
export const FORMATS: Readonly<Record<string, Format>> = {
  'storable-text': format(isStorable),
  date: format(isDate),
  'date-time': format((text) => utcTimestamp(text) !== undefined),
  'local-date-time': format((text) => canonicalLocal(text) !== undefined),
  base64: format(isBase64),
  decimal: format((text) => DECIMAL.test(text)),
  address: format((text) => canonicalAddress(text) !== undefined),
  network: format((text) => canonicalNetwork(text) !== undefined),
  'signed-duration': format((text) => canonicalDuration(text) !== undefined),
  uuid: format((text) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)),
}
