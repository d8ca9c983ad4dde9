import { LOOKUPS, parameterOf } from '../lookups/index.js'
import { CURSOR } from '../pagination/cursor.js'
import { describeCount, readCount } from '../pagination/paginator.js'
import { COUNT, envelopeOf, NEIGHBOUR, orderParameter } from './description.js'
import type { Dialect } from './dialect.js'
import { byLookup, comparisons, describeRows, readRows, single } from './parameters.js'

const PAGING = ['page', 'page_size', 'cursor']
const OWN = [...PAGING, 'ordering']
const SEARCH = 'search'

export const page: Dialect = {
  name: 'page',
  summary: 'Numbered pages in an object with `count` and `results`, as in Django REST framework.',
  paging: PAGING,
  unpaged: 'first page',
  parameters: ['ordering'],
  commas: true,
  search: SEARCH,
  read(given, words) {
    const names = words.searches ? [...OWN, SEARCH] : OWN
    const own = single(given, names, ['ordering'])
    const size = readRows(own, 'page_size', words.sizes.pageSize)
    const ordering = own.get('ordering')
    return {
      comparisons: comparisons(given, names, (name) => byLookup(name, words)),
      search: own.get(SEARCH),
      sorting: ordering?.split(',').map((term) => {
        const descending = term.startsWith('-')
        return { field: descending ? term.slice(1) : term, descending }
      }),
      window:
        own.has('page') || own.has('page_size')
          ? { offset: (readCount(own, 'page', 1n, 1n) - 1n) * BigInt(size), size }
          : undefined,
    }
  },
  format: ({ offset, size }) => ({ page: String(offset / BigInt(size) + 1n), page_size: String(size) }),
  frame({ total, estimated, next, previous, streamed }) {
    const count = `"count":${total}${estimated ? ',"count_estimated":true' : ''}`
    const links = `"next":${JSON.stringify(next ?? null)},"previous":${JSON.stringify(previous ?? null)}`
    return streamed
      ? { before: `{${count},"results":`, after: `,${links}}` }
      : { before: `{${count},${links},"results":`, after: '}' }
  },
  describe: (sizes, fields) => ({
    parameters: [
      describeCount('page', 'The number of the page.', 1),
      describeRows('page_size', sizes),
      CURSOR,
      orderParameter('ordering', fields),
    ],
    filters: (field) => LOOKUPS.map((lookup) => ({ name: parameterOf(field, lookup), lookups: [lookup] })),
    frame: (results) => envelopeOf({ count: COUNT, next: NEIGHBOUR, previous: NEIGHBOUR, results }),
  }),
  put: 'replace',
  destroyed: 'nothing',
}
