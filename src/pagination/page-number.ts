import { clampOffset, type PaginationStyle, readCount, readSize, type Rel } from './paginator.js'

export const pageNumber: PaginationStyle = {
  name: 'page_number',
  summary: 'Pages by number: `?page=2&page_size=20`.',
  parameters: ['page', 'page_size'],
  read(query, _order, sizes) {
    const page = readCount(query, 'page', 1n, 1n)
    const size = readSize(query, 'page_size', sizes)
    const at = (number: bigint) => ({ page: String(number), page_size: String(size) })
    return {
      start: { offset: clampOffset((page - 1n) * BigInt(size)) },
      limit: size,
      keyset: false,
      links({ more, total }) {
        const end = total && !total.estimated ? lastPage(total.rows, size) : undefined
        const links = new Map<Rel, Record<string, string>>([['first', at(1n)]])
        if (page > 1n) links.set('prev', at(end !== undefined && page > end ? end : page - 1n))
        if (more) links.set('next', at(page + 1n))
        if (end !== undefined) links.set('last', at(end))
        return links
      },
    }
  },
}

function lastPage(rows: number, size: number): bigint {
  return BigInt(Math.max(1, Math.ceil(rows / size)))
}
