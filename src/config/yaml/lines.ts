/** Line ends: LF, CRLF or a lone CR. */
export const LINE_END = /\r\n|\n|\r/g

/** The lines of a text. */
export function linesOf(text: string): readonly string[] {
  return text.split(LINE_END)
}
