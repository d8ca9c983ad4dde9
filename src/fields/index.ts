import { arrayOf } from './types/array.js'
import { bigint } from './types/bigint.js'
import { binary } from './types/binary.js'
import { boolean } from './types/boolean.js'
import { char } from './types/char.js'
import { choice } from './types/choice.js'
import { date } from './types/date.js'
import { decimal } from './types/decimal.js'
import { email } from './types/email.js'
import type { FieldType } from './field-type.js'
import { float } from './types/float.js'
import { cidr, inet } from './types/inet.js'
import { integer } from './types/integer.js'
import { interval } from './types/interval.js'
import { json } from './types/json.js'
import { localTimestamp } from './types/local-timestamp.js'
import { opaque } from './types/opaque.js'
import { belongsTo } from './types/relation.js'
import { string } from './types/string.js'
import { text } from './types/text.js'
import { time } from './types/time.js'
import { timestamp } from './types/timestamp.js'
import { url } from './types/url.js'
import { uuid } from './types/uuid.js'

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
