import { Composer, CST, isMap, isScalar, isSeq, Lexer, type Pair, type ParsedNode, Parser, type Scalar } from 'yaml'
import { FORBIDDEN_NAMES, type Json } from '../../foundation/json.js'
import { isRounded } from '../../fields/spelling/json-text.js'
import { decodeConfig } from './decode.js'
import type { Diagnostic, Range } from '../diagnostic.js'
import { findLocated, type Located, type Path, type Span } from './located.js'
import { type SourceText, type TextError, textDiagnostic } from './source-text.js'
import { createTokenCheck, END, syntaxWords } from './syntax.js'
import { show } from '../words.js'

/** The unchecked content of a configuration file, with the place of each value. */
export interface ConfigDocument {
  /** The name as given. */
  readonly file: string
  readonly lines: readonly string[]
  /** Mappings have no prototype. */
  readonly value: Json
  /** The place of the key or the value at a path; for a missing path, the nearest place around it. */
  locate(path: Path, part: 'key' | 'value'): Range
}

/** The deepest nesting of lists and mappings. */
const MAX_DEPTH = 20
/** About as many as a configuration of the maximum size has. The limit bounds the time and memory for files full of brackets and commas. */
const MAX_TOKENS = 2_000_000
/** Further errors in one file would not help. */
const MAX_REJECTED_TOKENS = 1000

type Reject = (error: TextError) => void

/** Parses a configuration file. Returns the document, or every error that makes its bytes unusable, in file order. */
export function readConfig(bytes: Uint8Array, file: string): ConfigDocument | Diagnostic[] {
  const source = decodeConfig(bytes, file)
  if ('code' in source) return [source]
  const errors: TextError[] = []
  const root = parse(source, (error) => void errors.push(error))
  if (root === undefined || errors.length > 0) {
    return errors.sort((one, other) => one.from - other.from).map((error) => textDiagnostic(source, error))
  }
  return {
    file,
    lines: source.lines,
    value: root.json,
    locate(path, part) {
      const { from, to } = findLocated(root, path)[part]
      return source.range(from, to)
    },
  }
}

function parse({ text, lines, range }: SourceText, reject: Reject): Located | undefined {
  const tokens = scan(text, reject)
  if (tokens === undefined) return undefined
  // The library's own check for duplicate keys takes quadratic time.
  const options = { version: '1.2', schema: 'core', uniqueKeys: false, intAsBigInt: true, prettyErrors: false } as const
  const [document, second] = [...new Composer(options).compose(tokens, true, text.length)]
  if (document === undefined) return undefined
  if (second !== undefined) {
    const from = second.range[0]
    const message = 'a second document starts here'
    reject({ code: 'SC109', from, to: from + 3, message, help: ['a configuration is one document'] })
  }
  const errors = [...document.errors, ...document.warnings]
  // Only the first error is certain; the others may be consequences.
  const [first] = errors.toSorted((one, other) => one.pos[0] - other.pos[0])
  if (first !== undefined) {
    const from = Math.max(0, Math.min(first.pos[0], text.trimEnd().length - 1))
    const { line } = range(from, from).start
    const to = Math.min(first.pos[1], from + (lines[line - 1]?.length ?? 0))
    reject({ code: 'SC114', from, to, ...syntaxWords(first.code, first.message) })
  }
  if (errors.length > 0 || second !== undefined) return undefined
  const whole = { from: 0, to: 0 }
  return locateNode(document.contents, whole, reject)
}

const SCALAR_MARK = '\u001f'

/** The lexer marks each plain scalar, because its text may look like any other token. */
function typeOf(lexeme: string, previous: string): string {
  if (lexeme === SCALAR_MARK) return 'scalar-mark'
  return previous === SCALAR_MARK ? 'scalar' : (CST.tokenType(lexeme) ?? '')
}

/**
 * Reads the text token by token without building values, which needs no recursion. Composing is recursive, and a depth of some
 * thousands can crash the process without an exception, so the depth is checked first.
 */
function scan(text: string, reject: Reject): CST.Token[] | undefined {
  const parser = new Parser()
  const tokens: CST.Token[] = []
  let previous = ''
  let count = 0
  let rejected = 0
  const check = createTokenCheck()
  const stop = (error: TextError) => {
    rejected += 1
    reject(error)
  }
  /** Whether the text can be read further. After a syntax error nothing is certain. */
  const accept = (type: string, source: string, from: number): boolean => {
    const error = check({ type, source, from })
    if (error === undefined) return true
    const { token, ...words } = error
    const length = token.type.endsWith('quoted-scalar') ? 1 : token.source.length
    stop({ ...words, from: token.from, to: token.from + length })
    return words.code !== 'SC114' && rejected < MAX_REJECTED_TOKENS
  }
  // YAML takes a lone CR as a line end, the library does not.
  for (const lexeme of new Lexer().lex(text.replace(/\r(?!\n)/g, '\n'))) {
    const from = parser.offset
    const type = typeOf(lexeme, previous)
    previous = lexeme
    const to = from + lexeme.length
    if (!accept(type, lexeme, from)) return undefined
    for (const token of parser.next(lexeme)) tokens.push(token)
    count += 1
    if (count > MAX_TOKENS) {
      const help = ['remove data that is not configuration; `snippetctl seed` reads records from files of their own']
      stop({ code: 'SC117', from, to, message: `the file has more than ${MAX_TOKENS} tokens`, help })
      return undefined
    }
    if (parser.stack.length > MAX_DEPTH && depth(parser.stack) > MAX_DEPTH) {
      const help = ['close the brackets that are open, or correct the indentation']
      stop({ code: 'SC105', from, to, message: `nested too deeply: more than ${MAX_DEPTH} levels`, help })
      return undefined
    }
  }
  if (!accept(END, '', parser.offset)) return undefined
  for (const token of parser.end()) tokens.push(token)
  return rejected > 0 ? undefined : tokens
}

function depth(stack: readonly CST.Token[]): number {
  return stack.filter(CST.isCollection).length
}

function spanOf(node: ParsedNode | null, fallback: Span): Span {
  if (node === null) return fallback
  const [from, to] = node.range
  return from === to ? fallback : { from, to }
}

/** Most values have none, and a map for each takes much memory. */
const NO_ENTRIES: Located['entries'] = new Map()

function locateNode(node: ParsedNode | null, key: Span, reject: Reject): Located {
  const value = spanOf(node, key)
  if (isMap(node)) return locateMapping(node.items, { key, value }, reject)
  if (isSeq(node)) {
    const items = node.items.map((item) => locateNode(item, spanOf(item, value), reject))
    const entries = new Map(items.map((item, index) => [String(index), item]))
    return { json: items.map((item) => item.json), key, value, entries }
  }
  const json = isScalar(node) ? toJson(node, value, reject) : null
  return { json, key, value, entries: NO_ENTRIES }
}

function locateMapping(
  pairs: readonly Pair<ParsedNode, ParsedNode | null>[],
  spans: { readonly key: Span; readonly value: Span },
  reject: Reject,
): Located {
  const json: Record<string, Json> = Object.create(null)
  const entries = new Map<string, Located>()
  for (const pair of pairs) {
    const key = spanOf(pair.key, spans.value)
    const name = keyName(pair.key, key, reject)
    if (name === undefined) continue
    if (entries.has(name)) {
      reject({
        code: 'SC111',
        ...key,
        message: `the key ${show(name)} appears twice in one mapping`,
        help: ['remove or rename one of them'],
      })
      continue
    }
    const located = locateNode(pair.value, key, reject)
    entries.set(name, located)
    json[name] = located.json
  }
  return { json, ...spans, entries }
}

function keyName(node: ParsedNode, span: Span, reject: Reject): string | undefined {
  if (!isScalar(node) || typeof node.value !== 'string') {
    reject({ code: 'SC113', ...span, message: 'a key must be plain text', help: ['quote it if it is meant as text'] })
    return undefined
  }
  const name = node.value
  if (name === '<<') {
    reject({ code: 'SC110', ...span, message: 'merge keys are not allowed', help: ['write the keys out'] })
    return undefined
  }
  if (FORBIDDEN_NAMES.has(name)) {
    reject({ code: 'SC112', ...span, message: `the key ${show(name)} is not allowed`, help: ['choose another name'] })
    return undefined
  }
  return name
}

/** Below the smallest normal number, numbers do not have 15 digits. */
const MIN_PRECISE = 2.2250738585072014e-308

function toJson({ value, source = '' }: Scalar, span: Span, reject: Reject): Json {
  if (typeof value !== 'number' && typeof value !== 'bigint')
    return typeof value === 'string' || typeof value === 'boolean' ? value : null
  const number = Number(value)
  if (/^[-+]?0[0-9]/.test(source)) {
    const help = [`without the zero: \`${number}\``, `as text: \`"${source}"\``]
    reject({ code: 'SC116', ...span, message: `the number ${show(source)} starts with a zero`, help })
  }
  if (typeof value === 'bigint' ? !Number.isSafeInteger(number) : !Number.isFinite(number) || isRounded(source)) {
    // Numbers near zero have fewer digits.
    const help =
      typeof value === 'number' && Math.abs(number) < MIN_PRECISE
        ? [`the nearest number is \`${number}\`; put text in quotes`]
        : ['write an integer within ±9007199254740991 or a finite number of at most 15 digits; put text in quotes']
    reject({ code: 'SC115', ...span, message: `${show(source)} cannot be represented exactly as a number`, help })
  }
  return number
}
