import { describe, expect, test } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { formatCell } from '../../src/fields/cell.js'
import type { FieldType } from '../../src/fields/field-type.js'
import { FORMATS } from '../../src/fields/spelling/formats.js'
import { FIELD_TYPES, fieldType } from '../../src/fields/index.js'
import { JsonText } from '../../src/fields/spelling/json-text.js'
import { checkPattern } from '../../src/fields/patterns/pattern.js'
import { identifier, literal } from '../../src/fields/sql-literal.js'

const ajv = new Ajv2020({
  allErrors: true,
  strict: true,
  ownProperties: true,
  formats: FORMATS,
  // Editors show it, and so do our messages.
  keywords: ['patternErrorMessage'],
})

const typeNamed = (name: string): FieldType => {
  const type = fieldType(name)
  if (!type) throw new Error(`no field type ${name}`)
  return type
}

/** What a client reads of a JSON text, or the value it becomes. */
const parse = (type: FieldType, options: object, source: string) => {
  const rules = type.rules(options)
  const validate = ajv.compile(Object.assign({}, ...rules.map((rule) => rule.schema)))
  const json = JSON.parse(source)
  const failed = new Set(validate(json) ? [] : validate.errors?.map((error) => error.keyword))
  const rejected = failed.size > 0 ? undefined : type.admits?.(json, source, options)
  const broken = rules.find(
    (rule) => rule.name === rejected || Object.keys(rule.schema).some((keyword) => failed.has(keyword)),
  )
  return broken ? { message: broken.message } : { value: type.fromJson(json, source, options) }
}

const examples = FIELD_TYPES.flatMap((type) =>
  type.examples.map((example) => ({ name: type.name, shown: JSON.stringify(example.text), type, example })),
)

describe('every field type', () => {
  test.each(FIELD_TYPES.map((type) => [type.name, type] as const))(
    '%s declares options that Ajv compiles',
    (_name, type) => {
      expect(() =>
        ajv.compile({ type: 'object', properties: type.options, required: type.required ?? [] }),
      ).not.toThrow()
    },
  )

  test.each(examples)('$name parses its example $shown from JSON and from a query', ({ type, example }) => {
    const { json, source = JSON.stringify(json), options = {}, value, text } = example
    expect(type.conflicts?.(options) ?? []).toEqual([])
    expect(parse(type, options, source)).toEqual({ value })
    expect(type.parse(text, options)).toEqual(value)
    const spelled = formatCell({ type, options }, value) ?? ''
    expect(type.parse(spelled, options)).toEqual(value)
    expect(type.read(spelled, options)).toEqual(value)
    expect(Buffer.byteLength(source)).toBeLessThanOrEqual(type.maxBytes(options) ?? Infinity)
  })

  test.each(examples)('$name gives each rule of its example $shown distinct keywords', ({ type, example }) => {
    const keywords = type.rules(example.options ?? {}).flatMap((rule) => Object.keys(rule.schema))
    expect(keywords.filter((keyword) => keyword !== 'type')).toEqual(
      [...new Set(keywords)].filter((keyword) => keyword !== 'type'),
    )
  })
})

test.each([
  ['string', {}, '1', 'must be a string'],
  ['string', {}, 'null', 'must be a string'],
  ['string', { min: 1, max: 100 }, '""', 'must be between 1 and 100 characters'],
  ['string', { min: 1, max: 2 }, '"😀😀😀"', 'must be between 1 and 2 characters'],
  ['string', { max: 1 }, '"ab"', 'must be at most 1 character'],
  ['text', { min: 1 }, '""', 'must be at least 1 character'],
  ['text', { min: 2 }, '"😀"', 'must be at least 2 characters'],
  ['text', {}, String.raw`"a\u0000b"`, 'must not contain U+0000 or an unpaired surrogate'],
  ['string', {}, String.raw`"\ud800"`, 'must not contain U+0000 or an unpaired surrogate'],
  ['string', { pattern: '^a+$' }, '"b"', 'must match the pattern ^a+$'],
  ['integer', {}, '1.5', 'must be an integer'],
  ['integer', {}, '1.00000000000000000000001', 'must be an integer'],
  ['integer', {}, '2147483648', 'must be between -2147483648 and 2147483647'],
  ['integer', { minimum: 0 }, '-1', 'must be between 0 and 2147483647'],
  ['bigint', {}, '"1"', 'must be an integer'],
  ['bigint', {}, '9223372036854775808', 'must be between -9223372036854775808 and 9223372036854775807'],
  ['bigint', {}, '-9223372036854775809', 'must be between -9223372036854775808 and 9223372036854775807'],
  [
    'bigint',
    { maximum: '9007199254740992' },
    '9007199254740993',
    'must be between -9223372036854775808 and 9007199254740992',
  ],
  ['decimal', { precision: 4, scale: 2 }, '12.5', 'must be a decimal string such as "12.50"'],
  ['decimal', { precision: 4, scale: 2 }, '"1e3"', 'must be a decimal string such as "12.50"'],
  [
    'decimal',
    { precision: 4, scale: 2 },
    '"100"',
    'must have at most 2 digits before the point and at most 2 digits after it',
  ],
  [
    'decimal',
    { precision: 4, scale: 2 },
    '"1.005"',
    'must have at most 2 digits before the point and at most 2 digits after it',
  ],
  ['decimal', { precision: 2, scale: 0 }, '"1.0"', 'must have at most 2 digits, none of them after a point'],
  [
    'decimal',
    { precision: 40, scale: 20, minimum: '0.00000000000000000001' },
    '"0"',
    'must be at least 0.00000000000000000001',
  ],
  ['float', {}, '1e400', 'must be a number that a 64-bit float can hold'],
  ['float', {}, '1e-400', 'must be a number that a 64-bit float can hold'],
  ['float', { minimum: 0, maximum: 1 }, '1.5', 'must be between 0 and 1'],
  ['boolean', {}, '"true"', 'must be true or false'],
  ['date', {}, '"2023-02-29"', 'must be a date such as 2026-11-21'],
  ['date', {}, '"0000-01-01"', 'must be a date such as 2026-11-21'],
  ['timestamp', {}, '"2026-11-21T10:00:00"', 'must be a timestamp such as 2026-11-21T10:00:00Z'],
  ['timestamp', {}, '"2026-11-21T24:00:00Z"', 'must be a timestamp such as 2026-11-21T10:00:00Z'],
  ['timestamp', {}, '"2016-12-31T23:59:60Z"', 'must be a timestamp such as 2026-11-21T10:00:00Z'],
  ['timestamp', {}, '"2026-11-21T10:00:00.1234567Z"', 'must be a timestamp such as 2026-11-21T10:00:00Z'],
  ['timestamp', {}, '"0001-01-01T00:00:00+00:01"', 'must be a timestamp such as 2026-11-21T10:00:00Z'],
  [
    'uuid',
    {},
    '"urn:uuid:0190163d-8694-739b-aea5-966c26f8ad91"',
    'must be a UUID such as 0190163d-8694-739b-aea5-966c26f8ad91',
  ],
  ['choice', { choices: ['draft', 'done'] }, '"gone"', 'must be one of: draft, done'],
  ['json', {}, 'null', 'must be a JSON value other than null'],
  ['json', {}, String.raw`{"a":["\u0000"]}`, 'must not contain U+0000 or an unpaired surrogate'],
  ['json', {}, String.raw`{"\udfff":1}`, 'must not contain U+0000 or an unpaired surrogate'],
  ['json', {}, `${'['.repeat(101)}${']'.repeat(101)}`, 'must not nest more than 100 levels deep'],
  ['json', {}, '[1e99999]', 'must not contain numbers that take more than 1000 digits to write out'],
])('%s with %j rejects %s', (name, options, source, message) => {
  expect(parse(typeNamed(name), options, source)).toEqual({ message })
})

test.each([
  ['integer', {}, '-0', 0],
  ['bigint', {}, '1.0e3', 1000n],
  ['bigint', {}, '92233720368547758.07e2', 9223372036854775807n],
  ['string', { min: 100, max: 100 }, JSON.stringify('😀'.repeat(100)), '😀'.repeat(100)],
  ['decimal', { precision: 4, scale: 2 }, '"-0.0"', '0.00'],
  [
    'json',
    {},
    '["1e99999", "\\"", 12345678901234567890.10]',
    new JsonText('["1e99999", "\\"", 12345678901234567890.10]'),
  ],
])('%s with %j accepts %s', (name, options, source, value) => {
  expect(parse(typeNamed(name), options, source)).toEqual({ value })
})

test.each([
  ['integer', ['01', '+1', '1e3', '1.0', '-0', '', ' 1', '2147483648']],
  ['bigint', ['9223372036854775808', '-9223372036854775809', '00', 'abc', '1n', '0x1']],
  ['float', ['.5', '1.', '01', 'nan', '+Infinity', 'infinity', '1e400', '']],
  ['decimal', ['nan', 'infinity', '+Infinity', '1e2', '']],
  ['boolean', ['True', '1', 't', '']],
  [
    'date',
    [
      '2026-1-1',
      '2026-11-31',
      '10001-02-29',
      '10000-13-01',
      '010000-01-01',
      '5874898-01-01',
      '0044-03-15 AD',
      '0000-01-01 BC',
      '0002-02-29 BC',
      '4714-11-23 BC',
      '2026-01-01 BC ',
      'Infinity',
      '10000-01-01 00:00:00+00',
    ],
  ],
  [
    'timestamp',
    [
      '10000-01-01',
      '10000-01-01 24:00:00+00',
      '10000-01-01 00:00:60+00',
      '10000-01-01 00:00:00+01',
      '294277-01-01 00:00:00+00',
      '0001-01-01 00:00:00',
      'now',
      '+infinity',
    ],
  ],
  ['uuid', ['0190163d8694739baea5966c26f8ad91', '']],
  ['string', ['a\0', '\ud800']],
  ['json', ['{', '"\\u0000"']],
])('%s parses no other texts', (name, texts) => {
  expect(texts.map((text) => typeNamed(name).parse(text, {}))).toEqual(texts.map(() => undefined))
})

test('a text longer than the maximum can still be a filter value', () => {
  expect(typeNamed('string').parse('long', { max: 1 })).toBe('long')
})

test.each([
  ['string', { min: 2, max: 9 }, 'varchar(9) collate "C"', ['char_length("c") >= 2']],
  ['string', { collation: 'und-x-icu' }, 'text collate "und-x-icu"', []],
  ['text', { min: 1, max: 9 }, 'text collate "C"', ['char_length("c") >= 1 and char_length("c") <= 9']],
  ['integer', { minimum: 0 }, 'integer', [`"c" >= '0'::integer`]],
  ['bigint', {}, 'bigint', []],
  ['decimal', { precision: 5, scale: 2, maximum: 9.5 }, 'numeric(5,2)', [`"c" <= '9.5'::numeric`]],
  ['choice', { choices: ["it's", 'b'] }, 'text collate "C"', [`"c" in ('it''s', 'b')`]],
  [
    'string',
    { pattern: '^.$' },
    'text collate "C"',
    [String.raw`"c" collate "C" ~ E'^[^\\u000a\\u000d\\u2028\\u2029]$'`],
  ],
])('%s with %j has a column with constraints for its rules', (name, options, column, checks) => {
  const type = typeNamed(name)
  expect(type.column(options)).toBe(column)
  expect(type.rules(options).flatMap((rule) => rule.check?.('"c"') ?? [])).toEqual(checks)
})

test.each([
  ['string', { min: 3, max: 2 }, 'min'],
  ['string', { pattern: '(a+)+$' }, 'pattern'],
  ['integer', { maximum: 2 ** 31 }, 'maximum'],
  ['bigint', { maximum: 2 ** 60 }, 'maximum'],
  ['bigint', { minimum: 2, maximum: '1' }, 'minimum'],
  ['decimal', { precision: 2, scale: 3 }, 'scale'],
  ['decimal', { precision: 30, scale: 3, minimum: 1e21 }, 'minimum'],
  ['float', { minimum: 1, maximum: 0 }, 'minimum'],
  ['float', { bits: 32, maximum: 1e39 }, 'maximum'],
  ['float', { bits: 32, minimum: 1e-50 }, 'minimum'],
  ['choice', { choices: ['\ud800'] }, 'choices'],
])('%s reports a contradiction in %j for %s', (name, options, option) => {
  expect(
    typeNamed(name)
      .conflicts?.(options)
      .map((conflict) => conflict.option),
  ).toEqual([option])
})

test('a relation has the key type of its target in every form', () => {
  const relation = typeNamed('belongs_to')
  const options = { model: 'author', references: 'id', key: { type: typeNamed('bigint'), options: {} } }
  expect(relation.column(options)).toBe('bigint')
  expect(parse(relation, options, '9007199254740993')).toEqual({ value: 9007199254740993n })
  expect(parse(relation, options, '9223372036854775808')).toEqual({ message: 'must be the id of an existing author' })
  expect(relation.parse('01', options)).toBeUndefined()
  expect(relation.write(relation.read('5', options), options)).toBe('5')
})

describe('a pattern', () => {
  test.each([
    ['^[a-z0-9]+(-[a-z0-9]+)*$', '^[a-z0-9]+(?:-[a-z0-9]+)*$', String.raw`^[a-z0-9]+(\u002d[a-z0-9]+)*$`],
    ['^(draft|done)$', '^(?:draft|done)$', '^(draft|done)$'],
    [
      String.raw`^[a-z]([a-z\d-]{0,61}[a-z\d])?$`,
      String.raw`^[a-z](?:[a-z0-9\-]{0,61}[a-z0-9])?$`,
      String.raw`^[a-z]([a-z0-9\u002d]{0,61}[a-z0-9]){0,1}$`,
    ],
    ['😀.', String.raw`😀[^\u000a\u000d\u2028\u2029]`, String.raw`\U0001f600[^\u000a\u000d\u2028\u2029]`],
  ])('%s is translated for JavaScript and for PostgreSQL', (text, javascript, postgres) => {
    expect(checkPattern(text)).toEqual({ javascript, postgres })
  })

  test.each([
    ['(?=a)', /look-around/],
    [String.raw`(a)\1`, /back references/],
    [String.raw`\bword`, /not supported/],
    ['[[:alpha:]]', /POSIX/],
    ['a+?', /lazy/],
    ['a{256}', /more than 255/],
    ['(a', /not closed/],
    ['a)', /closes no group/],
    ['a|', /nothing in it/],
    ['(a*)*', /nothing at all/],
    ['(a+)+$', /more than one way/],
    ['(a|a)*$', /more than one way/],
    ['^.+@.+$', /more than one way/],
    [`${'a?'.repeat(40)}${'a'.repeat(40)}`, /more than 256 ways/],
    ['([a-z]{1,200}){1,200}', /too large/],
    ['a'.repeat(201), /201 characters/],
    ['a[ab]{250}c', /253 steps for each character, so the field needs a `max` of at most 3952/],
  ])('%s is rejected', (text, rejection) => {
    expect(checkPattern(text)).toEqual({ rejection: expect.stringMatching(rejection) })
  })
})

test('a pattern with many steps per character is limited to short texts', () => {
  const conflictsOf = (max: number) => typeNamed('text').conflicts?.({ pattern: 'a[ab]{250}c', max })
  expect(conflictsOf(3952)).toEqual([])
  expect(conflictsOf(3953)).toMatchObject([{ option: 'pattern' }])
})

test('SQL literals and identifiers accept any text without U+0000', () => {
  expect(literal("it's")).toBe("'it''s'")
  expect(literal('a\\b')).toBe(String.raw`E'a\\b'`)
  expect(identifier('a"b')).toBe('"a""b"')
  expect(() => literal('\0')).toThrow('U+0000')
  expect(() => identifier('')).toThrow('empty')
})
