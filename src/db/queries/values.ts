import { mapItems, readArray } from '../../fields/spelling/array-text.js'
import { JsonText } from '../../fields/spelling/json-text.js'
import { toJsonText } from '../../fields/spelling/exact-json.js'
import { arrayLiteral, type Cell } from '../../fields/cell.js'

type Read = (text: string) => unknown

const asText: Read = (text) => text
function asTime(zone: string): Read {
  return (text) => {
    // Times before the year 1 and after 9999 stay as PostgreSQL writes them, as in the records of stores.
    const [, day, time, fraction = ''] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?(?:\+00)?$/.exec(text) ?? []
    return day === undefined ? text : `${day}T${time}.${fraction.padEnd(6, '0')}${zone}`
  }
}
const asBytes: Read = (text) => Buffer.from(text.slice(2), 'hex')

/** A type of PostgreSQL, the type of its arrays, and a parser of its texts. Values of other types stay texts. */
const TYPES: readonly (readonly [oid: number, array: number, read: Read])[] = [
  [16, 1000, (text) => text === 't'],
  [17, 1001, asBytes],
  [20, 1016, BigInt],
  [21, 1005, Number],
  [23, 1007, Number],
  [25, 1009, asText],
  [26, 1028, Number],
  [114, 199, (text) => new JsonText(text)],
  [700, 1021, Number],
  [701, 1022, Number],
  [1042, 1014, asText],
  [1043, 1015, asText],
  [1082, 1182, asText],
  [1083, 1183, asText],
  [1114, 1115, asTime('')],
  [1184, 1185, asTime('Z')],
  [1700, 1231, asText],
  [2950, 2951, asText],
  [3802, 3807, (text) => new JsonText(text)],
]

const READERS: ReadonlyMap<number, Read> = new Map(
  TYPES.flatMap(([oid, array, read]): (readonly [number, Read])[] => [
    [oid, read],
    [array, (text) => readArray(text, (cell) => (cell === null ? null : read(cell)))],
  ]),
)

/** The parser of a column's cells, by the type of the column: values as in the records of stores, and arrays of them. */
export function readerOf(oid: number | undefined): (cell: Cell) => unknown {
  const read = READERS.get(oid ?? 0) ?? asText
  return (cell) => (cell === null ? null : read(cell))
}

/** PostgreSQL's text form of a value that a plugin passes to a query. */
export function writeValue(value: unknown): Cell {
  if (value === null || value === undefined) return null
  if (typeof value === 'string') return value
  if (value instanceof JsonText) return value.text
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  if (Array.isArray(value)) return arrayLiteral(mapItems(value, writeValue))
  if (typeof value === 'object') return toJsonText(value)
  if (['number', 'bigint', 'boolean'].includes(typeof value)) return String(value)
  throw new TypeError(`a query parameter cannot be a ${typeof value}`)
}
