import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { readJsonBody } from '../../../src/foundation/json-body.js'
import { Problem } from '../../../src/foundation/problem.js'
import { expectCleanPrototype } from '../../support/leaks.js'

function rejection(text: string | Uint8Array): string {
  try {
    readJsonBody(Buffer.from(text))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    expect(error.type).toBe('malformed_body')
    return error.message
  }
  return 'accepted'
}

function nested(depth: number): string {
  return `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
}

function keys(count: number, prefix = 'k'): string {
  return Array.from({ length: count }, (_, index) => `"${prefix}${index}":0`).join()
}

describe('a body', () => {
  test.each([
    ['an ordinary object', '{"title":"t","size":1.5,"read":true,"note":null}'],
    ['whitespace everywhere', ' \t\r\n{ "a" :\n[ 1 , { } , [ ] ] , "b" : "c" } \n'],
    ['an empty object', '{}'],
    ['an empty key', '{"":1}'],
    ['harmless keys of the prototype', '{"toString":1,"hasOwnProperty":2}'],
    ['every escape', String.raw`{"a":"\"\\\/\b\f\n\r\tA😀"}`],
    ['unescaped emoji', '{"a":"😀"}'],
    ['a line separator', '{"a":"\u2028"}'],
    ['an escaped lone surrogate', String.raw`{"a":"\ud83d"}`],
    ['numbers in every notation', '{"a":[0,-0,1,-1,10,0.5,1e3,1E+3,1e-3,1.25e10]}'],
    ['a number beyond the range of a float', '{"a":1e400}'],
    ['numeric keys', '{"2":0,"1":0}'],
    ['the maximum depth', nested(32)],
    ['the maximum number of keys', `{${keys(2_000)}}`],
    ['a key of 100,000 characters', `{"${'k'.repeat(100_000)}":1}`],
  ])('is accepted: %s', (_what, text) => {
    const body = readJsonBody(Buffer.from(text))
    const value = JSON.parse(text)
    expect([...body.keys].sort()).toEqual(Object.keys(value).sort())
    for (const key of body.keys) {
      expect(body.value(key)).toEqual(value[key])
      expect(JSON.parse(body.source(key))).toEqual(value[key])
    }
  })

  test('keeps the order of keys and the exact text of each value', () => {
    const body = readJsonBody(Buffer.from('{"b": 9007199254740993 ,"a":[1.10, 2],"1":"\\u0041"}'))
    expect(body.keys).toEqual(['b', 'a', '1'])
    expect(body.keys.map((key) => body.source(key))).toEqual(['9007199254740993', '[1.10, 2]', '"\\u0041"'])
    expect(body.value('1')).toBe('A')
  })

  test.each(['toString', 'hasOwnProperty', '__proto__', 'constructor', 'missing'])(
    'has no member %s unless it was sent',
    (key) => {
      const body = readJsonBody(Buffer.from('{"a":1}'))
      expect(body.value(key)).toBeUndefined()
      expect(body.source(key)).toBe('')
    },
  )

  test('may start with a byte order mark', () => {
    expect(readJsonBody(Buffer.from('\ufeff{"a":1}')).keys).toEqual(['a'])
    expect(rejection('\ufeff\ufeff{"a":1}')).toBe('the body is not valid JSON at line 1, column 1')
  })

  test.each([
    ['nothing', '', 'the body is empty and must be a JSON object'],
    ['only whitespace', ' \n ', 'the body is empty and must be a JSON object'],
    ['a string', '"x"', 'the body must be a JSON object'],
    ['a number', '1', 'the body must be a JSON object'],
    ['a boolean', 'true', 'the body must be a JSON object'],
    ['null', 'null', 'the body must be a JSON object'],
    ['an array', '[]', 'the body must be a JSON object'],
    ['an array of objects', '[{"title":"t"}]', 'the body must be a JSON object'],
    ['an incomplete object', '{"title":', 'the body is not valid JSON at line 1, column 10'],
    ['a word', 'hello', 'the body is not valid JSON at line 1, column 1'],
    ['two JSON texts', '{}{}', 'the body is not valid JSON at line 1, column 3'],
    ['a mistake on a later line', '{\n  "a": 1,\n  "b": x\n}', 'the body is not valid JSON at line 3, column 8'],
    ['a duplicate key', '{"title":"a","title":"b"}', 'the body has the key `title` twice in one object'],
    [
      'a duplicate key that is escaped',
      String.raw`{"title":1,"\u0074itle":2}`,
      'the body has the key `title` twice in one object',
    ],
    ['a nested duplicate key', '{"a":[{"b":1,"b":2}]}', 'the body has the key `b` twice in one object'],
    ['__proto__', '{"__proto__":{"a":1}}', 'the body has the key `__proto__`, which no object may have'],
    [
      'a nested constructor',
      '{"a":[{"constructor":1}]}',
      'the body has the key `constructor`, which no object may have',
    ],
    [
      'an escaped prototype',
      String.raw`{"\u0070rototype":1}`,
      'the body has the key `prototype`, which no object may have',
    ],
    ['33 levels', nested(33), 'the body is nested deeper than 32 levels'],
    ['40,000 levels', nested(40_000), 'the body is nested deeper than 32 levels'],
    ['100,000 unclosed levels', '{"a":'.repeat(100_000), 'the body is nested deeper than 32 levels'],
    ['2,001 keys', `{${keys(2_001)}}`, 'the body has more than 2000 keys in one object'],
    ['100,001 keys', `{${keys(100_001)}}`, 'the body has more than 2000 keys in one object'],
    ['10,001 keys in all', `{"a":[${Array(11).fill(`{${keys(1_000)}}`)}]}`, 'the body has more than 10000 keys'],
  ])('is rejected: %s', (_what, text, message) => {
    expect(rejection(text)).toBe(message)
    expectCleanPrototype()
  })

  test('is rejected with at most 64 characters of a key', () => {
    const key = '😀'.repeat(100_000)
    expect(rejection(`{"${key}":1,"${key}":2}`)).toBe(
      `the body has the key \`${'😀'.repeat(64)}…\` twice in one object`,
    )
  })

  test.each([
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
    ['an invalid byte in a string', [0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]],
    ['an overlong encoding of a slash', [0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]],
    ['a surrogate encoded as three bytes', [0x7b, 0x22, 0xed, 0xa0, 0xbd, 0x22, 0x3a, 0x31, 0x7d]],
  ])('is rejected: %s', (_what, bytes) => {
    expect(rejection(Uint8Array.from(bytes))).toBe('the body is not valid UTF-8')
  })
})

describe('the grammar', () => {
  const MISTAKES = [
    '{"a":1,}',
    "{'a':1}",
    '{a:1}',
    '{"a":1 /* c */}',
    '{"a":NaN}',
    '{"a":Infinity}',
    '{"a":01}',
    '{"a":+1}',
    '{"a":.5}',
    '{"a":1.}',
    '{"a":0x10}',
    '{"a":-}',
    '{"a":1e}',
    '{"a":"\t"}',
    '{"a":"\n"}',
    String.raw`{"a":"\x41"}`,
    String.raw`{"a":"\u00g1"}`,
    String.raw`{"a":"\u12"}`,
    '{"a":"b}',
    '{"a" 1}',
    '{"a":1 "b":2}',
    '{,}',
    '{"a":[1,]}',
    '{"a":[,1]}',
    '{"a":[1 2]}',
    '{"a":[}',
    '{"a":tru}',
    '{"a":True}',
    '{"a":undefined}',
    '{"a":1}}',
    '{"a":1}]',
    '\u00a0{"a":1}',
    '{"a":1}\u0000',
    '\v{"a":1}',
    '{"a":"\u0000"}',
  ]

  test.each(MISTAKES)('is RFC 8259, which %j violates', (text) => {
    expect(() => JSON.parse(text)).toThrow()
    expect(rejection(text)).toMatch(/^the body is not valid JSON at line \d+, column \d+$/)
  })

  test('agrees with JSON.parse about texts that are almost JSON', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '"a"',
      '"b"',
      'u0041',
      '0',
      '1',
      '-',
      '.',
      'e',
      '+',
      'true',
      'null',
      ' ',
      '\n',
      'é',
      '\u0001',
    )
    const texts = fc.array(pieces, { maxLength: 12 }).map((parts) => `{"x":${parts.join('')}}`)
    fc.assert(
      fc.property(texts, (text) => expectAgreement(text)),
      { numRuns: 5_000, seed: 1 },
    )
  })

  test('agrees with JSON.parse about every value', () => {
    const values = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 }))
    fc.assert(
      fc.property(values, fc.constantFrom(0, 1, 3), (value, indent) =>
        expectAgreement(JSON.stringify(value, null, indent)),
      ),
      { numRuns: 1_000, seed: 1 },
    )
  })
})

describe('the cost of parsing', () => {
  test.each([
    ['strings', `{"a":"${'a'.repeat(1_000_000)}"}`],
    ['escapes', `{"a":"${'\\u0041'.repeat(150_000)}"}`],
    ['digits', `{"a":${'9'.repeat(1_000_000)}}`],
    ['an unclosed string', `{"a":"${'a'.repeat(1_000_000)}`],
    ['line breaks before a mistake', `${'\n'.repeat(1_000_000)}x`],
    ['numbers', `{"a":[${'1,'.repeat(500_000)}1]}`],
  ])('of a megabyte of %s is linear in its length', (_what, text) => {
    // Anything worse would outlast the time for a test.
    expect(rejection(text)).toBeDefined()
  })
})

/** Accepts the same texts with the same values, but for the extra rules, which name themselves. */
function expectAgreement(text: string): void {
  const answer = rejection(text)
  if (answer.includes('key') || answer.includes('nested')) return
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    expect(answer).toMatch(/not valid JSON/)
    return
  }
  expect(answer).toBe('accepted')
  const body = readJsonBody(Buffer.from(text))
  expect(Object.fromEntries(body.keys.map((key) => [key, body.value(key)]))).toEqual(value)
}
