import { unquote } from '../../fields/sql-literal.js'

/**
 * The tokens of a SQL text, as PostgreSQL's lexer finds them, without spaces and comments: words in lower case, quoted names in their quotes, `''` for a
 * text, `0` for a number, parameters such as `$1`, `u&"` for a name with escapes, and any other character by itself.
 */
export type Tokens = readonly string[]

/** Only ASCII has spaces in SQL; all other characters are letters. */
const SPACES = String.raw`(?:[\t-\r ]|--[^\n\r]*)+`
const LETTER = String.raw`[A-Za-z_\u0080-\uffff]`
const PLAIN_TEXT = `'(?:[^']|'')*'`
const ESCAPES = String.raw`'(?:[^'\\]|\\[\s\S]|'')*'`
/** A text continues after a line break, with the same escapes. */
const CONTINUED = String.raw`[\t\v\f ]*(?:--[^\n\r]*)?[\n\r](?:[\t-\r ]|--[^\n\r]*[\n\r])*`
const ESCAPED_TEXT = `${ESCAPES}(?:${CONTINUED}${ESCAPES})*`
const DIGITS = String.raw`\d+(?:_\d+)*`
const NUMBER = String.raw`(?:${DIGITS}\.?(?:${DIGITS})?|\.${DIGITS})(?:[eE][+-]?${DIGITS})?`
const WORD = String.raw`${LETTER}[\w$\u0080-\uffff]*`
/** A parameter, or the beginning of a dollar-quoted text, with its tag. */
const DOLLAR = String.raw`\$(?:\d+|(?:${LETTER}[\w\u0080-\uffff]*)?\$)`
const OTHERS = [String.raw`(?:[uU]&)?"(?:[^"]|"")*"`, NUMBER, WORD, DOLLAR, String.raw`/\*`, String.raw`[\s\S]`]

const TOKEN = new RegExp([SPACES, `[eE]${ESCAPED_TEXT}`, PLAIN_TEXT, ...OTHERS].join('|'), 'y')
const ESCAPED_TOKEN = new RegExp([SPACES, `[eE]?${ESCAPED_TEXT}`, ...OTHERS].join('|'), 'y')

/**
 * The tokens of a text, for each way in which PostgreSQL may read it: without `standard_conforming_strings`, each text may have escapes.
 * @throws Error for an unterminated text, quoted name or comment
 */
export function readingsOf(text: string): readonly [Tokens, ...Tokens[]] {
  const tokens = tokensOf(text, TOKEN)
  if (!tokens) throw new Error('the query has an unterminated text, quoted name or comment')
  const escaped = text.includes('\\') ? tokensOf(text, ESCAPED_TOKEN) : undefined
  return escaped ? [tokens, escaped] : [tokens]
}

/** @returns undefined for an unterminated text, quoted name or comment */
function tokensOf(text: string, pattern: RegExp): Tokens | undefined {
  const tokens: string[] = []
  let at = 0
  while (at < text.length) {
    pattern.lastIndex = at
    const [found = ''] = pattern.exec(text) ?? []
    at += found.length
    if (/^[\t-\r ]|^--/.test(found)) continue
    if (found === '/*') at = endOfComment(text, at)
    else if (/^\$\D/.test(found)) at = endOf(text, found, at)
    const isOpen = found === "'" || found === '"' || (/^e$/i.test(found) && text.charAt(at) === "'")
    if (isOpen || at < 0) return undefined
    if (found !== '/*') tokens.push(tokenOf(found))
  }
  return tokens
}

function tokenOf(found: string): string {
  if (/^(?:e?'|\$\D)/i.test(found)) return "''"
  if (/^u&/i.test(found)) return 'u&"'
  if (/^\.?\d/.test(found)) return '0'
  return found.startsWith('"') ? found : found.toLowerCase()
}

/** @returns -1 without an end */
function endOf(text: string, tag: string, start: number): number {
  const end = text.indexOf(tag, start)
  return end < 0 ? end : end + tag.length
}

/** Comments nest. */
function endOfComment(text: string, start: number): number {
  COMMENT.lastIndex = start
  for (let depth = 1; depth > 0; ) {
    const [found] = COMMENT.exec(text) ?? []
    if (found === undefined) return -1
    depth += found === '/*' ? 1 : -1
  }
  return COMMENT.lastIndex
}

const COMMENT = /\/\*|\*\//g

export function isName(token: string | undefined): boolean {
  return /^[a-z_"\u0080-\uffff]/.test(token ?? '')
}

/** The name that a token stands for. */
export function nameOf(token = ''): string {
  return unquote(token)
}

/** Words and symbols, with all quoted names empty. */
export function codeOf(tokens: Tokens): string {
  return tokens.map((token) => (token.startsWith('"') ? '""' : token)).join(' ')
}
