import { describe, expect, test } from '@jest/globals'
import { JsonText } from '../../src/index.js'

describe('a stored JSON value', () => {
  test.each([
    '{"at":1700000000000000}',
    '[9007199254740991,-1700000000000000]',
    '0.30000000000000004',
    '{"text":"1700000000000000000000"}',
  ])('is written by JSON.stringify with its digits: %s', (text) => {
    expect(JSON.stringify(new JsonText(text))).toBe(text)
  })

  test.each(['{"big":9007199254740993}', '12345678901234567890', '[0.12345678901234567890]', '1e400'])(
    'is not written by JSON.stringify if that would change a number: %s',
    (text) => {
      expect(() => JSON.stringify(new JsonText(text))).toThrow('has numbers that JSON.stringify rounds; use its text')
    },
  )
})
