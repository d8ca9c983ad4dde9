const PLAIN = /^[\w./:=,@%+-]+$/

/** Formats a text as one word of a shell command, in quotes if it needs them (POSIX, 2.2.2). */
export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : quoted(text)
}

/** Formats a text as one word of a shell command, always in quotes. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
