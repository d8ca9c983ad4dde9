function rejectNul(text: string): void {
  if (text.includes('\0')) throw new Error(`U+0000 is not allowed in SQL: ${JSON.stringify(text)}`)
}

/** A SQL string literal, independent of `standard_conforming_strings`. @throws Error for U+0000 */
export function literal(text: string): string {
  rejectNul(text)
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`
  return text.includes('\\') ? `E${quoted}` : quoted
}

/** A quoted SQL identifier. @throws Error for an empty name and for U+0000 */
export function identifier(name: string): string {
  rejectNul(name)
  if (name === '') throw new Error('an identifier cannot be empty')
  return `"${name.replaceAll('"', '""')}"`
}

/** The name in a quoted SQL identifier; any other text stays as it is. */
export function unquote(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text
}
