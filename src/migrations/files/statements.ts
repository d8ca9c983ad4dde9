import { unquote } from '../../fields/sql-literal.js'

/** The effect on an index of a statement that runs outside a transaction. */
export interface ConcurrentIndex {
  /** The original statement. The `text` of the FileStatement is without `concurrently`, so that it can run in a transaction. */
  readonly sql: string
  /** The name of the index as SQL, with its schema if the statement has one. */
  readonly name: string
  /** Set if the statement creates the index; otherwise it drops it. `name` has no schema; `text` is that of the FileStatement, without the schema of the table. */
  readonly creates?: { readonly name: string; readonly text: string }
}

/** A statement that is its own transaction, and has the same result if it runs again after an interruption. */
export interface RepeatableStatement {
  /** Set if the statement adds a constraint: its table as SQL, and its name. Other statements can simply run again. */
  readonly adds?: { readonly table: string; readonly constraint: string }
  /** The table as SQL, if the statement fills a column where it is null, which can be done a few rows at a time. */
  readonly fills?: string
}

/** One SQL statement of a file, without its semicolon, and the line of its first word. */
export interface FileStatement {
  readonly text: string
  readonly line: number
  /** Set for a statement that runs outside a transaction if the database can do so. */
  readonly concurrent?: ConcurrentIndex
  /** Set for other statements of a file without a transaction. */
  readonly repeatable?: RepeatableStatement
}

/** A name in SQL, quoted or not, as part of a pattern with the flags `iu`. */
export const NAME = String.raw`(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\w$]*)`

/** The name that SQL means: quoted, or without quotes in any case. PostgreSQL lowers only the letters of ASCII. */
export function unquoted(name: string): string {
  return name.startsWith('"') ? unquote(name) : name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** A quoted identifier, a string literal with escapes (`E'…'`), or a plain one, in which a backslash has no meaning; as part of a pattern. */
export const QUOTED = String.raw`"(?:[^"]|"")*"|\bE'(?:[^'\\]|''|\\[^])*'|'(?:[^']|'')*'`

/** Tokens of PostgreSQL's scanner, as far as finding the semicolons that end statements requires. */
const TOKENS = [
  /--[^\n]*/y,
  /[eE]'[^'\\]*(?:(?:\\.|'')[^'\\]*)*(?:'|$)/sy,
  /'[^']*(?:''[^']*)*(?:'|$)/y,
  /"[^"]*(?:""[^"]*)*(?:"|$)/y,
  /\$(?:[A-Za-z_\x80-\uffff][\w\x80-\uffff]*)?\$/y,
  /[A-Za-z_\x80-\uffff][\w$\x80-\uffff]*/y,
  /\s+/y,
  /./suy,
]

/** Whether a token is white space or a comment. */
export function isSpace(token: string): boolean {
  return /^(?:\s|--|\/\*)/.test(token)
}

/**
 * Splits SQL into statements as psql does: not inside quotes, comments, parentheses, or function bodies with BEGIN ATOMIC.
 */
export function splitStatements(sql: string, firstLine = 1): readonly FileStatement[] {
  const statements: FileStatement[] = []
  let start: number | undefined
  // Without a comment that follows: a semicolon behind it would be part of it.
  let end = 0
  let parentheses = 0
  let blocks = 0
  let words: readonly string[] = []
  let previous = ''
  let routine = false
  const lineAt = lineCounter(sql, firstLine)
  const close = () => {
    if (start !== undefined) statements.push({ text: sql.slice(start, end), line: lineAt(start) })
    start = undefined
    parentheses = 0
    blocks = 0
    words = []
    routine = false
  }
  for (const { token, at } of tokensOf(sql)) {
    if (token === ';' && parentheses <= 0 && blocks <= 0) close()
    else if (!isSpace(token)) {
      start ??= at
      end = at + token.length
      parentheses += token === '(' ? 1 : token === ')' ? -1 : 0
      const word = token.toLowerCase()
      if (words.length < 4) {
        words = [...words, word]
        routine = isRoutine(words)
      }
      // As the name of a column, `case` and `end` follow `as` or a dot.
      const isName = previous === 'as' || previous === '.'
      if (blocks > 0 && !isName) blocks += word === 'case' ? 1 : word === 'end' ? -1 : 0
      // Alone, `begin` can be the name of a parameter.
      else if (routine && parentheses === 0 && previous === 'begin' && word === 'atomic') blocks = 1
      previous = word
    }
  }
  close()
  return statements
}

/** A comment, and its line from 1. */
export interface LineComment {
  readonly text: string
  readonly line: number
}

/** Finds the comments `-- …` that begin a line: not inside quotes, or comments of the other kind. */
export function readLineComments(sql: string): readonly LineComment[] {
  const lineAt = lineCounter(sql, 1)
  return [...tokensOf(sql)]
    .filter(({ token, at }) => token.startsWith('--') && (at === 0 || sql[at - 1] === '\n'))
    .map(({ token, at }) => ({ text: token, line: lineAt(at) }))
}

function isRoutine(words: readonly string[]): boolean {
  return /^create (?:or replace )?(?:function|procedure)\b/.test(words.join(' '))
}

/** The tokens of SQL, among them white space and comments; a string literal or a quoted name is one token. */
export function* tokensOf(sql: string): Generator<{ readonly token: string; readonly at: number }> {
  for (let at = 0; at < sql.length; ) {
    const token = readToken(sql, at)
    yield { token, at }
    at += token.length
  }
}

function readToken(sql: string, at: number): string {
  if (sql.startsWith('/*', at)) return readComment(sql, at)
  for (const pattern of TOKENS) {
    pattern.lastIndex = at
    const token = pattern.exec(sql)?.[0]
    if (token === undefined) continue
    return /^\$.*\$$/s.test(token) ? readDollarQuote(sql, at, token) : token
  }
  return sql.slice(at)
}

function readDollarQuote(sql: string, at: number, tag: string): string {
  const end = sql.indexOf(tag, at + tag.length)
  return end < 0 ? sql.slice(at) : sql.slice(at, end + tag.length)
}

/** In SQL, comments of this kind nest. */
function readComment(sql: string, at: number): string {
  const marks = /\/\*|\*\//g
  marks.lastIndex = at
  let depth = 0
  for (let mark = marks.exec(sql); mark; mark = marks.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return sql.slice(at, marks.lastIndex)
  }
  return sql.slice(at)
}

/** Finds the lines of ascending offsets, and counts the lines of a long file only once. */
function lineCounter(text: string, firstLine: number): (place: number) => number {
  let line = firstLine
  let next = text.indexOf('\n')
  return (place) => {
    for (; next >= 0 && next < place; next = text.indexOf('\n', next + 1)) line += 1
    return line
  }
}
