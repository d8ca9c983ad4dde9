const SPACE = /\s*/y
const SCALAR = /[^,}\s]+/y
const BRACKET_OR_QUOTE = /["{}[\]]/g

/** Returns the exact JSON text of each member of a document from the database. */
export function splitDocument(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>()
  let at = skip(SPACE, text, text.indexOf('{') + 1)
  while (text.charAt(at) === '"') {
    const afterKey = endOfString(text, at)
    const start = skip(SPACE, text, text.indexOf(':', afterKey) + 1)
    const end = endOfValue(text, start)
    members.set(JSON.parse(text.slice(at, afterKey)) as string, text.slice(start, end))
    at = skip(SPACE, text, end)
    if (text.charAt(at) === ',') at = skip(SPACE, text, at + 1)
  }
  return members
}

function endOfValue(text: string, start: number): number {
  const first = text.charAt(start)
  if (first === '"') return endOfString(text, start)
  if (first !== '{' && first !== '[') return skip(SCALAR, text, start)
  let depth = 0
  BRACKET_OR_QUOTE.lastIndex = start
  for (;;) {
    const found = BRACKET_OR_QUOTE.exec(text) ?? missing()
    const [token] = found
    if (token === '"') BRACKET_OR_QUOTE.lastIndex = endOfString(text, found.index)
    else depth += token === '{' || token === '[' ? 1 : -1
    if (depth === 0) return BRACKET_OR_QUOTE.lastIndex
  }
}

/** Without a regular expression, because alternatives in one would overflow the stack on long strings. */
function endOfString(text: string, start: number): number {
  for (let at = start; ; ) {
    at = text.indexOf('"', at + 1)
    if (at < 0) missing()
    let backslashes = 0
    while (text.charAt(at - 1 - backslashes) === '\\') backslashes += 1
    if (backslashes % 2 === 0) return at + 1
  }
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

function missing(): never {
  throw new Error('a document ends inside a value')
}
