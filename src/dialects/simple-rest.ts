import type { Json } from '../foundation/json.js'
import { isnull } from '../lookups/isnull.js'
import { CURSOR } from '../pagination/cursor.js'
import { textParameter } from './description.js'
import type { Comparison, Dialect, Listed, Sorting, Vocabulary, Window } from './dialect.js'
import { byLookup, comparisons, readJson, readMembers, rejected, single, textOf, toSize } from './parameters.js'

const PAGING = ['range', 'cursor']
const OWN = [...PAGING, 'sort', 'filter']
const SEARCH = 'q'
const ROW_NUMBER = /^(?:0|[1-9][0-9]{0,30})$/

export const simpleRest: Dialect = {
  name: 'simple-rest',
  summary:
    'Lists are arrays, requested with `range=[0,9]` and described by `Content-Range`, as in the simple REST client of react-admin.',
  paging: PAGING,
  unpaged: 'everything',
  parameters: ['sort', 'filter'],
  search: SEARCH,
  read(given, words) {
    const own = single(given, OWN)
    const filter = readMembers('filter', readJson('filter', own.get('filter') ?? '{}'))
    const isSearch = ([name]: readonly [string, Json]) => words.searches && name === SEARCH
    return {
      comparisons: [
        // Any other parameter becomes a comparison without a lookup, so that the error names it.
        ...comparisons(given, OWN, () => ({ field: '', lookups: [] })),
        ...readFilter(
          filter.filter((member) => !isSearch(member)),
          words,
        ),
      ],
      search: readSearch(filter.find(isSearch)),
      sorting: readSort(own.get('sort')),
      window: readRange(own.get('range')),
    }
  },
  format: ({ offset, size }) => ({ range: encodeURIComponent(`[${offset},${offset + BigInt(size) - 1n}]`) }),
  frame: (list) => ({ headers: { 'Content-Range': contentRange(list) } }),
  describe: () => ({
    parameters: [
      textParameter(
        'range',
        'The numbers of the first and the last row, from 0: `[0,9]`. Without it, all rows are returned.',
      ),
      CURSOR,
      textParameter('sort', 'A field and an order: `["title","DESC"]`.'),
      textParameter('filter', 'Values by field; a list holds alternatives: `{"id":[1,2]}`.'),
    ],
    headers: ['Content-Range'],
  }),
  put: 'merge',
  destroyed: 'record',
  bare: true,
}

type Members = ReturnType<typeof readMembers>

function readSearch(member: Members[number] | undefined): string | undefined {
  if (member === undefined) return undefined
  const text = textOf(member[1])
  if (text === undefined) throw rejected(`filter.${SEARCH}`, 'must be text')
  return text
}

function readFilter(members: Members, words: Vocabulary): readonly Comparison[] {
  return members.map(([name, json]) => {
    const parameter = `filter.${name}`
    // null selects records without a value.
    if (json === null) return { parameter, field: name, lookups: [isnull], values: ['true'] }
    const values = (Array.isArray(json) ? (json as readonly Json[]) : [json]).map(textOf)
    if (values.includes(undefined))
      throw rejected(parameter, 'must be null, text, a number, true or false, or a list of values other than null')
    return { parameter, ...byLookup(name, words), values: values.flatMap((value) => value ?? []) }
  })
}

/** `["title","DESC"]` */
function readSort(text: string | undefined): readonly Sorting[] | undefined {
  if (text === undefined) return undefined
  const json = readJson('sort', text)
  const [field, order, ...others] = Array.isArray(json) ? (json as readonly Json[]).map(textOf) : []
  const direction = order?.toUpperCase()
  if (field === undefined || others.length > 0 || (direction !== 'ASC' && direction !== 'DESC'))
    throw rejected('sort', 'must be a field and an order, such as ["title","DESC"]')
  return [{ field, descending: direction === 'DESC' }]
}

/** `[0,9]`: the first and the last row. */
function readRange(text: string | undefined): Window | undefined {
  if (text === undefined) return undefined
  const json = readJson('range', text)
  const [first, last, ...others] = Array.isArray(json) ? (json as readonly Json[]).map(textOf) : []
  const isRange =
    first !== undefined && last !== undefined && others.length === 0 && ROW_NUMBER.test(first) && ROW_NUMBER.test(last)
  if (!isRange || BigInt(last) < BigInt(first))
    throw rejected('range', 'must be the numbers of the first and the last row, such as [0,9]')
  return { offset: BigInt(first), size: toSize(BigInt(last) - BigInt(first) + 1n) }
}

function contentRange({ unit, window: { offset }, length, total }: Listed): string {
  const rows = length === 0 ? '*' : `${offset}-${offset + BigInt(length) - 1n}`
  return `${unit} ${rows}/${total}`
}
