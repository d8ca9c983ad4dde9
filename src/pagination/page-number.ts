import { offsetPage } from './by-offset.js'
import { CURSOR } from './cursor.js'
import { describeCount, describeSize, type PaginationStyle, readCount, readSize } from './paginator.js'

export const pageNumber: PaginationStyle = {
  name: 'page_number',
  summary: 'Pages by number: `?page=2&page_size=20`. Links also have a `cursor`.',
  parameters: ['page', 'page_size', 'cursor'],
  size: 'page_size',
  describe: (sizes) => [
    describeCount('page', 'The number of the page. A page past the end is empty.', 1),
    describeSize('page_size', sizes),
    ...(sizes.keyed ? [CURSOR] : []),
  ],
  read(query, order, sizes) {
    const size = readSize(query, 'page_size', sizes)
    const step = BigInt(size)
    const offset = (readCount(query, 'page', 1n, 1n) - 1n) * step
    const at = (rows: bigint) => ({ page: String(rows / step + 1n), page_size: String(size) })
    return offsetPage({ query, order, offset, size, at }, sizes)
  },
}
