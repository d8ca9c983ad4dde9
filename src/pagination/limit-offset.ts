import { offsetPage } from './by-offset.js'
import { CURSOR } from './cursor.js'
import { describeCount, describeSize, type PaginationStyle, readCount, readSize } from './paginator.js'

export const limitOffset: PaginationStyle = {
  name: 'limit_offset',
  summary: 'A window of rows: `?limit=20&offset=40`. Links also have a `cursor`.',
  parameters: ['limit', 'offset', 'cursor'],
  size: 'limit',
  describe: (sizes) => [
    describeSize('limit', sizes),
    describeCount('offset', 'How many items come before the page.', 0),
    ...(sizes.keyed ? [CURSOR] : []),
  ],
  read(query, order, sizes) {
    const size = readSize(query, 'limit', sizes)
    const at = (rows: bigint) => ({ limit: String(size), offset: String(rows) })
    return offsetPage({ query, order, offset: readCount(query, 'offset', 0n, 0n), size, at }, sizes)
  },
}
