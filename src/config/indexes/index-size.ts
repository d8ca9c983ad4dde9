import type { FieldSpec } from '../spec.js'

/** The largest entry of a B-tree, in bytes, less what it keeps for itself. PostgreSQL refuses a row that needs more. */
const LARGEST_ENTRY = 2_700
/** The largest row of any index, before PostgreSQL looks at which it is. */
const LARGEST_ROW = 8_191

/** The most bytes that a value takes in the database. Its JSON text is up to three times as long, because of escapes. */
const bytesOf = ({ type, options }: FieldSpec): number => (type.maxBytes(options) ?? Number.POSITIVE_INFINITY) / 3

/** The fields whose values are why a row may not fit into an index on all of these; none when every row fits. */
export const outgrowing = (fields: readonly FieldSpec[]): readonly FieldSpec[] => largerThan(LARGEST_ENTRY, fields)

/** The fields whose values are why a row may not fit into any index at all. */
export const outgrowingAny = (fields: readonly FieldSpec[]): readonly FieldSpec[] => largerThan(LARGEST_ROW, fields)

const largerThan = (limit: number, fields: readonly FieldSpec[]): readonly FieldSpec[] => {
  const sum = fields.reduce((bytes, field) => bytes + bytesOf(field), 0)
  return sum <= limit ? [] : fields.filter((field) => bytesOf(field) * fields.length > limit)
}

/** The `max` with which the fields that outgrow an index fit into it, each with up to four bytes for a character. */
export const fittingMax = (fields: readonly FieldSpec[], large: readonly FieldSpec[]): number => {
  const others = fields.filter((field) => !large.includes(field))
  const room = others.reduce((bytes, field) => bytes - bytesOf(field), LARGEST_ENTRY)
  return Math.floor((room / large.length - 1) / 4)
}
