import type { TextError } from './source-text.js'

type Words = Pick<TextError, 'code' | 'message' | 'help'>

const REJECTED_TOKENS: Readonly<Record<string, Words>> = {
  anchor: { code: 'SC106', message: 'anchors are not allowed', help: ['quote text that starts with `&`'] },
  alias: { code: 'SC106', message: 'aliases are not allowed', help: ['quote text that starts with `*`'] },
  tag: { code: 'SC107', message: 'tags are not allowed', help: ['quote text that starts with `!`'] },
  'directive-line': { code: 'SC108', message: 'directives are not allowed', help: ['the file is always YAML 1.2'] },
}

const CLOSED_BY: Readonly<Record<string, string>> = {
  'flow-seq-end': 'flow-seq-start',
  'flow-map-end': 'flow-map-start',
}
const OPENING = new Set(Object.values(CLOSED_BY))
const SIGNS: Readonly<Record<string, string>> = {
  'flow-seq-start': '[',
  'flow-map-start': '{',
  'flow-seq-end': ']',
  'flow-map-end': '}',
}
const SCALARS = new Set(['scalar', 'single-quoted-scalar', 'double-quoted-scalar'])
const BLANK = new Set(['space', 'newline', 'comment', 'scalar-mark'])
const QUOTE_HELP = 'quote text that contains brackets'

/** A token of the text, and its place. */
export interface Token {
  readonly type: string
  readonly source: string
  readonly from: number
}

/** A syntax error in a token, or in an earlier token that this one reveals. */
type TokenError = Words & { readonly token: Token }

function syntax(token: Token, message: string, help: string): TokenError {
  return {
    token,
    code: 'SC114',
    message,
    help: [help],
  }
}

/** Finds the bracket or comma that is wrong; the library reports a consequence of it, often many lines below. */
function createBracketCheck(): (token: Token) => TokenError | undefined {
  const open: Token[] = []
  let previous = ''
  const findError = (token: Token): TokenError | undefined => {
    const { type } = token
    const last = open.at(-1)
    if (OPENING.has(type)) {
      if (SCALARS.has(previous)) return syntax(token, `\`${SIGNS[type]}\` follows text that is not quoted`, QUOTE_HELP)
      open.push(token)
    } else if (type === 'comma' && (previous === 'comma' || OPENING.has(previous))) {
      return syntax(token, 'a value is missing before this comma', 'remove it, or add the missing value')
    } else if (type in CLOSED_BY) {
      if (last === undefined) return syntax(token, 'this closing bracket has no opening bracket', QUOTE_HELP)
      if (last.type !== CLOSED_BY[type])
        return syntax(
          token,
          `\`${SIGNS[type]}\` does not close the \`${SIGNS[last.type]}\` before it`,
          closingHelp(last),
        )
      open.pop()
    } else if (last !== undefined && (type === 'flow-error-end' || type === END)) {
      return syntax(last, `this \`${SIGNS[last.type]}\` is never closed`, closingHelp(last))
    }
    return undefined
  }
  return (token) => {
    const error = findError(token)
    if (!BLANK.has(token.type)) previous = token.type
    return error
  }
}

/** The type of a token after all others. */
export const END = 'end'

function closingHelp({ type }: Token): string {
  return `close it with \`${type === 'flow-map-start' ? '}' : ']'}\`; lines between the two are indented further than the first; ${QUOTE_HELP}`
}

function isOpenQuote({ type, source }: Token): boolean {
  return type.endsWith('quoted-scalar') && (source.length < 2 || source.at(-1) !== source[0])
}

/**
 * Inspects the tokens of a text in order, followed by a token of the type `END`: reports what a configuration must not use, and what cannot be
 * YAML. Returns undefined for a token without errors.
 */
export function createTokenCheck(): (token: Token) => TokenError | undefined {
  const brackets = createBracketCheck()
  return (token) => {
    const words = REJECTED_TOKENS[token.type]
    const error = brackets(token)
    if (words !== undefined) return { ...words, token }
    if (error !== undefined || !isOpenQuote(token)) return error
    return syntax(token, 'this quote is never closed', 'put the same quote at the end of the text')
  }
}

const SYNTAX_WORDS: Readonly<Record<string, { readonly message: string; readonly help: string }>> = {
  TAB_AS_INDENT: { message: 'tabs cannot be used for indentation', help: 'indent with spaces' },
  MULTILINE_IMPLICIT_KEY: {
    message: 'this is neither a key nor a value',
    help: 'a key ends with a colon and a space; keys of one mapping start in the same column',
  },
  BLOCK_AS_IMPLICIT_KEY: {
    message: 'a key cannot follow a value here',
    help: 'keys of one mapping start in the same column; quote text that contains a colon and a space',
  },
  BAD_INDENT: {
    message: 'the indentation does not match the lines above',
    help: 'keys of one mapping start in the same column',
  },
  BLOCK_IN_FLOW: {
    message: 'a key follows a value without a comma',
    help: 'members between brackets are separated by commas; quote text that contains a colon and a space',
  },
  UNEXPECTED_TOKEN: {
    message: 'unexpected text after the end of a value',
    help: 'quote the whole text; an apostrophe in single quotes is written twice',
  },
  BAD_SCALAR_START: { message: 'text cannot start with this character', help: 'quote the text' },
  BAD_DQ_ESCAPE: {
    message: 'this is not a valid escape sequence in double quotes',
    help: 'write the backslash twice, or use single quotes, where a backslash is literal',
  },
}

/** The message for an error of the YAML library, by its code. */
export function syntaxWords(code: string, message: string): Pick<TextError, 'message' | 'help'> {
  const words = SYNTAX_WORDS[code]
  const own = message.charAt(0).toLowerCase() + message.slice(1)
  return words === undefined
    ? { message: own, help: [] }
    : { message: words.message, help: [words.help, `the YAML parser says: ${own}`] }
}
