import type { Writable } from 'node:stream'
import picocolors from 'picocolors'
import { type Offer, offerTo } from './serve/offer.js'

export type Colors = ReturnType<typeof picocolors.createColors>

/** One of the two streams of the command, with its own answer to "is this a terminal?" and "may it be coloured?". */
export interface Output {
  readonly terminal: boolean
  readonly colors: Colors
  /** Writes the text and ends the line; whoever has stopped reading misses it. */
  line(text?: string): void
  /** Writes the text and waits for a slow reader; answers whether there still is one. */
  write(text: string): Promise<boolean>
  /** For lines that come for as long as the process runs. */
  readonly offer: Offer
}

/** What decides about colour: `FORCE_COLOR` first, then the flag, the two customs, and the terminal. */
export interface ColorWishes {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly noColor: boolean
}

/** Wraps a stream of the process; colour is decided here, once. */
export function createOutput(stream: Writable & { readonly isTTY?: boolean }, wishes: ColorWishes): Output {
  const terminal = stream.isTTY === true
  return Object.freeze({
    terminal,
    colors: picocolors.createColors(isColored(terminal, wishes)),
    line: (text = '') => {
      if (stream.writable) stream.write(`${text}\n`)
    },
    write: (text: string) => writeTo(stream, text),
    offer: offerTo(stream),
  })
}

/** A stream that fails ends the wait as well; what that means is decided where its errors are listened for. */
function writeTo(stream: Writable, text: string): Promise<boolean> {
  return new Promise((resolve) => {
    if (!stream.writable) return resolve(false)
    stream.write(text, (error) => resolve(!error))
  })
}

function isColored(terminal: boolean, { env, noColor }: ColorWishes): boolean {
  const forced = env['FORCE_COLOR']
  if (forced !== undefined && forced !== '' && forced !== '0') return true
  return terminal && !noColor && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
}

/** Left-aligned columns, two spaces apart; the last one is never padded. */
export function alignColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = []
  for (const row of rows)
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, cell.length)
    })
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** `1 route`, `2 routes`. */
export function count(amount: number, noun: string, plural = `${noun}s`): string {
  return `${amount} ${amount === 1 ? noun : plural}`
}
