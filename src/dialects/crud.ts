import { labelOf } from '../fields/default-label.js'
import type { Lookup } from '../lookups/lookup.js'
import type { Json } from '../foundation/json.js'
import { contains } from '../lookups/contains.js'
import { exact } from '../lookups/exact.js'
import { gt } from '../lookups/gt.js'
import { gte } from '../lookups/gte.js'
import { icontains } from '../lookups/icontains.js'
import { isIn } from '../lookups/in.js'
import { isnull } from '../lookups/isnull.js'
import { istartswith } from '../lookups/istartswith.js'
import { lt } from '../lookups/lt.js'
import { lte } from '../lookups/lte.js'
import { ne } from '../lookups/ne.js'
import { startswith } from '../lookups/startswith.js'
import { CURSOR } from '../pagination/cursor.js'
import { describeCount, readCount } from '../pagination/paginator.js'
import type { FieldError } from '../foundation/problem.js'
import { COUNT, estimable, objectOf, textParameter } from './description.js'
import type { Comparison, Dialect, QueryParameters, Sorting, Vocabulary, Window } from './dialect.js'
import { comparisons, describeRows, readJson, readMembers, readRows, rejected, single, textOf } from './parameters.js'

const PAGING = ['limit', 'offset', 'page', 'cursor']
const OWN = ['s', 'filter', 'sort']

/** The operators after `$`. */
const OPERATORS: ReadonlyMap<string, readonly Lookup[]> = new Map([
  ['$eq', [exact]],
  ['$ne', [ne]],
  ['$in', [isIn]],
  ['$gt', [gt]],
  ['$gte', [gte]],
  ['$lt', [lt]],
  ['$lte', [lte]],
  ['$cont', [contains]],
  ['$contL', [icontains]],
  ['$starts', [startswith]],
  ['$startsL', [istartswith]],
  ['$isnull', [isnull]],
  ['$notnull', [isnull]],
])

export const crud: Dialect = {
  name: 'crud',
  summary: 'Conditions in `s`, pages by `limit` and `page` in an object with `data` and `total`, as in @nestjsx/crud.',
  paging: PAGING,
  unpaged: 'everything',
  parameters: OWN,
  read: (given, words) => ({
    comparisons: [
      ...comparisons(given, [...PAGING, ...OWN], () => ({ field: '', lookups: [] })),
      ...readSearch(single(given, ['s']).get('s')),
      ...(given.get('filter') ?? []).map(readFilter),
    ],
    sorting: given.get('sort')?.map(readSort),
    window: readWindow(given, words),
  }),
  format: ({ offset, size }) => ({ limit: String(size), offset: String(offset) }),
  frame({ window: { offset, size }, paged, length, total, estimated }) {
    if (!paged) return {}
    const page = `"page":${offset / BigInt(size) + 1n},"pageCount":${Math.ceil(total / size)}`
    return {
      before: '{"data":',
      after: `,"count":${length},"total":${total}${estimated ? ',"total_estimated":true' : ''},${page}}`,
    }
  },
  describe: (sizes) => ({
    parameters: [
      describeRows('limit', sizes),
      describeCount('offset', 'The number of records before the page; with `page`, it must mean the same page.', 0),
      describeCount('page', 'The number of the page.', 1),
      CURSOR,
      textParameter('s', 'Conditions: `{"pages":{"$gte":100}}`.'),
      textParameter('filter', 'One condition, `status||$eq||draft`; several are `filter[0]`, `filter[1]`.'),
      textParameter('sort', 'A field and an order, `title,DESC`; several are `sort[0]`, `sort[1]`.'),
    ],
    frame: (data) => ({
      anyOf: [data, estimable(objectOf({ data, count: COUNT, total: COUNT, page: COUNT, pageCount: COUNT }), 'total')],
    }),
  }),
  bulk: 'bulk',
  put: 'merge',
  destroyed: 'record',
  bare: true,
  rejection: ({ title, status, message, errors }) => ({
    statusCode: status,
    error: title,
    message: errors.length === 0 ? [message] : errors.map(afterItsField),
  }),
  rejectionSchema: objectOf({
    statusCode: { type: 'integer', minimum: 400, maximum: 599 },
    error: { type: 'string' },
    message: { type: 'array', items: { type: 'string' }, minItems: 1 },
  }),
}

/** Clients show a message under the field that is its first word. In a bulk request, the index of the record precedes it. */
function afterItsField({ field, message }: FieldError): string {
  const name = field.slice(field.lastIndexOf('.') + 1)
  const label = labelOf(name)
  return message.startsWith(`${label} `) ? field + message.slice(label.length) : `${field} ${message}`
}

/** `{"$and":[{"status":{"$eq":"draft"}},{"id":{"$in":[1,2]}}]}` */
function readSearch(text: string | undefined): readonly Comparison[] {
  return text === undefined ? [] : readConditions(readJson('s', text), 0)
}

const MAX_DEPTH = 8

function readConditions(json: Json | undefined, depth: number): readonly Comparison[] {
  if (depth > MAX_DEPTH) throw rejected('s', `is nested deeper than ${MAX_DEPTH} levels`)
  return readMembers('s', json).flatMap(([name, value]) => {
    if (name === '$or') throw rejected('s', 'has an `$or`; a list joins its conditions by `$and` only')
    if (name !== '$and') return readMember(name, value)
    if (!Array.isArray(value)) throw rejected('s', 'has an `$and` that is not a list')
    return (value as readonly Json[]).flatMap((each) => readConditions(each, depth + 1))
  })
}

function readMember(field: string, value: Json): readonly Comparison[] {
  if (value === null) return [compare(field, '$isnull', [true])]
  if (typeof value !== 'object') return [compare(field, '$eq', [value])]
  if (Array.isArray(value))
    throw rejected(`s.${field}`, 'must be a value, or an object of comparisons such as `{"$in":[1,2]}`')
  return readMembers(`s.${field}`, value).flatMap(([operator, operand]) => {
    const values = Array.isArray(operand) ? (operand as readonly Json[]) : [operand]
    if (operator !== '$between') return [compare(field, operator, values)]
    if (values.length !== 2) throw rejected(`s.${field}.$between`, 'must have two values')
    return [compare(field, '$gte', values.slice(0, 1)), compare(field, '$lte', values.slice(1))]
  })
}

/** `status||$eq||draft`; the values of `$in` are separated by commas. */
function readFilter(text: string): Comparison {
  const [field = '', operator = '', ...rest] = text.split('||')
  const operand = rest.join('||')
  return compare(field, operator, operator === '$in' ? operand.split(',') : [operand])
}

function compare(field: string, operator: string, operands: readonly Json[]): Comparison {
  const parameter = `${field}.${operator}`
  const lookups = OPERATORS.get(operator)
  if (lookups === undefined)
    throw rejected(parameter, `is not a known comparison; known comparisons are ${[...OPERATORS.keys()].join(', ')}`)
  if (operator === '$isnull' || operator === '$notnull')
    return { parameter, field, lookups, values: [String(readFlag(parameter, operands) === (operator === '$isnull'))] }
  const values = operands.map(textOf)
  if (values.includes(undefined)) throw rejected(parameter, 'must be text, a number, true or false')
  return { parameter, field, lookups, values: values.flatMap((value) => value ?? []) }
}

/** `{"$isnull":true}`, or the empty value of `status||$isnull`. */
function readFlag(parameter: string, operands: readonly Json[]): boolean {
  const [text] = operands.length === 1 ? operands.map(String) : []
  if (text !== '' && text !== 'true' && text !== 'false') throw rejected(parameter, 'takes true or false')
  return text !== 'false'
}

/** `title,DESC` */
function readSort(text: string): Sorting {
  const [field = '', order = 'ASC', ...others] = text.split(',')
  const direction = order.toUpperCase()
  if (others.length > 0 || (direction !== 'ASC' && direction !== 'DESC'))
    throw rejected('sort', 'must be a field and an order, such as title,DESC')
  return { field, descending: direction === 'DESC' }
}

/** Without a limit or a page, `offset` skips rows of the whole list. */
function readWindow(given: QueryParameters, { sizes }: Vocabulary): Window | undefined {
  const own = single(given, PAGING)
  if (!own.has('limit') && !own.has('page'))
    return own.has('offset') ? { offset: readCount(own, 'offset', 0n, 0n), size: undefined } : undefined
  const size = readRows(own, 'limit', sizes.pageSize)
  const before = (readCount(own, 'page', 1n, 1n) - 1n) * BigInt(size)
  const offset = readCount(own, 'offset', 0n, before)
  // Some clients send both for the same page.
  if (own.has('page') && offset !== before)
    throw rejected('offset', `contradicts \`page\`, which starts after ${before} records`)
  return { offset, size }
}
