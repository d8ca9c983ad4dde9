import { unquote } from '../../../fields/sql-literal.js'

/** A constant, with the types that it is cast to. */
interface Constant {
  readonly kind: 'value'
  readonly text: string
  readonly quoted: boolean
  readonly casts: readonly string[]
}

/** A parsed expression of the catalogue. */
export type Expression =
  | { readonly kind: 'column'; readonly name: string; readonly casts: readonly string[] }
  | Constant
  | { readonly kind: 'call'; readonly name: string; readonly argument: Expression }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | { readonly kind: 'compare'; readonly operator: string; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'and'; readonly parts: readonly Expression[] }

/** In string literals only quotes are escaped, because connections set `standard_conforming_strings`. */
const TOKEN =
  /\s*('(?:[^']|'')*'|"(?:[^"]|"")+"|::|<>|[<>]=|[=<>()[\],.]|-?\d+(?:\.\d+)?|(?:character varying|double precision|time(?:stamp)?(?:\(\d\))? with(?:out)? time zone|[A-Za-z_]\w*))/y

/** Types to which PostgreSQL casts the integer that a function returns, for a comparison. */
const WIDER_INTEGERS = new Set(['bigint', 'numeric'])

const COMPARISONS = new Set(['=', '<>', '<', '<=', '>', '>='])

/** Thrown for an expression that this parser does not support. */
class Unsupported extends Error {}

interface Reader {
  peek(): string | undefined
  take(expected?: string): string
}

/** Parses a check as PostgreSQL prints it; returns undefined if it contains more than comparisons of columns, or functions of them, with constants, joined by `and`. */
export function readExpression(text: string): Expression | undefined {
  try {
    const reader = readerOf(tokensOf(text))
    const expression = readAll(reader)
    return reader.peek() === undefined ? expression : undefined
  } catch (error) {
    if (error instanceof Unsupported) return undefined
    throw error
  }
}

function tokensOf(text: string): readonly string[] {
  const tokens: string[] = []
  const end = text.trimEnd().length
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < end; ) {
    const token = TOKEN.exec(text)?.[1]
    if (token === undefined) throw new Unsupported()
    tokens.push(token)
  }
  return tokens
}

function readerOf(tokens: readonly string[]): Reader {
  let at = 0
  return {
    peek: () => tokens[at],
    take(expected) {
      const token = tokens[at]
      if (token === undefined || (expected !== undefined && token !== expected)) throw new Unsupported()
      at += 1
      return token
    },
  }
}

function readAll(reader: Reader): Expression {
  const parts = [readComparison(reader)]
  while (reader.peek() === 'AND') {
    reader.take()
    parts.push(readComparison(reader))
  }
  const [only] = parts
  return only && parts.length === 1 ? only : { kind: 'and', parts }
}

function readComparison(reader: Reader): Expression {
  const left = readOperand(reader)
  if (!COMPARISONS.has(reader.peek() ?? '')) return left
  const operator = reader.take()
  if (reader.peek() !== 'ANY') return { kind: 'compare', operator, left, right: readOperand(reader) }
  reader.take()
  const right = readOperand(reader)
  if (operator !== '=' || right.kind !== 'list') throw new Unsupported()
  return { kind: 'compare', operator: 'in', left, right }
}

function readOperand(reader: Reader): Expression {
  let operand = readPrimary(reader)
  while (reader.peek() === '::') {
    reader.take()
    operand = castOf(operand, readType(reader))
  }
  return operand
}

function readType(reader: Reader): string {
  let type = reader.take()
  if (reader.peek() === '.') type += reader.take() + reader.take()
  while (reader.peek() === '[' || reader.peek() === '(') {
    const open = reader.take()
    type += open
    while (reader.peek() !== ']' && reader.peek() !== ')') type += reader.take()
    type += reader.take()
  }
  return type
}

function castOf(operand: Expression, type: string): Expression {
  if (operand.kind === 'value' || operand.kind === 'column') return { ...operand, casts: [...operand.casts, type] }
  if (operand.kind === 'call' && WIDER_INTEGERS.has(type)) return operand
  if (operand.kind === 'list' && type.endsWith('[]')) return operand
  throw new Unsupported()
}

function readPrimary(reader: Reader): Expression {
  const token = reader.take()
  if (token === '(') {
    const inner = readAll(reader)
    reader.take(')')
    return inner
  }
  if (token.startsWith("'")) return constant(token.slice(1, -1).replaceAll("''", "'"), true)
  if (/^-?\d/.test(token)) return constant(token, false)
  if (token === 'ARRAY') return readList(reader)
  if (token.startsWith('"')) return column(unquote(token))
  if (!/^[a-z_]\w*$/.test(token)) throw new Unsupported()
  if (reader.peek() !== '(') return column(token)
  reader.take('(')
  const argument = readAll(reader)
  reader.take(')')
  return { kind: 'call', name: token, argument }
}

function column(name: string): Expression {
  return { kind: 'column', name, casts: [] }
}

function constant(text: string, quoted: boolean): Constant {
  return { kind: 'value', text, quoted, casts: [] }
}

function readList(reader: Reader): Expression {
  reader.take('[')
  const items = [readOperand(reader)]
  while (reader.peek() === ',') {
    reader.take()
    items.push(readOperand(reader))
  }
  reader.take(']')
  return { kind: 'list', items }
}
