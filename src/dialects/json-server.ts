import type { JsonSchema } from '../foundation/json.js'
import { contains } from '../lookups/contains.js'
import { exact } from '../lookups/exact.js'
import { gt } from '../lookups/gt.js'
import { gte } from '../lookups/gte.js'
import { icontains } from '../lookups/icontains.js'
import { isnull } from '../lookups/isnull.js'
import { lt } from '../lookups/lt.js'
import { lte } from '../lookups/lte.js'
import { ne } from '../lookups/ne.js'
import { CURSOR } from '../pagination/cursor.js'
import { describeCount, readCount } from '../pagination/paginator.js'
import { COUNT, estimable, namesParameter, objectOf, orderParameter } from './description.js'
import type { Comparison, Dialect, Frame, QueryParameters, Listed, Sorting, Vocabulary, Window } from './dialect.js'
import { comparisons, describeRows, type LookupWords, readRows, rejected, single, toSize } from './parameters.js'

const PAGING = ['_start', '_end', '_limit', '_page', '_per_page', 'cursor']
const SORTING = ['_sort', '_order']
const SEARCH = 'q'

/** The suffixes of filters: `price_gte`. A filter without a suffix means equality. */
const SUFFIXES: LookupWords = new Map([
  ['_gte', [gte]],
  ['_lte', [lte]],
  ['_gt', [gt]],
  ['_lt', [lt]],
  ['_like', [icontains, contains]],
  ['_ne', [ne]],
  ['_isnull', [isnull]],
])

export const jsonServer: Dialect = {
  name: 'json-server',
  summary: 'Arrays by `_start` and `_end` or by `_page` and `_limit`, with `X-Total-Count`, as in json-server.',
  paging: PAGING,
  unpaged: 'everything',
  parameters: SORTING,
  search: SEARCH,
  read: (given, words) => ({
    comparisons: comparisons(given, [...PAGING, ...SORTING, ...(words.searches ? [SEARCH] : [])], (name) =>
      interpret(name, words),
    ),
    search: words.searches ? single(given, [SEARCH]).get(SEARCH) : undefined,
    sorting: readSorting(given),
    window: readWindow(given, words),
  }),
  format: ({ offset, size, numbered }) =>
    numbered
      ? { _page: String(offset / BigInt(size) + 1n), _per_page: String(size) }
      : { _start: String(offset), _end: String(offset + BigInt(size)) },
  frame: (list) => (list.window.numbered ? frameNumbered(list) : {}),
  describe: (sizes, fields) => ({
    parameters: [
      describeCount('_start', 'How many records come before the page.', 0),
      {
        name: '_end',
        description: 'The offset after the last record of the page; the default is the end of the list.',
        schema: { type: 'integer', minimum: 1 },
      },
      describeRows('_limit', sizes),
      describeCount('_page', 'The number of the page.', 1),
      describeRows('_per_page', sizes),
      CURSOR,
      orderParameter('_sort', fields),
      namesParameter('_order', 'The direction of each field of `_sort`; the default is ascending.', [
        'asc',
        'desc',
        'ASC',
        'DESC',
      ]),
    ],
    filters: (field) => [
      { name: field, lookups: [exact] },
      ...[...SUFFIXES].map(([suffix, lookups]) => ({ name: field + suffix, lookups })),
    ],
    frame: (data) => ({
      anyOf: [
        data,
        estimable(
          objectOf({ first: COUNT, prev: PAGE, next: PAGE, last: COUNT, pages: COUNT, items: COUNT, data }),
          'items',
        ),
      ],
    }),
  }),
  put: 'merge',
  destroyed: 'record',
  bare: true,
}

/** The number of a neighbouring page, or null before the first page and after the last. */
const PAGE: JsonSchema = { ...COUNT, type: ['integer', 'null'] }

function interpret(name: string, { key, isField }: Vocabulary): Pick<Comparison, 'field' | 'lookups'> {
  if (name === 'ids' && !isField(name)) return { field: key, lookups: [exact] }
  const suffix = isField(name) ? undefined : [...SUFFIXES.keys()].find((each) => name.endsWith(each))
  if (suffix === undefined) return { field: name, lookups: [exact] }
  return { field: name.slice(0, -suffix.length), lookups: SUFFIXES.get(suffix) ?? [] }
}

/** `_sort=title,id&_order=desc,asc`, or `_sort=-title,id`; the default order is ascending. */
function readSorting(given: QueryParameters): readonly Sorting[] | undefined {
  const own = single(given, SORTING)
  const fields = own.get('_sort')?.split(',')
  const orders = own.get('_order')?.split(',') ?? []
  if (orders.length > (fields?.length ?? 0)) throw rejected('_order', 'has more entries than `_sort`')
  if (orders.length === 0)
    return fields?.map((field) => ({ field: field.replace(/^-/, ''), descending: field.startsWith('-') }))
  return fields?.map((field, index) => {
    const order = (orders[index] ?? 'asc').toLowerCase()
    if (order !== 'asc' && order !== 'desc') throw rejected('_order', 'must be asc or desc for each field of `_sort`')
    return { field, descending: order === 'desc' }
  })
}

/** Parses `_start` with `_end` or `_limit`, or `_page` with `_limit` or `_per_page`. With `_per_page`, the response has an envelope. */
function readWindow(given: QueryParameters, { sizes }: Vocabulary): Window | undefined {
  const own = single(given, PAGING)
  rejectTogether(own, ['_limit', '_per_page'])
  rejectTogether(own, ['_end', '_limit', '_per_page', '_page'])
  rejectTogether(own, ['_start', '_per_page', '_page'])
  const numbered = own.has('_per_page')
  const size = readRows(own, numbered ? '_per_page' : '_limit', sizes.pageSize)
  if (numbered || own.has('_page'))
    return { offset: (readCount(own, '_page', 1n, 1n) - 1n) * BigInt(size), size, numbered }
  const offset = readCount(own, '_start', 0n, 0n)
  if (own.has('_limit')) return { offset, size }
  if (!own.has('_end')) return own.has('_start') ? { offset, size: undefined } : undefined
  const rows = readCount(own, '_end', 0n, 0n) - offset
  if (rows <= 0n) throw rejected('_end', 'must be larger than `_start`')
  return { offset, size: toSize(rows) }
}

/** Rejects the first parameter together with any of the others, because they could contradict each other. */
function rejectTogether(own: ReadonlyMap<string, string>, [first = '', ...others]: readonly string[]): void {
  const other = own.has(first) ? others.find((name) => own.has(name)) : undefined
  if (other !== undefined) throw rejected(first, `cannot be combined with \`${other}\`; give one of them`)
}

/** The envelope that json-server 1 returns for `_per_page`. `prev` and `next` are set if the `Link` header has such a link. */
function frameNumbered({ window: { offset, size }, total, estimated, next, previous }: Listed): Frame {
  const page = offset / BigInt(size) + 1n
  const pages = Math.ceil(total / size)
  const last = BigInt(Math.max(pages, 1))
  // Past the end, `prev` is the last page. With an estimated total the last page is unknown, so `prev` is `page - 1`.
  const before = estimated || page <= last ? page - 1n : last
  const numbers = [
    `"first":1,"prev":${previous === undefined ? null : before},"next":${next === undefined ? null : page + 1n}`,
    `"last":${last},"pages":${pages},"items":${total}${estimated ? ',"items_estimated":true' : ''}`,
  ]
  return { before: `{${numbers.join(',')},"data":`, after: '}' }
}
