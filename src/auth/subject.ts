import { isStorable } from '../fields/formats.js'

const MAX_SUBJECT = 255

/** Whether rules can compare a subject with columns, and logs can show it. */
export function isSubject(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_SUBJECT && isStorable(value)
}
