import { formatCell } from '../fields/cell.js'
import { Problem } from '../foundation/problem.js'
import {
  lengthOf,
  describeSize,
  MAX_LINK_LENGTH,
  type MeasuredField,
  type Ordered,
  type PageStart,
  type ParameterDescription,
  type PaginationStyle,
  readSize,
  type Rel,
} from './paginator.js'

type Direction = 'after' | 'before'

/** The parameter in links. */
export const CURSOR: ParameterDescription = {
  name: 'cursor',
  description: 'The position of the page, from a link in an earlier response.',
  schema: { type: 'string' },
}

export const cursor: PaginationStyle = {
  name: 'cursor',
  summary: 'Pages by a cursor, which marks where another page starts or ends: `?cursor=…&page_size=20`.',
  parameters: ['cursor', 'page_size'],
  size: 'page_size',
  describe: (sizes) => [CURSOR, describeSize('page_size', sizes)],
  outgrows: (fields) => longest(fields) > MAX_CURSOR_LENGTH,
  read(query, order, sizes) {
    const size = readSize(query, 'page_size', sizes)
    const length = cursorLength(order)
    if (length === undefined) {
      throw new Problem('invalid_query', 'the parameter `ordering` names too many fields for one cursor; name fewer')
    }
    const text = query.get('cursor')
    const start = text === undefined ? { offset: 0 } : decodeCursor(text, order)
    const backwards = 'before' in start
    const at = (direction: Direction, values: readonly unknown[]) => ({
      cursor: encodeCursor(direction, values, order),
      page_size: String(size),
    })
    return {
      start,
      limit: size,
      keyset: true,
      linkLength: lengthOf({ cursor: '', page_size: String(size) }) + length,
      links({ first, last, more }) {
        const links = new Map<Rel, Record<string, string>>()
        if (first && (backwards ? more : 'after' in start)) links.set('prev', at('before', first))
        if (last && (backwards || more)) links.set('next', at('after', last))
        return links
      },
    }
  },
}

/** Leaves the rest of a link for filters. */
const MAX_CURSOR_LENGTH = MAX_LINK_LENGTH - 2000

/** Returns the maximum length of a cursor in an order; undefined if it would not fit in a link. */
export function cursorLength(order: readonly Ordered[]): number | undefined {
  const length = longest(order.map(({ field }) => field))
  return length > MAX_CURSOR_LENGTH ? undefined : length
}

/** The maximum length of a character in JSON: the escape of a control character. */
const ESCAPE = 6

/** Returns the maximum length of a cursor for these fields; infinite if it is unbounded. */
function longest(fields: readonly MeasuredField[]): number {
  const parts = fields.map(({ name, type, options }) => {
    // The name with its sign and comma; the value with its quotes and comma.
    return name.length + 2 + ESCAPE * (type.longest(options) ?? Infinity) + 3
  })
  const bytes = parts.reduce((sum, part) => sum + part, '["","before"]'.length)
  return Math.ceil((bytes * 4) / 3)
}

/**
 * A cursor is base64url of `[ordering, direction, …values]`. It is not secret and needs no signature: it is validated like any parameter, and can
 * express no more than filters on the ordered fields.
 */
export function encodeCursor(direction: Direction, values: readonly unknown[], order: readonly Ordered[]): string {
  const texts = order.map(({ field }, index) => formatCell(field, values[index]))
  return Buffer.from(JSON.stringify([spelled(order), direction, ...texts])).toString('base64url')
}

/** @throws Problem `invalid_query` for an invalid cursor, or one of another order */
export function decodeCursor(text: string, order: readonly Ordered[]): PageStart {
  const [ordering, direction, ...texts] = parts(text)
  if (ordering !== spelled(order)) {
    throw new Problem('invalid_query', 'the parameter `cursor` belongs to another `ordering`; start again without it')
  }
  const values = order.map(({ field }, index) => {
    const item = texts[index]
    if (item === null && field.mayBeNull) return null
    const { type, options } = field
    const value = typeof item === 'string' ? (type.parseStored ?? type.parse)(item, options) : undefined
    return value ?? reject()
  })
  if (texts.length !== order.length) return reject()
  if (direction === 'after') return { after: values }
  if (direction === 'before') return { before: values }
  return reject()
}

function parts(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(value) ? value : reject()
  } catch (cause) {
    return reject(cause)
  }
}

function reject(cause?: unknown): never {
  throw new Problem('invalid_query', 'the parameter `cursor` was not issued by this list; start again without it', {
    cause,
  })
}

/** The order as named in cursors, including the position of nulls. */
function spelled(order: readonly Ordered[]): string {
  return order.map((each) => signOf(each) + each.field.name).join(',')
}

/** A sign of at most one character. */
function signOf({ descending, nulls }: Ordered): string {
  if (nulls === undefined) return descending ? '-' : ''
  return descending ? '~' : '+'
}
