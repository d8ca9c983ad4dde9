import { clampOffset, type PaginationStyle, readCount, readSize, type Rel } from './paginator.js'

export const limitOffset: PaginationStyle = {
  name: 'limit_offset',
  summary: 'A window of rows: `?limit=20&offset=40`.',
  parameters: ['limit', 'offset'],
  read(query, _order, sizes) {
    const limit = readSize(query, 'limit', sizes)
    const offset = readCount(query, 'offset', 0n, 0n)
    const size = BigInt(limit)
    const at = (rows: bigint) => ({ limit: String(limit), offset: String(rows > 0n ? rows : 0n) })
    return {
      start: { offset: clampOffset(offset) },
      limit,
      keyset: false,
      links({ more, total }) {
        const end = total && !total.estimated ? lastPage(total.rows, size) : undefined
        const links = new Map<Rel, Record<string, string>>([['first', at(0n)]])
        if (offset > 0n) links.set('prev', at(end !== undefined && offset - size > end ? end : offset - size))
        if (more) links.set('next', at(offset + size))
        if (end !== undefined) links.set('last', at(end))
        return links
      },
    }
  },
}

function lastPage(rows: number, size: bigint): bigint {
  return ((BigInt(rows) - 1n) / size) * size
}
