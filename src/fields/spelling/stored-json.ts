import { NUMBERS, withoutStrings } from './json-text.js'

const OUTSIDE_STRINGS = new RegExp(`[ \\t\\n\\r]+|[,:]|${NUMBERS.source}`, 'g')
const ESCAPES = /\\(?:u([0-9A-Fa-f]{4})|.)/g

/** The bytes of a JSON value as PostgreSQL prints a `jsonb`, by its text: with a space after each comma and colon, and numbers written in full. */
export function storedBytes(source: string): number {
  let bytes = Buffer.byteLength(source)
  for (const [token] of withoutStrings(source).matchAll(OUTSIDE_STRINGS)) bytes += printedLength(token) - token.length
  for (const [escape, code] of source.matchAll(ESCAPES)) bytes += unescapedBytes(escape, code) - escape.length
  return bytes
}

function printedLength(token: string): number {
  if (token.trim() === '') return 0
  return token === ',' || token === ':' ? 2 : numberLength(token)
}

/** PostgreSQL keeps the decimals of a number, and writes no exponent. */
function numberLength(number: string): number {
  if (!number.startsWith('-0') && !/e/i.test(number)) return number.length
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = `${whole}${fraction}`
  const zeros = /^0*/.exec(digits)?.[0].length ?? 0
  const isZero = zeros === digits.length
  const decimals = Math.max(0, fraction.length - Number(exponent))
  const integer = isZero ? 1 : Math.max(1, whole.length + Number(exponent) - zeros)
  return (number.startsWith('-') && !isZero ? 1 : 0) + integer + (decimals > 0 ? 1 + decimals : 0)
}

function unescapedBytes(escape: string, code: string | undefined): number {
  if (code === undefined) return escape === '\\/' ? 1 : 2
  const unit = Number.parseInt(code, 16)
  // Two units of a pair are one character of four bytes.
  if (unit >= 0xd800 && unit <= 0xdfff) return 2
  return Buffer.byteLength(JSON.stringify(String.fromCharCode(unit))) - 2
}
