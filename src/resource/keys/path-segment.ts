/**
 * Encodes a text as one segment of a path (RFC 3986, with UTF-8). `.` and `..` are encoded too, because clients remove such segments before they send a path; browsers and `fetch` also remove `%2E`.
 * Returns undefined for texts that no segment can contain: an empty one, and one with a lone surrogate.
 */
export function encodeSegment(text: string): string | undefined {
  if (text === '' || !text.isWellFormed()) return undefined
  return /^\.\.?$/.test(text) ? text.replaceAll('.', '%2E') : encodeURIComponent(text)
}

/** Decodes a segment; returns undefined if it is not spelled as `encodeSegment` does, so that each text has one spelling. */
export function decodeSegment(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment)
    return encodeSegment(text) === segment ? text : undefined
  } catch {
    return undefined
  }
}

/**
 * Formats a key that equals a literal segment at the same position, such as `bulk` in `/books/bulk/`: its first character is percent-encoded, which
 * clients leave as it is.
 */
export function escapeWord(word: string): string {
  const [first = ''] = word
  return `%${(first.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(2, '0')}${word.slice(1)}`
}

/** Undoes `escapeWord` if a segment spells one of these words; any other segment is returned as it is. */
export function plainWord(segment: string, words: Iterable<string>): string {
  for (const word of words) if (escapeWord(word) === segment) return word
  return segment
}
