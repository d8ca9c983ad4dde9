import { Problem } from '../foundation/problem.js'
import { cursorLength, decodeCursor, encodeCursor } from './cursor.js'
import {
  lengthOf,
  type Ordered,
  type PageEdges,
  type PageRequest,
  type PageSizes,
  type Parameters,
  type Rel,
} from './paginator.js'

/** A page identified by the number of rows before it. */
interface OffsetPage {
  readonly query: Parameters
  readonly order: readonly Ordered[]
  readonly offset: bigint
  readonly size: number
  /** The style's parameters for the page at an offset. */
  readonly at: (offset: bigint) => Readonly<Record<string, string>>
}

/**
 * Paginates by number or offset. Links to neighbours also carry a cursor, so that every page costs the same. Without a cursor, the rows before the
 * page are skipped, up to `max_offset` of them.
 * @throws Problem `invalid_query` for a cursor of another list, and for any if records show no key; `links` throws it for a page beyond `max_offset`
 */
export function offsetPage(
  { query, order, offset, size, at }: OffsetPage,
  { maxOffset, keyed }: PageSizes,
): PageRequest {
  const cursor = query.get('cursor')
  const isBeyond = cursor === undefined && offset > BigInt(maxOffset)
  const step = BigInt(size)
  // A cursor that may not fit in a link is left out; such pages are found by number alone.
  const room = keyed ? cursorLength(order) : undefined

  const neighbour = (rows: bigint, direction: 'after' | 'before', edge: PageEdges['first']) =>
    edge && rows > 0n && room !== undefined ? { ...at(rows), cursor: encodeCursor(direction, edge, order) } : at(rows)

  const links = ({ first, last, more, total }: PageEdges) => {
    if (isBeyond && more) throw beyond(offset, maxOffset)
    const lastRow = total && !total.estimated ? BigInt(Math.max(total.rows - 1, 0)) : undefined
    const end = lastRow === undefined ? undefined : (lastRow / step) * step
    const links = new Map<Rel, Readonly<Record<string, string>>>([['first', at(0n)]])
    const before = offset > step ? offset - step : 0n
    if (offset > 0n) links.set('prev', end !== undefined && before > end ? at(end) : neighbour(before, 'before', first))
    if (more || isBefore) links.set('next', neighbour(offset + step, 'after', last))
    if (end !== undefined) links.set('last', at(end))
    return links
  }

  if (cursor !== undefined && !keyed)
    throw new Problem('invalid_query', 'the parameter `cursor` is not supported here: records of this list show no key')
  const start = cursor === undefined ? { offset: clamp(offset) } : decodeCursor(cursor, order)
  const isBefore = 'before' in start
  // For a page beyond the limit, only the existence of a row is checked.
  return {
    start,
    limit: isBeyond ? 0 : size,
    keyset: room !== undefined,
    linkLength: lengthOf({ ...at(offset + step), cursor: '' }) + (room ?? 0),
    links,
  }
}

function beyond(offset: bigint, maxOffset: number): Problem {
  return new Problem(
    'invalid_query',
    `this page starts after ${offset} rows, but a page number may skip at most ${maxOffset}; follow the links to the next page, whose \`cursor\` works at any depth, or filter the list`,
  )
}

/** Limits an offset to the largest integer that a number holds exactly; no table has that many rows. */
function clamp(offset: bigint): number {
  return offset > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(offset)
}
