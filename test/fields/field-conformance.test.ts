import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { fail } from '../../src/foundation/fail.js'
import { formatCell } from '../../src/fields/cell.js'
import type { Example, FieldType } from '../../src/fields/field-type.js'
import type { Json } from '../../src/index.js'
import { FIELD_TYPES } from '../../src/internal.js'
import { lookupsOfType } from '../../src/lookups/index.js'
import { type Api, startApi } from '../support/api.js'
import { mistakesOf } from '../support/config.js'

interface Model {
  readonly name: string
  /** After `value:`; flow YAML, which JSON is. */
  readonly field: string
  readonly lookups?: readonly string[]
  readonly fields?: readonly string[]
  readonly key?: string
}

const CONFIG_HEAD = 'version: 1\napi: { prefix: "" }'

/** An application of one resource for each model, at `/<name>/`, with every lookup of its field `value`. */
const configOf = (models: readonly Model[]): string => {
  const declared = models.map(({ name, field, fields = [], key = 'bigint' }) =>
    [
      `  ${name}:`,
      '    fields:',
      `      id: { type: ${key}, primary_key: true }`,
      `      value: ${field}`,
      ...fields.map((each) => `      ${each}`),
    ].join('\n'),
  )
  const exposed = models.map(
    ({ name, lookups = [] }) =>
      `  ${name}: { model: ${name}, path: /${name}/, filterable: ${JSON.stringify(lookups.length > 0 ? { value: lookups } : [])} }`,
  )
  return [CONFIG_HEAD, 'models:', ...declared, 'resources:', ...exposed, ''].join('\n')
}

const fieldOf = (type: FieldType, options: object = {}, more: object = {}): string =>
  JSON.stringify({ type: type.name, ...options, ...more }).replaceAll('\ufeff', '\\ufeff')

const post = (api: Api, path: string, text: string, method = 'POST') =>
  api.fetch(path, { method, headers: { 'content-type': 'application/json' }, body: text })

/** The exact JSON text of the answer's last member. */
const lastMember = (text: string, name: string): string => text.slice(text.indexOf(`"${name}":`) + name.length + 3, -1)

const lookupsOf = (type: FieldType): readonly string[] => lookupsOfType(type).map(({ name }) => name)

const parameter = (lookup: string): string => (lookup === 'exact' ? 'value' : `value__${lookup}`)

/** What a lookup is asked about a record with the value of an example. */
const query = (type: FieldType, lookup: string, { text, value, options = {} }: Example<unknown>): string => {
  const { ask } = askedOf(type)[lookup] ?? fail(`the lookup ${lookup} is not tested`)
  const items = type.items?.(options)
  const given = items ? formatCell(items, (value as readonly unknown[])[0]) : text
  return `?${parameter(lookup)}=${encodeURIComponent(ask(given ?? ''))}`
}

interface Case {
  readonly model: string
  readonly type: FieldType
  readonly example: Example<unknown>
  readonly shown: string
}

const CASES: readonly Case[] = FIELD_TYPES.flatMap((type) =>
  type.examples.map((example, index) => ({
    model: `${type.name}_${index}`,
    type,
    example,
    shown: JSON.stringify(example.source ?? example.json),
  })),
)

describe('an example of a field type', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi(
      configOf(
        CASES.map(({ model, type, example }) => ({
          name: model,
          field: fieldOf(type, example.options),
          lookups: lookupsOf(type),
        })),
      ),
    )
  })
  afterAll(() => api.close())

  test.each(CASES)('$type.name: $shown round-trips, and every lookup finds it', async ({ model, type, example }) => {
    const { json, source = JSON.stringify(json), wire = json, value, options = {} } = example
    expect([...type.write(value, options)].length).toBeLessThanOrEqual(type.longest(options) ?? Infinity)
    const created = await post(api, `/${model}/`, `{"value":${source}}`)
    const document = await created.text()
    expect([created.status, document]).toEqual([201, expect.stringMatching(/^\{"id":1,"value":.*\}$/s)])
    const answered = lastMember(document, 'value')
    expect(JSON.parse(answered)).toEqual(wire)
    if (/^-?\d+$/.test(source) && type.name !== 'float') expect(answered).toBe(source)

    const path = created.headers.get('location') ?? ''
    expect(await (await api.fetch(path)).text()).toBe(document)
    expect(await (await api.fetch(`/${model}/`)).text()).toBe(`[${document}]`)

    const found = new Map<string, boolean>()
    const lookups = lookupsOf(type)
    for (const lookup of lookups) {
      const response = await api.fetch(`/${model}/${query(type, lookup, example)}`)
      const rows = await response.text()
      expect([lookup, response.status, ['[]', `[${document}]`]]).toEqual([lookup, 200, expect.arrayContaining([rows])])
      found.set(lookup, rows !== '[]')
    }
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(lookups.map((lookup) => [lookup, askedOf(type)[lookup]?.found])),
    )

    for (const method of ['PATCH', 'PUT']) {
      const changed = await post(api, path, `{"value":${answered}}`, method)
      expect([method, changed.status, await changed.text()]).toEqual([method, 200, document])
    }
  })
})

interface Asked {
  /** What to ask for, about a record with the value `text`. */
  readonly ask: (text: string) => string
  /** Whether the record is found. */
  readonly found: boolean
}

const escaped = (text: string): string => text.replaceAll(/[\\,]/g, '\\$&')
const same = (text: string): string => text

/** Every lookup must have a line here. */
const ASKED: Readonly<Record<string, Asked>> = {
  exact: { ask: same, found: true },
  ne: { ask: same, found: false },
  in: { ask: escaped, found: true },
  gt: { ask: same, found: false },
  gte: { ask: same, found: true },
  lt: { ask: same, found: false },
  lte: { ask: same, found: true },
  contains: { ask: (text) => [...text].slice(1).join(''), found: true },
  icontains: { ask: (text) => text.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase()), found: true },
  startswith: { ask: (text) => [...text].slice(0, 2).join(''), found: true },
  istartswith: { ask: (text) => [...text].slice(0, 2).join('').toUpperCase(), found: true },
  endswith: { ask: (text) => [...text].slice(1).join(''), found: true },
  iexact: { ask: (text) => text.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase()), found: true },
  not_in: { ask: escaped, found: false },
  range: { ask: (text) => `${escaped(text)},${escaped(text)}`, found: true },
  isnull: { ask: () => 'false', found: true },
}

/** Lookups of lists are asked about the first item. */
const ASKED_OF_LISTS: typeof ASKED = {
  has: { ask: same, found: true },
  contains: { ask: escaped, found: true },
  overlaps: { ask: (text) => `${escaped(text)},${escaped(text)}`, found: true },
  isnull: { ask: () => 'false', found: true },
}
const askedOf = ({ items }: FieldType): typeof ASKED => (items ? ASKED_OF_LISTS : ASKED)

/** The first example of each type; a relation has none, and is tested with each type of key below. */
const FIRST: readonly Case[] = CASES.filter(({ model }) => model.endsWith('_0'))

describe('a nullable field', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi(
      configOf(
        FIRST.map(({ model, type, example }) => ({
          name: model,
          field: fieldOf(type, example.options, { nullable: true }),
          lookups: lookupsOf(type),
        })),
      ),
    )
  })
  afterAll(() => api.close())

  test.each(FIRST)('of the type $type.name accepts, returns and finds null', async ({ model, type, example }) => {
    for (const body of ['{}', '{"value":null}']) {
      const response = await post(api, `/${model}/`, body)
      expect([response.status, await response.json()]).toMatchObject([201, { value: null }])
    }
    const source = example.source ?? JSON.stringify(example.json)
    expect((await post(api, `/${model}/1/`, `{"value":${source}}`, 'PATCH')).status).toBe(200)
    const ids = async (search: string) =>
      ((await (await api.fetch(`/${model}/${search}`)).json()) as { id: number }[]).map(({ id }) => id)
    expect(await ids('?value__isnull=true')).toEqual([2])
    expect(await ids('?value__isnull=false')).toEqual([1])
    for (const lookup of lookupsOf(type).filter((each) => each !== 'isnull')) {
      const found = await ids(query(type, lookup, example))
      expect([lookup, found.includes(2)]).toEqual([lookup, ['ne', 'not_in'].includes(lookup)])
    }
    expect(await (await post(api, `/${model}/1/`, '{"value":null}', 'PATCH')).json()).toEqual({ id: 1, value: null })
    expect(await (await post(api, `/${model}/1/`, '{"value":null}', 'PUT')).json()).toEqual({ id: 1, value: null })
    expect((await post(api, `/${model}/1/`, '{}', 'PUT')).status).toBe(400)
  })
})

describe('a default', () => {
  // YAML takes no number that it would round.
  const rounds = (json: Json) => Number.isInteger(json) && !Number.isSafeInteger(json)
  const literal = CASES.filter(({ example }) => example.source === undefined && !rounds(example.json))
  const digits: readonly Model[] = [
    { name: 'digits', field: '{ type: bigint, default: 9007199254740991 }' },
    {
      name: 'calls',
      field: '{ type: string, max: 5 }',
      fields: [
        'now: { type: timestamp, default: { function: now } }',
        'uuid: { type: uuid, default: { function: uuid } }',
      ],
    },
  ]
  let api: Api
  beforeAll(async () => {
    api = await startApi(
      configOf([
        ...literal.map(({ model, type, example }) => ({
          name: model,
          field: fieldOf(type, example.options, { default: defaultOf(example.json) }),
        })),
        ...digits,
      ]),
    )
  })
  afterAll(() => api.close())

  test.each(literal)('$type.name: $shown is used if the request omits the field', async ({ model, example }) => {
    const response = await post(api, `/${model}/`, '{}')
    expect([response.status, await response.json()]).toEqual([
      201,
      { id: 1, value: defaultOf(example.wire ?? example.json) },
    ])
    expect((await post(api, `/${model}/`, '{"value":null}')).status).toBe(400)
  })

  test('keeps every digit from YAML', async () => {
    expect(await (await post(api, '/digits/', '{}')).text()).toBe('{"id":1,"value":9007199254740991}')
  })

  test('can be a function of the database, and a given value takes precedence', async () => {
    const one = (await (await post(api, '/calls/', '{"value":"a"}')).json()) as { now: string; uuid: string }
    expect(Math.abs(Date.parse(one.now) - Date.now())).toBeLessThan(60_000)
    expect(one.uuid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    const given = { value: 'b', now: '2020-01-01T00:00:00.000000Z', uuid: '0190163d-8694-739b-aea5-966c26f8ad91' }
    expect(await (await post(api, '/calls/', JSON.stringify(given))).json()).toEqual({ id: 2, ...given })
  })

  /** A mapping would be a function of the database, so only its list can be a literal. */
  function defaultOf(json: Json): Json {
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? [1, null, '😀'] : json
  }
})

describe('a unique field', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi(
      configOf(
        FIRST.map(({ model, type, example }) => ({
          name: model,
          field: fieldOf(type, example.options, { unique: true, label: 'Worth' }),
        })),
      ),
    )
  })
  afterAll(() => api.close())

  test.each(FIRST)(
    'of the type $type.name rejects a second record with 409 and names the field',
    async ({ model, example }) => {
      const body = `{"value":${example.source ?? JSON.stringify(example.json)}}`
      expect((await post(api, `/${model}/`, body)).status).toBe(201)
      const response = await post(api, `/${model}/`, body)
      expect([response.status, await response.json()]).toMatchObject([
        409,
        { errors: { value: 'Worth is taken by another record' } },
      ])
      expect(await (await api.fetch(`/${model}/`)).json()).toHaveLength(1)
    },
  )
})

/** Values that break each rule of each type, as JSON text. */
const BROKEN: readonly (readonly [
  type: string,
  options: Readonly<Record<string, Json>>,
  rule: string,
  values: readonly string[],
])[] = [
  ['string', {}, 'type', ['1', 'true', '[]', '{}', 'null']],
  ['string', {}, 'storable', ['"a\\u0000"', '"\\ud800"', '"\\udc00a"']],
  ['string', { min: 2, max: 3 }, 'length', ['"a"', '"abcd"', '"😀😀😀😀"', '""']],
  ['string', { min: 2 }, 'length', ['"😀"']],
  ['string', { max: 1 }, 'length', ['"ab"']],
  ['string', { pattern: '^[a-z]+$' }, 'pattern', ['"A"', '""', '"a\\n"']],
  ['char', { length: 2 }, 'type', ['1', 'null']],
  ['char', { length: 2 }, 'storable', ['"\\u0000"', '"\\ud800"']],
  ['char', { length: 2 }, 'length', ['"abc"', '"😀😀😀"']],
  ['char', { length: 3 }, 'blank', ['" "', '"a "', '"ab "']],
  ['binary', {}, 'type', ['1', 'null', '"a"', '"YQ"', '"YR=="', '"Y Q=="', '"YWJj\\n"', '"_-8="', '"===="']],
  ['binary', { max: 2 }, 'length', ['"AAAA"', '"AAAAAAAA"']],
  [
    'interval',
    {},
    'type',
    ['1', 'null', '""', '"P"', '"PT"', '"P1DT"', '"-P1D"', '"1 day"', '"P1.5D"', '"PT1.1234567S"'],
  ],
  ['interval', {}, 'type', ['"P178956971Y"', '"P2147483648D"', '"PT2147483648H"', '"infinity"', '"P1D\\n"']],
  ['inet', {}, 'type', ['1', 'null', '""', '"10.0.0"', '"10.0.0.256"', '"10.0.0.1/33"', '"010.0.0.1"', '"::1/129"']],
  ['inet', {}, 'type', ['"fe80::1%eth0"', '"::1::"', '"10.0.0.1/"', '" 10.0.0.1"', '"10.0.0.1/08"']],
  ['cidr', {}, 'type', ['1', 'null', '""', '"10"', '"10.0.0.1/24"', '"2001:db8::1/32"', '"10.0.0.0/33"']],
  ['float', { bits: 32 }, 'type', ['1e300', '3.5e38', '-3.5e38', '1e-46', '"1"']],
  ['float', { bits: 32, maximum: 16777217 }, 'range', ['16777218', '1e9']],
  ['float', { bits: 32, minimum: 16777217 }, 'range', ['16777217']],
  ['array', { items: { type: 'integer' } }, 'type', ['1', '"a"', '{}', 'true', 'null']],
  ['array', { items: { type: 'integer', maximum: 5 } }, 'items', ['[1, 6]', '["1"]', '[null]', '[[1]]', '[1, 1.5]']],
  ['array', { items: { type: 'string', pattern: '^[a-z]+$' } }, 'items', ['["a", "B"]', '[1]', '["\\u0000"]']],
  ['array', { items: { type: 'integer' }, min: 1, max: 2 }, 'length', ['[]', '[1, 2, 3]']],
  ['decimal', {}, 'type', ['1', '"1e3"', '""', '"NaN"', '".5"', '"1."']],
  ['decimal', {}, 'digits', [`"${'9'.repeat(1004)}"`, `"${'9'.repeat(1001)}"`]],
  ['decimal', { minimum: '0.5' }, 'range', ['"0.49999999999999999999"']],
  ['email', {}, 'type', ['1', 'null']],
  ['email', {}, 'length', [`"${'a'.repeat(250)}@b.c1"`]],
  [
    'email',
    {},
    'format',
    ['""', '"a"', '"@b.c"', '"a@"', '"a@b..c"', '"a@-b.c"', '"a b@c.d"', '"é@b.c"', '"a@b.c\\n"'],
  ],
  ['url', {}, 'type', ['1', 'null']],
  ['url', {}, 'length', [`"http://a/${'a'.repeat(2000)}"`]],
  [
    'url',
    {},
    'format',
    [
      '""',
      '"example.com"',
      '"/a"',
      '"http:/a"',
      '"https://"',
      '"ftp://a"',
      '"http://a b"',
      '"http://a:99999/"',
      '"http://a/é"',
      '"http://a/%zz"',
      '" http://a"',
    ],
  ],
  ['text', {}, 'type', ['1', 'null']],
  ['text', {}, 'storable', ['"\\u0000"']],
  ['text', { min: 1, max: 2 }, 'length', ['""', '"abc"']],
  ['text', { pattern: '^x' }, 'pattern', ['"y"']],
  ['integer', {}, 'type', ['"1"', '1.5', '1e-1', 'true', 'null', '[1]']],
  ['integer', {}, 'range', ['2147483648', '-2147483649', '1e10']],
  ['integer', { minimum: 1, maximum: 5 }, 'range', ['0', '6', '-0']],
  ['bigint', {}, 'type', ['"1"', '0.5', '9007199254740993.5', 'null', '1e-5']],
  ['bigint', {}, 'range', ['9223372036854775808', '-9223372036854775809', '1e19']],
  ['bigint', { maximum: '9007199254740993' }, 'range', ['9007199254740994']],
  [
    'decimal',
    { precision: 4, scale: 2 },
    'type',
    ['1', '"1e2"', '"+1"', '"01"', '".5"', '"1."', '""', '"NaN"', '"Infinity"', 'null', '" 1"', '"１"'],
  ],
  ['decimal', { precision: 4, scale: 2 }, 'digits', ['"100"', '"1.234"', '"-100.00"']],
  ['decimal', { precision: 4, scale: 2, minimum: '0.10' }, 'range', ['"0.09"', '"-1"']],
  ['float', {}, 'type', ['"1"', '1e309', '-1e400', '1e-400', 'null', '"NaN"']],
  ['float', { minimum: 0, maximum: 0.5 }, 'range', ['-0.1', '0.51']],
  ['boolean', {}, 'type', ['0', '1', '"true"', 'null', '[]']],
  [
    'date',
    {},
    'type',
    [
      '"2023-02-29"',
      '"0000-01-01"',
      '"10000-01-01"',
      '"2024-1-1"',
      '"today"',
      '"infinity"',
      '20240101',
      'null',
      '"2024-01-01T00:00:00Z"',
    ],
  ],
  [
    'time',
    {},
    'type',
    [
      '"09:30"',
      '"9:30:00"',
      '"24:00:00"',
      '"23:59:60"',
      '"23:60:00"',
      '"09:30:00Z"',
      '"09:30:00+00:00"',
      '"09:30:00.1234567"',
      '"09:30:00."',
      '"09:30:00,5"',
      '" 09:30:00"',
      '"09:30:00\\n"',
      '"2024-01-01T09:30:00"',
      '"now"',
      '"allballs"',
      '""',
      '93000',
      'null',
    ],
  ],
  [
    'timestamp',
    {},
    'type',
    [
      '"2024-01-01"',
      '"2024-01-01T00:00:00"',
      '"2024-01-01T24:00:00Z"',
      '"2024-01-01T00:00:60Z"',
      '"now"',
      '"infinity"',
      '0',
      'null',
      '"2024-01-01T00:00:00.1234567Z"',
      '"0001-01-01T00:00:00+00:01"',
    ],
  ],
  [
    'local_timestamp',
    {},
    'type',
    [
      '"2024-01-01"',
      '"2024-01-01 00:00:00"',
      '"2024-01-01T00:00:00Z"',
      '"2024-01-01T00:00:00+01:00"',
      '"2024-01-01T00:00"',
      '"2023-02-29T00:00:00"',
      '"2024-01-01T24:00:00"',
      '"2024-01-01T00:00:60"',
      '"2024-01-01T00:00:00.1234567"',
      '"10000-01-01T00:00:00"',
      '"now"',
      '"infinity"',
      '""',
      '0',
      'null',
    ],
  ],
  ['local_timestamp', { precision: 3 }, 'precision', ['"2024-01-01T00:00:00.1234"', '"2024-01-01T00:00:00.000001"']],
  ['local_timestamp', { precision: 0 }, 'precision', ['"2024-01-01T00:00:00.5"']],
  [
    'uuid',
    {},
    'type',
    ['"x"', '1', 'null', '"{0190163d-8694-739b-aea5-966c26f8ad91}"', '"0190163d8694739baea5966c26f8ad91"'],
  ],
  ['choice', { choices: ['a', 'b'] }, 'type', ['"c"', '"A"', '""', '1', 'null', '"a "']],
  ['json', {}, 'type', ['null']],
  ['json', {}, 'text', ['"\\u0000"', '{"a\\u0000":1}', '["\\ud800"]']],
  ['json', {}, 'numbers', ['1e1001', '[1e-2000]']],
  ['json', { max: 7 }, 'length', ['{"a":10}', '"123456"', '[1,2,3]', '1e7']],
]

/** The gate in front of every body is stricter, so no request can break these. */
const UNREACHABLE = ['json depth']

describe('a value that violates a rule', () => {
  const cases = BROKEN.map(([name, options, rule, values], index) => ({
    model: `broken_${index}`,
    name,
    options,
    rule,
    values,
  }))
  const typeNamed = (name: string) => FIELD_TYPES.find((type) => type.name === name)
  let api: Api
  beforeAll(async () => {
    api = await startApi(
      configOf(
        cases.map(({ model, name, options }) => ({ name: model, field: JSON.stringify({ type: name, ...options }) })),
      ),
    )
  })
  afterAll(() => api.close())

  test.each(cases)(
    '$name $options is rejected by its rule $rule: $values',
    async ({ model, name, options, rule, values }) => {
      const message = typeNamed(name)
        ?.rules(options)
        .find((each) => each.name === rule)?.message
      for (const value of values) {
        const response = await post(api, `/${model}/`, `{"value":${value}}`)
        expect([value, response.status, ((await response.json()) as { errors: object }).errors]).toEqual([
          value,
          400,
          { value: `Value ${message}` },
        ])
      }
      expect(await (await api.fetch(`/${model}/`)).text()).toBe('[]')
    },
  )

  test('is tested for every rule of every type', () => {
    const tested = new Set([...BROKEN.map(([name, , rule]) => `${name} ${rule}`), ...UNREACHABLE])
    const rules = FIELD_TYPES.filter((type) => type.examples.length > 0).flatMap((type) =>
      type.examples.flatMap(({ options = {} }) => type.rules(options).map((rule) => `${type.name} ${rule.name}`)),
    )
    expect(rules.filter((rule) => !tested.has(rule))).toEqual([])
  })
})

const KEYS = [
  { key: 'integer', absent: '2147483647', strange: ['01', '1.0', '+1', '-0', '2147483648', 'x', '1e0', '%31'] },
  {
    key: 'bigint',
    absent: '9223372036854775807',
    strange: ['01', '1.0', '+1', '-0', '9223372036854775808', 'x', '%31'],
  },
  {
    key: 'uuid',
    absent: '0190163d-8694-739b-aea5-966c26f8ad91',
    strange: ['1', 'x', '0190163d8694739baea5966c26f8ad91', '0190163d-8694-739b-aea5-966c26f8ad9'],
  },
]

describe.each(KEYS)('a primary key of the type $key', ({ key, absent, strange }) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi(
      [
        CONFIG_HEAD,
        'models:',
        `  author: { fields: { id: { type: ${key}, primary_key: true }, name: { type: string } } }`,
        '  book:',
        '    fields:',
        `      id: { type: ${key}, primary_key: true }`,
        '      author: { type: belongs_to, model: author, nullable: true }',
        'resources:',
        '  author: { model: author, path: /authors/ }',
        '  book: { model: book, path: /books/, filterable: { author: [exact, in, isnull] }, orderable: [author], pagination: { style: cursor } }',
        '',
      ].join('\n'),
    )
  })
  afterAll(() => api.close())

  const create = async (path: string, body: object): Promise<{ id: string | number; author?: string | number }> => {
    const response = await api.send('POST', path, body)
    expect(response.status).toBe(201)
    return (await response.json()) as { id: string | number }
  }

  test('is assigned by the server, never by a body, and identifies its record', async () => {
    const { id } = await create('/authors/', { name: 'A', id: absent })
    expect(String(id)).not.toBe(absent)
    const response = await api.send('PATCH', `/authors/${id}/`, { name: 'B', id: absent })
    expect([response.status, await response.json()]).toEqual([200, { id, name: 'B' }])
    expect((await api.fetch(`/authors/${id}/`, { method: 'DELETE' })).status).toBe(204)
    expect((await api.fetch(`/authors/${id}/`)).status).toBe(404)
  })

  test.each([absent, ...strange])('matches nothing as %s', async (id) => {
    await create('/authors/', { name: 'A' })
    for (const method of ['GET', 'DELETE']) expect((await api.fetch(`/authors/${id}/`, { method })).status).toBe(404)
    expect((await api.send('PATCH', `/authors/${id}/`, { name: 'C' })).status).toBe(404)
    expect((await api.send('PUT', `/authors/${id}/`, { name: 'C' })).status).toBe(404)
  })

  test('is accepted, shown, filtered and ordered by in a relation', async () => {
    const [one, two] = [await create('/authors/', { name: '1' }), await create('/authors/', { name: '2' })]
    const first = await create('/books/', { author: one.id })
    const second = await create('/books/', { author: two.id })
    const third = await create('/books/', {})
    expect([first.author, second.author, third.author]).toEqual([one.id, two.id, null])
    const ids = async (search: string) =>
      ((await (await api.fetch(`/books/${search}`)).json()) as { id: unknown }[]).map(({ id }) => id)
    expect(await ids(`?author=${one.id}`)).toEqual([first.id])
    expect((await ids(`?author__in=${one.id},${two.id}`)).toSorted()).toEqual([first.id, second.id].toSorted())
    expect(await ids('?author__isnull=true')).toEqual([third.id])
    expect(await ids('?ordering=author')).toHaveLength(3)
    const moved = await api.send('PATCH', `/books/${first.id}/`, { author: null })
    expect(await moved.json()).toEqual({ id: first.id, author: null })
  })

  test('must exist in a relation', async () => {
    const number = typeof (await create('/authors/', { name: 'A' })).id === 'number'
    const response = await api.fetch('/books/', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"author":${number ? absent : JSON.stringify(absent)}}`,
    })
    expect([response.status, await response.json()]).toMatchObject([
      409,
      { errors: { author: 'Author names a record that does not exist' } },
    ])
    for (const value of ['', true, [], {}, 'x', 1.5]) {
      const rejected = await api.send('POST', '/books/', { author: value })
      expect([rejected.status, await rejected.json()]).toMatchObject([
        400,
        { errors: { author: 'Author must be the id of an existing author' } },
      ])
    }
  })
})

/** Words of SQL, of JavaScript and of the libraries below; `order` and `limit` cannot be filters, being parameters. */
const MODELS = ['select', 'order', 'user', 'table', 'group', 'old', 'new', 'excluded', 'd', 'c']
const FIELDS = [
  'select',
  'from',
  'where',
  'user',
  'table',
  'group',
  'order',
  'offset',
  'default',
  'nulls',
  'current_user',
  'old',
  'new',
]
const MORE = [
  'd',
  'c',
  'then',
  'name',
  'length',
  'relations',
  'tablename',
  'query',
  'valueof',
  'xmin_',
  'get',
  'toreplace',
  'row_to_json',
  'tableName',
]

describe('reserved words', () => {
  const fields = [...FIELDS, ...MORE]
  const filters = fields.filter((name) => name !== 'offset')
  let api: Api
  beforeAll(async () => {
    const models = MODELS.flatMap((name) => [
      `  ${name}:`,
      '    fields:',
      '      primary: { type: integer, primary_key: true }',
      ...fields.map((field) => `      ${field}: { type: string, max: 30, nullable: true }`),
      `    indexes: [[select, from], { fields: [group, table], unique: true }]`,
    ])
    const resources = MODELS.map(
      (name, index) =>
        `  ${name}: { model: ${name}, path: /${name}/, filterable: ${JSON.stringify(filters)}, orderable: ${JSON.stringify(fields)}, pagination: { style: ${['cursor', 'page_number', 'none'][index % 3]} } }`,
    )
    const config = [CONFIG_HEAD, 'models:', ...models, 'resources:', ...resources, ''].join('\n')
    expect(mistakesOf(config)).toEqual([])
    api = await startApi(config)
  })
  afterAll(() => api.close())

  test.each(MODELS)(
    'can name fields of the model %s, which is created, read, listed, updated and deleted',
    async (model) => {
      const values = Object.fromEntries(fields.map((field) => [field, `the ${field}`]))
      const created = await api.send('POST', `/${model}/`, values)
      const record = { primary: 1, ...values }
      expect([created.status, await created.json()]).toEqual([201, record])
      expect(await (await api.fetch(`/${model}/1/`)).json()).toEqual(record)
      expect((await api.send('POST', `/${model}/`, values)).status).toBe(409)
      for (const some of [fields.slice(0, 9), fields.slice(9, 18), fields.slice(18)]) {
        const filter = some.filter((field) => filters.includes(field)).map((field) => `&${field}=the+${field}`)
        const found = await api.fetch(`/${model}/?ordering=${some.join(',-')}${filter.join('')}`)
        expect([some, found.status, await found.json()]).toEqual([some, 200, [record]])
      }
      const changed = await api.send('PATCH', `/${model}/1/`, { select: 'x', then: null })
      expect([changed.status, await changed.json()]).toEqual([200, { ...record, select: 'x', then: null }])
      const replaced = await api.send('PUT', `/${model}/1/`, values)
      expect([replaced.status, await replaced.json()]).toEqual([200, record])
      expect((await api.fetch(`/${model}/1/`, { method: 'DELETE' })).status).toBe(204)
      expect(await (await api.fetch(`/${model}/`)).json()).toEqual([])
    },
  )

  test.each([
    'toString',
    'hasOwnProperty',
    '__proto__',
    'constructor',
    'prototype',
    '$query',
    'toString',
    '$1',
    'a b',
    'a"b',
    'é',
  ])('check rejects a field named %s', (field) => {
    const config = `${CONFIG_HEAD}\nmodels:\n  book:\n    fields:\n      id: { type: bigint, primary_key: true }\n      ${JSON.stringify(field)}: { type: string }\n`
    expect(mistakesOf(config)).toHaveLength(1)
  })
})
