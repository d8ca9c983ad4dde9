import type { TextFault } from './source-text.js'

type Words = Pick<TextFault, 'code' | 'message' | 'help'>

const REFUSED_TOKENS: Readonly<Record<string, Words>> = {
  anchor: { code: 'SC106', message: 'anchors are not allowed', help: ['quote text that starts with `&`'] },
  alias: { code: 'SC106', message: 'aliases are not allowed', help: ['quote text that starts with `*`'] },
  tag: { code: 'SC107', message: 'tags are not allowed', help: ['quote text that starts with `!`'] },
  'directive-line': { code: 'SC108', message: 'directives are not allowed', help: ['the file is always YAML 1.2'] },
}

const OPENING = new Set(['flow-seq-start', 'flow-map-start'])
const CLOSING = new Set(['flow-seq-end', 'flow-map-end'])
const BLANK = new Set(['space', 'newline', 'comment', 'scalar-mark'])

/** Finds brackets that close nothing and commas that end nothing; the library makes a costly error of each. */
const createBracketCheck = (): ((type: string) => Words | undefined) => {
  let open = 0
  let previous = ''
  return (type) => {
    const empty = type === 'comma' && (previous === 'comma' || OPENING.has(previous))
    const stray = CLOSING.has(type) && open === 0
    if (OPENING.has(type)) open += 1
    if (CLOSING.has(type)) open = Math.max(0, open - 1)
    if (type === 'flow-error-end') open = 0
    if (!BLANK.has(type)) previous = type
    if (stray) return { code: 'SC114', message: 'this bracket closes nothing', help: ['quote text that has brackets'] }
    return empty ? { code: 'SC114', message: 'nothing stands before this comma', help: [] } : undefined
  }
}

const openQuote = (type: string, lexeme: string): Words | undefined =>
  type.endsWith('quoted-scalar') && isOpen(lexeme)
    ? { code: 'SC114', message: 'this quote is never closed', help: ['put the same quote at the end of the text'] }
    : undefined

const isOpen = (quoted: string): boolean => quoted.length < 2 || quoted.at(-1) !== quoted[0]

/**
 * Looks at the tokens of one text in order, by type and source: what a configuration must not use, and what cannot be
 * YAML. Undefined when nothing is wrong with a token.
 */
export const createTokenCheck = (): ((type: string, source: string) => Words | undefined) => {
  const brackets = createBracketCheck()
  return (type, source) => REFUSED_TOKENS[type] ?? brackets(type) ?? openQuote(type, source)
}

const SYNTAX_WORDS: Readonly<Record<string, { readonly message: string; readonly help: string }>> = {
  TAB_AS_INDENT: { message: 'a tab cannot indent', help: 'indent with spaces' },
  MULTILINE_IMPLICIT_KEY: {
    message: 'this is neither a key nor a value',
    help: 'a key ends with a colon and a space; keys of one mapping start in the same column',
  },
  BLOCK_AS_IMPLICIT_KEY: {
    message: 'a key cannot follow a value in the same place',
    help: 'keys of one mapping start in the same column; quote text that has a colon and a space',
  },
  BAD_INDENT: {
    message: 'the indentation does not fit what is above',
    help: 'keys of one mapping start in the same column',
  },
}

/** What to say of an error of the YAML library, by its code. */
export const syntaxWords = (code: string, message: string): Pick<TextFault, 'message' | 'help'> => {
  const words = SYNTAX_WORDS[code]
  const own = message.charAt(0).toLowerCase() + message.slice(1)
  return words === undefined
    ? { message: own, help: [] }
    : { message: words.message, help: [words.help, `in the words of YAML: ${own}`] }
}
