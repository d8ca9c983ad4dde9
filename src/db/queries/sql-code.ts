/** The text without comments, literals and quoted names, in lower case: only words and symbols remain. */
export function codeOf(text: string): string {
  return text
    .replaceAll(QUOTED, (found) =>
      found.startsWith('"') ? '""' : found.startsWith('-') || found.startsWith('/') ? ' ' : "''",
    )
    .toLowerCase()
}

/** Comments, string constants (plain, with escapes, and dollar-quoted) and quoted identifiers. */
const QUOTED =
  /--[^\n]*|\/\*[\s\S]*?\*\/|\b[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|\$([A-Za-z_]\w*)?\$[\s\S]*?\$\1\$|"(?:[^"]|"")*"/g

/**
 * The code that a `do` statement runs; empty for other statements. If the code executes texts, all texts in it are code.
 * @param own the code of the statement
 */
export function codeOfBlock(text: string, own: string): string {
  if (!/^\W*do\b/.test(own)) return ''
  const [quoted = ''] = [...text.matchAll(QUOTED)].map(([found]) => found).filter((found) => /^[e'$]/i.test(found))
  if (quoted.startsWith('$')) return codeOfBody(quoted.replaceAll(/^\$\w*\$|\$\w*\$$/g, ''))
  return codeOfBody(quoted.slice(quoted.indexOf("'") + 1, -1).replaceAll("''", "'"))
}

function codeOfBody(body: string): string {
  const code = codeOf(body)
  return /\bexecute\b/.test(code) ? codeOf(body.replaceAll(/'|\$(?:[A-Za-z_]\w*)?\$/g, ' ')) : code
}
