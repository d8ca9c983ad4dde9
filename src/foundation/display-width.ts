import { stripVTControlCharacters } from 'node:util'

const ASCII = /^[\x20-\x7e]*$/
const GRAPHEMES = new Intl.Segmenter()
/** The start of a character that terminals show in two columns, of an East Asian script or an emoji; or the mark that makes one an emoji. */
const WIDE =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303e\u30a0-\u31bf\u31f0-\u33ff\uff01-\uff60\uffe0-\uffe6]|\ufe0f/u

/** How many columns of a terminal a text takes, without its escape sequences. */
export function displayWidth(text: string): number {
  const plain = stripVTControlCharacters(text)
  if (ASCII.test(plain)) return plain.length
  let width = 0
  for (const { segment } of GRAPHEMES.segment(plain)) width += widthOf(segment)
  return width
}

function widthOf(grapheme: string): number {
  return WIDE.test(grapheme) ? 2 : 1
}

/** Cuts a text so that it takes at most a number of columns. */
export function cutToWidth(text: string, columns: number): string {
  let width = 0
  for (const { segment, index } of GRAPHEMES.segment(text)) {
    width += widthOf(segment)
    if (width > columns) return text.slice(0, index)
  }
  return text
}
