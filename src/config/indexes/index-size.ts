import type { FieldSpec } from '../spec.js'

/** The largest entry of a B-tree in bytes, without its overhead. PostgreSQL rejects rows that need more. */
const MAX_ENTRY_BYTES = 2_700
/** The largest row of any index, whatever its kind. */
const MAX_ROW_BYTES = 8_191

/** The maximum number of bytes of a value in the database. Its JSON text can be three times as long, because of escapes. */
function bytesOf({ type, options }: FieldSpec): number {
  return (type.maxBytes(options) ?? Number.POSITIVE_INFINITY) / 3
}

/** The fields whose values may make a row too large for an index on all of these fields; empty if every row fits. */
export function outgrowing(fields: readonly FieldSpec[]): readonly FieldSpec[] {
  return largerThan(MAX_ENTRY_BYTES, fields)
}

/** The fields whose values may make a row too large for any index. */
export function outgrowingAny(fields: readonly FieldSpec[]): readonly FieldSpec[] {
  return largerThan(MAX_ROW_BYTES, fields)
}

function largerThan(limit: number, fields: readonly FieldSpec[]): readonly FieldSpec[] {
  const sum = fields.reduce((bytes, field) => bytes + bytesOf(field), 0)
  return sum <= limit ? [] : fields.filter((field) => bytesOf(field) * fields.length > limit)
}

/** The `max` with which the too large fields fit into an index, at up to four bytes for a character. */
export function fittingMax(fields: readonly FieldSpec[], large: readonly FieldSpec[]): number {
  const others = fields.filter((field) => !large.includes(field))
  const room = others.reduce((bytes, field) => bytes - bytesOf(field), MAX_ENTRY_BYTES)
  return Math.floor((room / large.length - 1) / 4)
}
