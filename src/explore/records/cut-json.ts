// The last string may have been cut off, too.
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"?|[[\]{},]/g

/**
 * Closes JSON text that was cut off, after the last complete item of its first array. Text without a complete item, and text that goes on after the
 * array, is returned as it is.
 */
export function closeArray(text: string): string {
  const open: string[] = []
  let items: number | undefined
  let end: number | undefined
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === '[' || token === '{') {
      open.push(token)
      if (token === '[') items ??= open.length
    } else if (token === ',') {
      if (open.length === items) end = index
    } else if (token === ']' || token === '}') {
      if (open.length === items) return text
      open.pop()
      if (open.length === items) end = index + 1
    }
  }
  if (items === undefined || end === undefined) return text
  const closed = open.slice(0, items).toReversed()
  return text.slice(0, end) + closed.map((token) => (token === '[' ? ']' : '}')).join('')
}
