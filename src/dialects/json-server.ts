import { CURSOR } from '../pagination/cursor.js'
import { describeCount, readCount } from '../pagination/paginator.js'
import { textParameter } from './description.js'
import type { Comparison, Dialect, Given, Sorting, Vocabulary, Window } from './dialect.js'
import { comparisons, type LookupWords, refused, single } from './parameters.js'

const PAGING = ['_start', '_end', 'cursor']
const SORTING = ['_sort', '_order']
const SEARCH = 'q'

/** A name ends with its comparison: `price_gte`. */
const SUFFIXES: LookupWords = new Map([
  ['_gte', ['gte']],
  ['_lte', ['lte']],
  ['_gt', ['gt']],
  ['_lt', ['lt']],
  ['_like', ['icontains', 'contains']],
])

export const jsonServer: Dialect = {
  name: 'json-server',
  summary: 'Bare arrays, cut by `_start` and `_end`, with `X-Total-Count`, as json-server has them.',
  paging: PAGING,
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
  spell: ({ offset, size }) => ({ _start: String(offset), _end: String(offset + BigInt(size)) }),
  frame: () => ({}),
  describe: ({ pageSize, maxPageSize }) => ({
    parameters: [
      describeCount('_start', 'How many records come before the page.', 0),
      {
        name: '_end',
        description: `The records before the page and on it, ${pageSize} when left out and ${maxPageSize} at most.`,
        schema: { type: 'integer', minimum: 1 },
      },
      CURSOR,
      textParameter('_sort', 'Fields between commas: `title,id`.'),
      textParameter('_order', '`asc` or `desc` for each of them, between commas.'),
    ],
    plainFilters: true,
  }),
  put: 'merge',
  destroyed: 'record',
}

function interpret(name: string, { key, isField }: Vocabulary): Pick<Comparison, 'field' | 'lookups'> {
  if (name === 'ids' && !isField(name)) return { field: key, lookups: ['exact'] }
  const suffix = isField(name) ? undefined : [...SUFFIXES.keys()].find((each) => name.endsWith(each))
  if (suffix === undefined) return { field: name, lookups: ['exact'] }
  return { field: name.slice(0, -suffix.length), lookups: SUFFIXES.get(suffix) ?? [] }
}

/** `_sort=title,id&_order=desc,asc`; an order that is left out is ascending. */
function readSorting(given: Given): readonly Sorting[] | undefined {
  const own = single(given, SORTING)
  const fields = own.get('_sort')?.split(',')
  const orders = own.get('_order')?.split(',') ?? []
  if (orders.length > (fields?.length ?? 0)) throw refused('_order', 'says more than `_sort` has fields')
  return fields?.map((field, index) => {
    const order = (orders[index] ?? 'asc').toLowerCase()
    if (order !== 'asc' && order !== 'desc')
      throw refused('_order', 'takes asc and desc, one for each field of `_sort`')
    return { field, descending: order === 'desc' }
  })
}

function readWindow(given: Given, { sizes }: Vocabulary): Window | undefined {
  const own = single(given, PAGING)
  if (!own.has('_start') && !own.has('_end')) return undefined
  const offset = readCount(own, '_start', 0n, 0n)
  const size = readCount(own, '_end', 0n, offset + BigInt(sizes.pageSize)) - offset
  if (size <= 0n) throw refused('_end', 'must be larger than `_start`')
  return { offset, size: size > BigInt(sizes.maxPageSize) ? sizes.maxPageSize : Number(size) }
}
