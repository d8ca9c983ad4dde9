import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
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

  test.each(['1.2345678901234e20', '0.1000000000000000', '1.50', '1.7976931348623157e308', '0e999', '[0.0]'])(
    'is written by JSON.stringify if only the spelling of a number changes: %s',
    (text) => {
      expect(JSON.parse(JSON.stringify(new JsonText(text)))).toEqual(JSON.parse(text))
    },
  )

  test('is written by JSON.stringify exactly if the written number is equal', () => {
    const digits = fc.stringMatching(/^[0-9]{1,20}$/)
    const exponent = fc.oneof(fc.constant(0), fc.integer({ min: -345, max: 330 }))
    fc.assert(
      fc.property(fc.constantFrom('', '-'), digits, fc.option(digits), exponent, (sign, whole, fraction, power) => {
        const text = `${sign}${BigInt(whole)}${fraction === null ? '' : `.${fraction}`}${power === 0 ? '' : `e${power}`}`
        const written = JSON.stringify(Number(text))
        const isEqual = written !== 'null' && scaled(written) === scaled(text)
        expect(writes(text)).toBe(isEqual)
      }),
      { numRuns: 3_000 },
    )
  })
})

function writes(text: string): boolean {
  try {
    JSON.stringify(new JsonText(text))
    return true
  } catch {
    return false
  }
}

/** A decimal number as a multiple of 10^-400. */
function scaled(number: string): bigint {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(number) ?? []
  const value = BigInt(whole + fraction) * 10n ** BigInt(400 + Number(exponent) - fraction.length)
  return sign === '-' ? -value : value
}
