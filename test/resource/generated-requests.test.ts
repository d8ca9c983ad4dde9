import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { JsonText } from '../../src/fields/spelling/json-text.js'
import { RouteTable } from '../../src/http/route-table.js'
import { fieldType, FIELD_TYPES } from '../../src/fields/index.js'
import { lookupsOfType } from '../../src/lookups/index.js'
import { type Api, startApi } from '../support/api.js'
import { linksOf } from '../support/links.js'

const MODEL = `version: 1
api: { prefix: "" }
models:
  item:
    table: items
    fields:
      id: { type: bigint, primary_key: true }
      name: { type: string, max: 40 }
      note: { type: text, max: 300, nullable: true }
      size: { type: integer, nullable: true }
      price: { type: decimal, precision: 6, scale: 2 }
      done: { type: boolean, nullable: true }
      day: { type: date, nullable: true }
      opens: { type: time, nullable: true }
      weight: { type: float }
`
const ORDERABLE = ['name', 'note', 'size', 'price', 'done', 'day', 'opens', 'weight']
const ORDERED = ['exact', 'ne', 'in', 'not_in', 'gt', 'gte', 'lt', 'lte', 'range', 'isnull'] as const
const TEXTUAL = [
  'exact',
  'ne',
  'in',
  'not_in',
  'contains',
  'icontains',
  'startswith',
  'istartswith',
  'endswith',
  'iexact',
  'isnull',
] as const
const LOOKUPS = {
  name: TEXTUAL,
  note: TEXTUAL,
  size: ORDERED,
  price: ORDERED,
  done: ['exact', 'ne', 'isnull'],
  day: ORDERED,
  opens: ORDERED,
  weight: ORDERED,
} as const

type Lookup = (typeof LOOKUPS)[keyof typeof LOOKUPS][number]

const resource = (name: string, pagination: string, more = '') =>
  `  ${name}: { model: item, path: /${name}/, orderable: ${JSON.stringify(ORDERABLE)}, filterable: ${JSON.stringify(LOOKUPS)}, pagination: ${pagination}${more} }\n`

/** Where nulls come in lists that say so, in either direction. */
const PLACES = { note: 'last', size: 'first', done: 'first', day: 'last' } as const
type Places = Readonly<Partial<Record<string, 'first' | 'last'>>>
const placed = `, nulls: ${JSON.stringify(PLACES)}`

const ITEMS = `${MODEL}resources:
${resource('pages', '{ style: page_number }')}${resource('windows', '{ style: limit_offset, count: exact }')}${resource('cursors', '{ style: cursor }')}${resource('all', '{ style: none }')}
${resource('placed_pages', '{ style: page_number }', placed)}${resource('placed_windows', '{ style: limit_offset }', placed)}${resource('placed_cursors', '{ style: cursor }', placed)}${resource('placed_all', '{ style: none }', placed)}${resource('placed_crud', '{ page_size: 3, max_page_size: 3 }', `${placed}, dialect: crud`)}`

/** One record, in the JSON form of each field but for the id. */
interface Item {
  readonly id: number
  readonly name: string
  readonly note: string | null
  readonly size: number | null
  readonly price: string
  readonly done: boolean | null
  readonly day: string | null
  readonly opens: string | null
  readonly weight: number
}

/** Few values, so that there are ties and matches; with what patterns, arrays and collations trip over. */
const TEXTS = [
  '',
  'a',
  'A',
  'ab',
  'B',
  'é',
  'É',
  '%',
  '_',
  '\\',
  '\\%',
  'a,b',
  'a_b',
  '"',
  "'",
  '{}',
  'NULL',
  'null',
  '\uffff',
  '\u{1F600}',
  ' ',
  'a b',
  'ß',
]
const text = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.string({ unit: fc.constantFrom(...'aAbé%_\\,"\'😀'), maxLength: 4 }),
)
const item = fc.record({
  name: text,
  note: fc.option(text),
  size: fc.option(fc.oneof(fc.integer({ min: -2, max: 2 }), fc.constantFrom(2147483647, -2147483648))),
  price: fc.integer({ min: -300, max: 300 }).map((cents) => (cents / 100).toFixed(2).replace('-0.00', '0.00')),
  done: fc.option(fc.boolean()),
  day: fc.option(fc.constantFrom('0001-01-01', '2000-01-01', '2000-01-02', '9999-12-31')),
  opens: fc.option(fc.constantFrom('00:00:00', '09:30:00', '09:30:00.25', '23:59:59.999999')),
  weight: fc.constantFrom(0, 0.1, 0.2, 0.3, -1e-300, 1e300, 5e-324, 3),
})
const items = fc.array(item, { maxLength: 12 }).chain((rows) =>
  fc
    .shuffledSubarray(
      rows.map((_, index) => index + 1),
      { minLength: rows.length },
    )
    .map((ids) => rows.map((row, index): Item => ({ id: ids[index] ?? 0, ...row }))),
)

let api: Api
beforeAll(async () => {
  api = await startApi(ITEMS)
})
afterAll(() => api.close())

const store = async (rows: readonly Item[]) => {
  await api.database.query({ text: 'truncate items', values: [] })
  await api.database.query({
    text: `insert into items (id, name, note, size, price, done, day, opens, weight) overriding system value
      select * from jsonb_to_recordset($1) as r(id bigint, name text, note text, size integer, price numeric, done boolean, day date, opens time, weight double precision)`,
    values: [JSON.stringify(rows)],
  })
}

interface Page {
  readonly ids: readonly number[]
  readonly links: Readonly<Record<string, string>>
}

const read = async (path: string): Promise<Page> => {
  const response = await api.fetch(path)
  const rows = (await response.json()) as Item[]
  expect([path, response.status]).toEqual([path, 200])
  return { ids: rows.map(({ id }) => id), links: linksOf(response) }
}

const follow = async (from: string, rel: 'next' | 'prev'): Promise<readonly Page[]> => {
  const pages: Page[] = []
  for (let path: string | undefined = from; path !== undefined; path = pages.at(-1)?.links[rel]) {
    pages.push(await read(path))
    expect(pages.length).toBeLessThan(50)
  }
  return pages
}

type Value = Item[keyof Item]

/** PostgreSQL's order: text by code point, decimals by value, null after everything. */
const compareValues = (field: string, one: Value, other: Value): number => {
  if (one === null || other === null) return Number(one === null) - Number(other === null)
  if (field === 'price') return Number(one) - Number(other)
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other))
  return one === other ? 0 : one < other ? -1 : 1
}

/** How two values stand in an order that runs up (1) or down (-1). */
const compareInOrder = (field: string, sign: number, [one, other]: readonly [Value, Value], places: Places): number => {
  const place = places[field]
  if (place === undefined || (one !== null && other !== null)) return sign * compareValues(field, one, other)
  const nullsLast = Number(one === null) - Number(other === null)
  return place === 'last' ? nullsLast : -nullsLast
}

const sorted = (rows: readonly Item[], ordering: readonly string[], places: Places = {}): readonly number[] => {
  const last = ordering.at(-1)?.startsWith('-') ? '-id' : 'id'
  const terms = [...ordering, last].map((term) => ({
    field: term.replace('-', '') as keyof Item,
    sign: term.startsWith('-') ? -1 : 1,
  }))
  const compare = (one: Item, other: Item) =>
    terms.reduce((sum, { field, sign }) => sum || compareInOrder(field, sign, [one[field], other[field]], places), 0)
  return rows.toSorted(compare).map(({ id }) => id)
}

const ordering = fc
  .subarray(ORDERABLE, { maxLength: 3 })
  .chain((fields) =>
    fc.tuple(
      fc.shuffledSubarray(fields, { minLength: fields.length }),
      fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
    ),
  )
  .map(([fields, down]) => fields.map((field, index) => (down[index] ? `-${field}` : field)))

describe('pages', () => {
  test.each([
    ['pages', 'page_size'],
    ['windows', 'limit'],
    ['cursors', 'page_size'],
  ])('of %s partition the table in every order, forwards and backwards', async (name, size) => {
    const property = fc.asyncProperty(items, ordering, fc.integer({ min: 1, max: 5 }), async (rows, terms, count) => {
      await store(rows)
      const order = terms.length > 0 ? `&ordering=${terms.join(',')}` : ''
      const pages = await follow(`/${name}/?${size}=${count}${order}`, 'next')
      expect(pages.flatMap(({ ids }) => ids)).toEqual(sorted(rows, terms))
      for (const { ids } of pages.slice(0, -1)) expect(ids).toHaveLength(count)
      const last = pages.length > 1 ? pages.at(-2)?.links['next'] : undefined
      if (last === undefined) return
      const back = await follow(last, 'prev')
      expect(back.map(({ ids }) => ids)).toEqual(pages.map(({ ids }) => ids).toReversed())
    })
    await fc.assert(property, { numRuns: 15 })
  })
})

describe('with positions for nulls, pages', () => {
  test.each([
    ['placed_pages', 'page_size', (page: number, count: number) => `page=${page + 1}&page_size=${count}`],
    ['placed_windows', 'limit', (page: number, count: number) => `limit=${count}&offset=${page * count}`],
    ['placed_cursors', 'page_size', undefined],
  ])(
    'of %s contain each record once, by links and by numbers, forwards and backwards, with filters and without',
    async (name, size, numbered) => {
      const filter = fc.constantFrom('', '&size__gt=-2', '&size__isnull=true', '&note__ne=a', '&day=2000-01-01')
      const property = fc.asyncProperty(
        items,
        ordering,
        fc.integer({ min: 1, max: 5 }),
        filter,
        async (rows, terms, count, where) => {
          await store(rows)
          const order = terms.length > 0 ? `&ordering=${terms.join(',')}` : ''
          const { ids: found } = await read(`/all/?${where}`)
          const kept = rows.filter(({ id }) => found.includes(id))
          const wanted = sorted(kept, terms, PLACES)
          expect((await read(`/placed_all/?${order}${where}`)).ids).toEqual(wanted)
          const pages = await follow(`/${name}/?${size}=${count}${order}${where}`, 'next')
          expect(pages.flatMap(({ ids }) => ids)).toEqual(wanted)
          for (const { ids } of pages.slice(0, -1)) expect(ids).toHaveLength(count)
          for (const page of numbered ? pages.keys() : []) {
            const { ids } = await read(`/${name}/?${numbered?.(page, count)}${order}${where}`)
            expect(ids).toEqual(wanted.slice(page * count, (page + 1) * count))
          }
          const last = pages.length > 1 ? pages.at(-2)?.links['next'] : undefined
          if (last === undefined) return
          const back = await follow(last, 'prev')
          expect(back.map(({ ids }) => ids)).toEqual(pages.map(({ ids }) => ids).toReversed())
        },
      )
      await fc.assert(property, { numRuns: 15 })
    },
  )

  test('of a dialect contain each record once, in several pieces', async () => {
    const property = fc.asyncProperty(items, fc.constantFrom(...ORDERABLE), fc.boolean(), async (rows, field, down) => {
      await store(rows)
      const response = await api.fetch(`/placed_crud/?sort=${field},${down ? 'DESC' : 'ASC'}`)
      const all = (await response.json()) as readonly Item[]
      expect(all.map(({ id }) => id)).toEqual(sorted(rows, [down ? `-${field}` : field], PLACES))
    })
    await fc.assert(property, { numRuns: 15 })
  })
})

describe('filters', () => {
  /** What PostgreSQL folds under the collation C: letters of ASCII. */
  const fold = (value: string) => value.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  /** Whether a value matches a lookup with one operand. */
  const HOLDS: Readonly<
    Record<
      Exclude<Lookup, ManyLookup>,
      (field: string, value: Exclude<Value, null>, wanted: Exclude<Value, null>) => boolean
    >
  > = {
    exact: (field, value, wanted) => compareValues(field, value, wanted) === 0,
    ne: (field, value, wanted) => compareValues(field, value, wanted) !== 0,
    gt: (field, value, wanted) => compareValues(field, value, wanted) > 0,
    gte: (field, value, wanted) => compareValues(field, value, wanted) >= 0,
    lt: (field, value, wanted) => compareValues(field, value, wanted) < 0,
    lte: (field, value, wanted) => compareValues(field, value, wanted) <= 0,
    contains: (_field, value, wanted) => String(value).includes(String(wanted)),
    icontains: (_field, value, wanted) => fold(String(value)).includes(fold(String(wanted))),
    startswith: (_field, value, wanted) => String(value).startsWith(String(wanted)),
    istartswith: (_field, value, wanted) => fold(String(value)).startsWith(fold(String(wanted))),
    endswith: (_field, value, wanted) => String(value).endsWith(String(wanted)),
    iexact: (_field, value, wanted) => fold(String(value)) === fold(String(wanted)),
    isnull: () => false,
  }

  /** The same for lookups with several operands. */
  type ManyLookup = 'in' | 'not_in' | 'range'
  const HOLDS_MANY: Readonly<
    Record<ManyLookup, (field: string, value: Exclude<Value, null>, wanted: readonly Exclude<Value, null>[]) => boolean>
  > = {
    in: (field, value, wanted) => wanted.some((each) => compareValues(field, value, each) === 0),
    not_in: (field, value, wanted) => wanted.every((each) => compareValues(field, value, each) !== 0),
    range: (field, value, [first, last]) =>
      compareValues(field, first ?? null, value) <= 0 && compareValues(field, value, last ?? null) <= 0,
  }
  const takesMany = (lookup: Lookup): lookup is ManyLookup => lookup in HOLDS_MANY

  test.each(Object.entries(LOOKUPS))('are tried with every lookup that %s offers', (field, lookups) => {
    const [, name = ''] = new RegExp(`^ {6}${field}: \\{ type: (\\w+)`, 'm').exec(MODEL) ?? []
    const type = fieldType(name)
    if (!type) throw new Error(`no type ${name}`)
    const offered = lookupsOfType(type).map((lookup) => lookup.name)
    expect(lookups.toSorted()).toEqual(offered.toSorted())
  })

  interface Condition {
    readonly field: keyof typeof LOOKUPS
    readonly lookup: Lookup
    readonly wanted: readonly Exclude<Value, null>[]
    readonly isNull: boolean
  }

  const condition = fc.constantFrom(...(Object.keys(LOOKUPS) as (keyof typeof LOOKUPS)[])).chain((field) =>
    fc.record({
      field: fc.constant(field),
      lookup: fc.constantFrom<Lookup>(...LOOKUPS[field]),
      wanted: fc.array(
        item.map((row) => row[field]).filter((value) => value !== null),
        { minLength: 1, maxLength: 4 },
      ),
      isNull: fc.boolean(),
    }),
  )

  /** A range has two ends, which may be the same, or the wrong way round. */
  const operandsOf = (lookup: ManyLookup, wanted: Condition['wanted']): Condition['wanted'] =>
    lookup === 'range' ? [wanted[0], wanted[1] ?? wanted[0]].filter((value) => value !== undefined) : wanted

  const format = ({ field, lookup, wanted, isNull }: Condition): [string, string] => {
    const values = takesMany(lookup)
      ? operandsOf(lookup, wanted).map((value) => String(value).replaceAll(/[\\,]/g, '\\$&'))
      : [String(wanted[0])]
    return [lookup === 'exact' ? field : `${field}__${lookup}`, lookup === 'isnull' ? String(isNull) : values.join(',')]
  }

  const holds = ({ field, lookup, wanted, isNull }: Condition, row: Item): boolean => {
    const value = row[field]
    if (lookup === 'isnull') return (value === null) === isNull
    if (value === null) return lookup === 'ne' || lookup === 'not_in'
    if (takesMany(lookup)) return HOLDS_MANY[lookup](field, value, operandsOf(lookup, wanted))
    return wanted.slice(0, 1).every((each) => HOLDS[lookup](field, value, each))
  }

  test('find the same records as a model of them', async () => {
    const few = fc.uniqueArray(condition, { minLength: 1, maxLength: 2, selector: (each) => format(each)[0] })
    const property = fc.asyncProperty(items, fc.array(few, { minLength: 6, maxLength: 6 }), async (rows, requests) => {
      await store(rows)
      for (const conditions of requests) {
        const { ids } = await read(`/all/?${new URLSearchParams(conditions.map(format))}`)
        const expected = rows.filter((row) => conditions.every((each) => holds(each, row)))
        expect([conditions, ids]).toEqual([conditions, sorted(expected, [])])
      }
    })
    await fc.assert(property, { numRuns: 25 })
  })
})

describe('bodies', () => {
  const OPTIONS: Readonly<Record<string, object>> = {
    string: { min: 1, max: 3 },
    text: { min: 2, pattern: '^[^x]*$' },
    integer: { minimum: -5, maximum: 2147483647 },
    bigint: { minimum: '-9007199254740993' },
    decimal: { precision: 4, scale: 2, minimum: '-9.99', maximum: '50' },
    float: { minimum: -1e300 },
    char: { length: 10 },
    array: { items: { type: 'integer', nullable: true }, max: 3 },
    choice: { choices: ['a', 'b', "it's", '\\'] },
  }
  // No body can set an opaque field.
  const TYPES = FIELD_TYPES.filter(({ name }) => name !== 'belongs_to' && name !== 'opaque')
  const yaml = [
    'version: 1',
    'api: { prefix: "" }',
    'models:',
    '  thing:',
    '    fields:',
    '      id: { type: bigint, primary_key: true }',
    ...TYPES.map(({ name }) => `      ${name}: ${JSON.stringify({ type: name, nullable: true, ...OPTIONS[name] })}`),
    'resources:',
    '  thing: { model: thing, path: /things/ }',
    '',
  ].join('\n')
  let things: Api
  beforeAll(async () => {
    things = await startApi(yaml)
    expect((await things.send('POST', '/things/', {})).status).toBe(201)
  })
  afterAll(() => things.close())

  const digits = fc
    .tuple(
      fc.constantFrom('', '-'),
      fc.constantFrom(
        '0',
        '1',
        '5',
        '9.99',
        '50',
        '50.01',
        '0.1',
        '99.99',
        '2147483647',
        '2147483648',
        '9007199254740993',
        '9007199254740994',
        '9223372036854775807',
        '9223372036854775808',
        '1.7976931348623157',
        '4.9',
        '123456789012345678901234567890',
      ),
    )
    .map((parts) => parts.join(''))
  const number = fc
    .tuple(
      digits,
      fc.constantFrom(
        '',
        '',
        '',
        'e0',
        'e2',
        'E-2',
        'e18',
        'e300',
        'e308',
        'e309',
        'e-324',
        'e-400',
        'e1000',
        'e99999',
      ),
    )
    .map((parts) => parts.join(''))
  const quoted = fc.oneof(
    fc.constantFrom(
      'a',
      'b',
      "it's",
      '\\',
      '',
      'x',
      'ab',
      'abcd',
      '\u0000',
      '\ud800',
      '😀😀😀',
      '😀😀😀😀',
      'a\u0301\u0301',
      '2024-02-29',
      '2023-02-29',
      '0001-01-01',
      '0000-12-31',
      '9999-12-31',
      '10000-01-01',
      '9999-12-31T23:59:59.999999Z',
      '9999-12-31T23:59:59.9999999Z',
      '9999-12-31T23:59:59-00:01',
      '0001-01-01T00:00:00+00:01',
      '2024-06-30T23:59:60Z',
      '2024-01-01T24:00:00Z',
      '2024-01-01t00:00:00z',
      '2024-01-01T00:00:00+14:00',
      '09:30:00',
      '23:59:59.999999',
      '23:59:59.9999999',
      '23:59:60',
      '24:00:00',
      '09:30:00Z',
      'NaN',
      'Infinity',
      '-0',
      '-0.00',
      '0190163D-8694-739B-AEA5-966C26F8AD91',
      '{0190163D-8694-739B-AEA5-966C26F8AD91}',
      '١',
    ),
    digits,
    fc.string({ unit: 'binary', maxLength: 5 }),
  )
  const strings = quoted.map((value) => JSON.stringify(value))
  const source = fc.oneof(
    { weight: 3, arbitrary: number },
    { weight: 4, arbitrary: strings },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'true',
        'false',
        'null',
        '[]',
        '{}',
        '[null]',
        '{"a":{"b":[1,2.50,1e3]}}',
        '{"\\u0000":1}',
        '["\\udc00"]',
        '{"":0}',
      ),
    },
    {
      weight: 1,
      arbitrary: fc.json({ maxDepth: 3 }).filter((json) => !/"(?:__proto__|constructor|prototype)"/.test(json)),
    },
    { weight: 1, arbitrary: fc.array(number, { maxLength: 3 }).map((numbers) => `[${numbers.join(', ')}]`) },
  )

  /** The exact text of a member of an answer, whose members are those of the model. */
  const memberOf = (document: string, name: string): string => {
    const names = ['id', ...TYPES.map((type) => type.name)]
    const next = names[names.indexOf(name) + 1]
    return document.slice(
      document.indexOf(`"${name}":`) + name.length + 3,
      next === undefined ? -1 : document.lastIndexOf(`,"${next}":`),
    )
  }

  /** A valid value for each type with its options, so that a run also tries accepted values. */
  const TAKEN: Readonly<Record<string, string>> = {
    string: '"a😀"',
    text: '"a\\n\\u0001"',
    integer: '1e3',
    bigint: '9007199254740993',
    decimal: '"-0.5"',
    float: '1e-7',
    boolean: 'false',
    date: '"2024-02-29"',
    time: '"09:30:00.250"',
    timestamp: '"2024-02-29T12:00:00.5+14:00"',
    uuid: '"0190163D-8694-739B-AEA5-966C26F8AD91"',
    char: '"DE"',
    binary: '"+/8="',
    interval: '"P1W"',
    inet: '"2001:DB8::1"',
    cidr: '"10.0.0.0/8"',
    array: '[1, 2147483647, null]',
    choice: '"\\\\"',
    email: '"ada+books@example.org"',
    url: '"https://example.org/a%20b?c=d#e"',
    json: '{"b":[1.50,"\\ud83d\\ude00"],"a":null}',
  }
  const change = fc
    .constantFrom(...TYPES.map(({ name }) => name))
    .chain((name) =>
      fc.tuple(
        fc.constant(name),
        fc.oneof({ weight: 4, arbitrary: source }, { weight: 1, arbitrary: fc.constant(TAKEN[name] ?? 'null') }),
      ),
    )

  /** Zero has no sign in jsonb, and none in the text that JavaScript makes. */
  const comparable = (value: unknown): unknown =>
    value instanceof JsonText ? JSON.parse(JSON.stringify(value.value)) : value

  /** RFC 7396: an object in a patch is merged into the stored value. */
  const merged = (stored: unknown, patch: unknown): unknown => {
    if (!isObject(patch)) return patch
    const result = new Map(isObject(stored) ? Object.entries(stored) : [])
    for (const [key, value] of Object.entries(patch)) {
      if (value === null) result.delete(key)
      else result.set(key, merged(result.get(key), value))
    }
    return Object.fromEntries(result)
  }
  const isObject = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value)

  test('round-trip if accepted, and change nothing if rejected', async () => {
    const accepted = new Set<string>()
    const property = fc.asyncProperty(change, async ([name, json]) => {
      const type = fieldType(name)
      if (!type) throw new Error(`no type ${name}`)
      // Read again, because shrinking reruns a failed run.
      const before = await (await things.fetch('/things/1/')).text()
      const response = await things.fetch('/things/1/', {
        method: 'PATCH',
        headers: { 'content-type': 'application/json' },
        body: `{"${name}":${json}}`,
      })
      const document = await response.text()
      expect([200, 400]).toContain(response.status)
      const after = await (await things.fetch('/things/1/')).text()
      if (response.status === 400)
        expect([JSON.parse(document), after]).toMatchObject([{ errors: { [name]: expect.any(String) } }, before])
      else {
        expect(after).toBe(document)
        const answered = memberOf(after, name)
        const options = OPTIONS[name] ?? {}
        if (json === 'null') expect(answered).toBe('null')
        else {
          const [sent, received] = [json, answered].map((each) =>
            comparable(type.fromJson(JSON.parse(each), each, options)),
          )
          expect(received).toEqual(name === 'json' ? merged(JSON.parse(memberOf(before, name)), sent) : sent)
          accepted.add(name)
        }
        expect(after.replace(`"${name}":${answered}`, '')).toBe(
          before.replace(`"${name}":${memberOf(before, name)}`, ''),
        )
      }
    })
    await fc.assert(property, { numRuns: 20 * TYPES.length })
    // A type that accepts none of 20 values would not be tested.
    expect(TYPES.filter(({ name }) => !accepted.has(name)).length).toBeLessThan(3)
  })
})

describe('routes', () => {
  const PARAMETERS = ['x', 'y', 'z']
  const segment = fc.oneof(
    fc.constantFrom('a', 'b', 'c', 'a.b'),
    fc.constantFrom(...PARAMETERS.map((name) => `{${name}}`)),
  )
  const path = fc
    .array(segment, { maxLength: 4 })
    .filter(
      (segments) =>
        new Set(segments.filter((each) => each.startsWith('{'))).size ===
        segments.filter((each) => each.startsWith('{')).length,
    )
  const route = fc.record({
    name: fc.constantFrom('n1', 'n2', 'n3', 'n4', 'n5', 'n6'),
    method: fc.constantFrom('GET', 'PUT', 'DELETE'),
    segments: path,
  })
  type Route = typeof route extends fc.Arbitrary<infer Each> ? Each : never

  const toPath = (segments: readonly string[]) => `/${segments.map((each) => `${each}/`).join('')}`
  const isParameter = (each: string) => each.startsWith('{')
  const shapeOf = (segments: readonly string[]) => segments.map((each) => (isParameter(each) ? '{}' : each)).join('/')

  /** The table of those routes that it takes, and the routes. It must take each that clashes with none before. */
  const fill = (wanted: readonly Route[]) => {
    const table = new RouteTable()
    const taken: Route[] = []
    for (const each of wanted) {
      const clashes = taken.some(
        ({ name, method, segments }) =>
          (name === each.name && toPath(segments) !== toPath(each.segments)) ||
          (method === each.method && shapeOf(segments) === shapeOf(each.segments)),
      )
      const add = () =>
        table.add({
          name: each.name,
          method: each.method,
          path: toPath(each.segments),
          handle: () => ({ status: 204 }),
          source: 'test',
        })
      if (clashes) expect(add).toThrow(/two/)
      else {
        add()
        taken.push(each)
      }
    }
    return { table, taken }
  }

  const routes = fc.array(route, { maxLength: 10 }).map(fill)
  const value = fc.oneof(
    fc.constantFrom('a', 'b', '1', '.', '..', '', '%', '/', '?', '#', 'a/b', '{x}', ' ', 'é', '😀', '\ud800', 'a.b'),
    fc.string(),
    fc.integer(),
    fc.bigInt(),
  )

  test('can be reversed and matched again', () => {
    const property = fc.property(routes, fc.record({ x: value, y: value, z: value }), ({ table, taken }, values) => {
      for (const { name, method, segments } of taken) {
        const wanted = segments.filter(isParameter).map((each) => each.slice(1, -1) as 'x' | 'y' | 'z')
        const params = Object.fromEntries(wanted.map((each) => [each, values[each]]))
        const url = table.reverse(name, params)
        const texts = Object.values(params).map(String)
        if (url === undefined) {
          const impossible = texts.some((each) => ['', '.', '..'].includes(each) || !each.isWellFormed())
          const literal = texts.some((each) => ['a', 'b', 'c', 'a.b'].includes(each))
          expect([segments, texts, impossible || literal]).toEqual([segments, texts, true])
          continue
        }
        for (const spelling of url === '/' ? [url] : [url, url.slice(0, -1)]) {
          const match = table.match(method, spelling)
          if (!match || !('route' in match)) throw new Error(`${spelling} leads nowhere`)
          const decoded = Object.entries(match.params).map(([key, each]) => [key, decodeURIComponent(each)])
          expect([match.route.name, Object.fromEntries(decoded)]).toEqual([
            name,
            Object.fromEntries(Object.entries(params).map(([key, each]) => [key, String(each)])),
          ])
        }
        expect(table.match(method, `${url}/`)).toBeUndefined()
        expect(table.reverse(name, { ...params, more: 1 })).toBeUndefined()
        if (wanted[0] !== undefined) expect(table.reverse(name, { ...params, [wanted[0]]: '' })).toBeUndefined()
      }
    })
    fc.assert(property, { numRuns: 100 })
  })

  test('prefer a literal segment to a parameter, from left to right, regardless of the order of registration', () => {
    const asked = fc.array(fc.constantFrom('a', 'b', 'c', 'a.b', 'q'), { maxLength: 4 })
    const property = fc.property(
      routes,
      asked,
      fc.constantFrom('GET', 'PUT', 'DELETE'),
      ({ table, taken }, given, method) => {
        const fits = taken.filter(
          ({ segments }) =>
            segments.length === given.length &&
            segments.every((each, index) => isParameter(each) || each === given[index]),
        )
        const rank = ({ segments }: Route) => segments.map((each) => Number(isParameter(each))).join('')
        const [best] = fits.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1))
        const match = table.match(method, toPath(given))
        if (!best) {
          expect(match).toBeUndefined()
          return
        }
        const there = fits.filter((each) => rank(each) === rank(best))
        const chosen = there.find((each) => each.method === method)
        if (!match) throw new Error(`${toPath(given)} leads nowhere`)
        if (!chosen)
          expect('allow' in match && match.allow.toSorted()).toEqual(there.map((each) => each.method).toSorted())
        else expect('route' in match && [match.route.name, match.route.method]).toEqual([chosen.name, method])
      },
    )
    fc.assert(property, { numRuns: 100 })
  })

  test('never repeat a parameter in a path', () => {
    const table = new RouteTable()
    const add = () =>
      table.add({ name: 'twice', method: 'GET', path: '/a/{x}/{x}/', handle: () => ({ status: 204 }), source: 'test' })
    expect(add).toThrow('the path /a/{x}/{x}/ of the route `twice` has a parameter twice')
  })
})
