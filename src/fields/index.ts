import { arrayOf } from './array.js'
import { bigint } from './bigint.js'
import { binary } from './binary.js'
import { boolean } from './boolean.js'
import { char } from './char.js'
import { choice } from './choice.js'
import { date } from './date.js'
import { decimal } from './decimal.js'
import { email } from './email.js'
import type { FieldType } from './field-type.js'
import { float } from './float.js'
import { cidr, inet } from './inet.js'
import { integer } from './integer.js'
import { interval } from './interval.js'
import { json } from './json.js'
import { localTimestamp } from './local-timestamp.js'
import { opaque } from './opaque.js'
import { belongsTo } from './relation.js'
import { string } from './string.js'
import { text } from './text.js'
import { time } from './time.js'
import { timestamp } from './timestamp.js'
import { url } from './url.js'
import { uuid } from './uuid.js'

/** The types that the items of an array can have. */
const SCALARS: readonly FieldType[] = [
  string,
  text,
  email,
  url,
  integer,
  bigint,
  decimal,
  float,
  boolean,
  date,
  time,
  timestamp,
  localTimestamp,
  uuid,
  char,
  choice,
  binary,
  interval,
  inet,
  cidr,
]

/** All field types. A new one is a file and a line here. */
export const FIELD_TYPES: readonly FieldType[] = [...SCALARS, arrayOf(SCALARS), json, belongsTo, opaque]

/** The field type with this name; undefined if there is none. */
export function fieldType(name: string): FieldType | undefined {
  return FIELD_TYPES.find((type) => type.name === name)
}
