import type { Writable } from 'node:stream'
import picocolors from 'picocolors'
import { displayWidth } from '../src/internal.js'
import { createLossyWriter, type LossyWriter } from './serve/log/lossy-writer.js'
import { wrapText } from './wrap.js'

export type Colors = ReturnType<typeof picocolors.createColors>

/** stdout or stderr, each with its own decisions about terminal and colours. */
export interface Output {
  readonly terminal: boolean
  readonly colors: Colors
  /** The width that `line` wraps to, in columns. */
  readonly width: number
  /** Writes a line for people, with `--config` in its commands, wrapped to the width of a terminal, unless the stream is closed. */
  line(text?: string): void
  /** Writes a line for programs, such as JSON or SQL, as it is, unless the stream is closed. */
  data(text: string): void
  /** Writes the text and waits for a slow reader. Resolves to false if the stream is closed. */
  write(text: string): Promise<boolean>
  /** For the log of a server, which must not wait for a slow reader. */
  readonly lossy: LossyWriter
}

/** Colours depend on `FORCE_COLOR`, then the flag, `NO_COLOR` and `TERM`, then on whether the stream is a terminal. */
export interface ColorOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly noColor: boolean
}

interface OutputOptions extends ColorOptions {
  /** Completes the commands in a line for people. */
  complete(text: string): string
}

type Stream = Writable & { readonly isTTY?: boolean; readonly columns?: number }

export function createOutput(stream: Stream, options: OutputOptions): Output {
  const terminal = stream.isTTY === true
  const data = (text: string) => {
    if (stream.writable) stream.write(`${text}\n`)
  }
  return Object.freeze({
    terminal,
    colors: picocolors.createColors(isColored(terminal, options)),
    get width() {
      return widthOf(stream, options.env)
    },
    data,
    line: (text = '') => {
      const whole = options.complete(text)
      data(terminal ? wrapText(whole, widthOf(stream, options.env)) : whole)
    },
    write: (text: string) => writeTo(stream, text),
    lossy: createLossyWriter(stream),
  })
}

const [NARROWEST, USUAL, WIDEST] = [40, 80, 200]

/** The width of the terminal, which the user can change at any time; 80 where there is none. */
function widthOf({ columns }: Stream, env: ColorOptions['env']): number {
  const width = columns || Number(env['COLUMNS']) || USUAL
  return Math.min(WIDEST, Math.max(NARROWEST, width))
}

/** Also resolves when the stream fails; the `error` listener of the stream decides what that means. */
function writeTo(stream: Writable, text: string): Promise<boolean> {
  return new Promise((resolve) => {
    if (!stream.writable) return resolve(false)
    stream.write(text, (error) => resolve(!error))
  })
}

function isColored(terminal: boolean, { env, noColor }: ColorOptions): boolean {
  const forced = env['FORCE_COLOR']
  if (forced !== undefined && forced !== '' && forced !== '0') return true
  return terminal && !noColor && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
}

/** Left-aligned columns, two spaces apart; the last one is never padded. */
export function alignColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = []
  for (const row of rows)
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, displayWidth(cell))
    })
  return rows.map((row) =>
    row
      .map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - displayWidth(cell)))
      .join('  ')
      .trimEnd(),
  )
}

/** The first of several texts, and how many more there are. */
export function firstOf(texts: readonly string[], most: number): readonly string[] {
  return texts.length > most ? [...texts.slice(0, most), `and ${texts.length - most} more`] : texts
}

/** `1 route`, `2 routes`. */
export function count(amount: number, noun: string, plural = `${noun}s`): string {
  return `${amount} ${amount === 1 ? noun : plural}`
}
