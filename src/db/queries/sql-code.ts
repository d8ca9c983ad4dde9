/** The text without comments, literals and quoted names, in lower case: only words and symbols remain. */
export function codeOf(text: string): string {
  return text
    .replaceAll(QUOTED, (found) =>
      found.startsWith('"') ? '""' : found.startsWith('-') || found.startsWith('/') ? ' ' : "''",
    )
    .toLowerCase()
}

/** The beginning or end of a dollar-quoted text, with its tag. */
const DOLLARS = String.raw`\$((?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?)\$`

/** Comments, string constants (plain, with escapes, and dollar-quoted) and quoted identifiers. */
const QUOTED = new RegExp(
  String.raw`--[^\n\r]*|/\*[\s\S]*?\*/|\b[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|${DOLLARS}[\s\S]*?\$\1\$|"(?:[^"]|"")*"`,
  'g',
)

const DO = /^\W*do\b/

/** The code of a `do` statement that has its block in one text; its language may be a text, too. */
const ONE_TEXT = /^\s*do(?:\s*language\s*(?:\w+|''|""))?\s*''(?:\s*language\s*(?:\w+|''|""))?[\s;]*$/

/** A text without escapes, except for quotes and backslashes. */
const WITHOUT_ESCAPES = /^(?:['$]|e(?:[^\\]|\\['\\])*$)/i

/** Whether `codeOfBlock` can read the code of the statement. */
export function isReadable(text: string, own: string): boolean {
  return !DO.test(own) || (ONE_TEXT.test(own) && literalsOf(text).every((literal) => WITHOUT_ESCAPES.test(literal)))
}

/**
 * The code that a `do` statement runs; empty for other statements. If the code executes texts, all texts in it are code.
 * @param own the code of the statement
 */
export function codeOfBlock(text: string, own: string): string {
  return DO.test(own) ? literalsOf(text).map(bodyOf).map(codeOfBody).join(' ') : ''
}

function literalsOf(text: string): readonly string[] {
  return [...text.matchAll(QUOTED)].map(([found]) => found).filter((found) => /^[e'$]/i.test(found))
}

function bodyOf(literal: string): string {
  if (literal.startsWith('$')) return literal.replaceAll(/^\$[^$]*\$|\$[^$]*\$$/g, '')
  const body = literal.slice(literal.indexOf("'") + 1, -1)
  return literal.startsWith("'") ? body.replaceAll("''", "'") : body.replaceAll(/''|\\([\s\S])/g, (_, own = "'") => own)
}

/** Statements that run the code in their texts. */
const EXECUTES = /\b(?:execute|create|do(?!\s+(?:nothing|update)\b))\b/

/** Quotes around code, and escapes that are spaces. */
const QUOTES = new RegExp(String.raw`(?:\be)?'|${DOLLARS}|\\[nrt]`, 'gi')

function codeOfBody(body: string): string {
  const code = codeOf(body)
  return EXECUTES.test(code) ? codeOf(body.replaceAll(QUOTES, ' ')) : code
}
