import { displayWidth } from '../foundation/display-width.js'
import type { DiagnosticCode } from './diagnostic-codes.js'
import { linesOf } from './yaml/lines.js'

export { DIAGNOSTICS, type DiagnosticCode } from './diagnostic-codes.js'

/** A place in a file. Lines and columns count from 1, columns in characters; `offset` counts UTF-16 units from 0. */
export interface Position {
  readonly line: number
  readonly column: number
  readonly offset: number
}

export interface Range {
  readonly start: Position
  readonly end: Position
}

/** One mistake in a configuration, and its place. `label` is printed next to the caret, `help` below the frame. */
export interface Diagnostic {
  readonly code: DiagnosticCode
  readonly severity: 'error' | 'warning'
  readonly message: string
  readonly file: string
  readonly range: Range
  readonly label?: string
  readonly help: readonly string[]
}

/** The parts of a printed diagnostic that a caller may colour. */
export type Role = 'error' | 'warning' | 'message' | 'gutter' | 'help'
export type Style = (role: Role, text: string) => string

const unstyled: Style = (_role, text) => text
const FRAME_WIDTH = 120

function visible(text: string): string {
  return text
    .replaceAll('\t', '→')
    .replace(/[\u0000-\u001f]/g, (control) => String.fromCodePoint(0x2400 + (control.codePointAt(0) ?? 0)))
    .replace(/[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, '�')
}

/** The visible part of a line: long lines are cut around the caret. */
function excerpt(line: string, from: number): { text: string; shift: number } {
  const characters = [...line]
  if (characters.length <= FRAME_WIDTH) return { text: visible(line), shift: 0 }
  const start = Math.max(0, from - FRAME_WIDTH / 2)
  const end = start + FRAME_WIDTH
  const head = start > 0 ? '…' : ''
  const tail = end < characters.length ? '…' : ''
  return { text: head + visible(characters.slice(start, end).join('')) + tail, shift: start - head.length }
}

function caretLine(diagnostic: Diagnostic, line: string): { source: string; carets: string } {
  const { start, end } = diagnostic.range
  const { text, shift } = excerpt(line, start.column - 1)
  const indent = start.column - 1 - shift
  const last = end.line === start.line ? end.column - 1 - shift : [...text.trimEnd()].length
  const characters = [...text.padEnd(indent)]
  const widthOf = (from: number, to: number) => displayWidth(characters.slice(from, to).join(''))
  return { source: text, carets: ' '.repeat(widthOf(0, indent)) + '^'.repeat(Math.max(1, widthOf(indent, last))) }
}

/**
 * The text of one diagnostic: code and message, the place, the line with carets under the mistake and the lines around
 * it, and the help. `lines` are the lines of the file; `style` may colour the parts.
 */
export function renderDiagnostic(diagnostic: Diagnostic, lines: readonly string[], style: Style = unstyled): string {
  const { line, column } = diagnostic.range.start
  const width = String(line + 1).length
  const gutter = (label: number | '', mark = '|') => style('gutter', `${String(label).padStart(width)} ${mark}`)
  const around = (number: number) => {
    const text = lines[number - 1]
    return text === undefined ? [] : [`${gutter(number)} ${excerpt(text, 0).text}`.trimEnd()]
  }
  const { source, carets } = caretLine(diagnostic, lines[line - 1] ?? '')
  const label = diagnostic.label === undefined ? '' : ` ${visible(diagnostic.label)}`
  return [
    `${style(diagnostic.severity, `${diagnostic.severity}[${diagnostic.code}]`)}: ${style('message', visible(diagnostic.message))}`,
    `${' '.repeat(width)}${style('gutter', '-->')} ${diagnostic.file}:${line}:${column}`,
    gutter(''),
    ...around(line - 1),
    `${gutter(line)} ${source}`.trimEnd(),
    `${gutter('')} ${style(diagnostic.severity, carets + label)}`,
    ...around(line + 1),
    ...(diagnostic.help.length > 0 ? [gutter('')] : []),
    ...diagnostic.help.map((help) => `${gutter('', '=')} ${style('help', 'help:')} ${visible(help)}`),
  ].join('\n')
}

interface RenderOptions {
  readonly style?: Style
  /** The maximum number of printed diagnostics; the others are counted. */
  readonly limit?: number
  /** Replaces the last line, which counts the diagnostics. */
  readonly summary?: string
}

/** Renders the diagnostics of one file, whose content is `source`: by default at most 50, and a last line that counts all. */
export function renderDiagnostics(
  diagnostics: readonly Diagnostic[],
  source: string,
  { style = unstyled, limit = 50, summary = summaryOf(diagnostics) }: RenderOptions = {},
): string {
  const lines = linesOf(source)
  const shown = diagnostics.slice(0, limit).map((diagnostic) => renderDiagnostic(diagnostic, lines, style))
  const hidden = diagnostics.length - shown.length
  return [...shown, ...(hidden > 0 ? [`and ${hidden} more`] : []), summary].join('\n\n')
}

function summaryOf(diagnostics: readonly Diagnostic[]): string {
  return `${diagnostics[0]?.file ?? ''}: ${counted(diagnostics)}`
}

function count(diagnostics: readonly Diagnostic[], severity: Diagnostic['severity']): number {
  return diagnostics.filter((diagnostic) => diagnostic.severity === severity).length
}

function counted(diagnostics: readonly Diagnostic[]): string {
  const amount = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`
  const warnings = count(diagnostics, 'warning')
  const errors = amount(count(diagnostics, 'error'), 'error')
  return warnings === 0 ? errors : `${errors}, ${amount(warnings, 'warning')}`
}

export interface DiagnosticsJson {
  readonly schemaVersion: 1
  readonly ok: boolean
  readonly errors: number
  readonly warnings: number
  readonly diagnostics: readonly Diagnostic[]
}

/** The machine-readable form of a check. */
export function toJson(diagnostics: readonly Diagnostic[]): DiagnosticsJson {
  const errors = count(diagnostics, 'error')
  return { schemaVersion: 1, ok: errors === 0, errors, warnings: count(diagnostics, 'warning'), diagnostics }
}

/** One line: `file:line:column: message (code)`. */
export function toLine({ file, range, message, code }: Diagnostic): string {
  return `${file}:${range.start.line}:${range.start.column}: ${visible(message)} (${code})`
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}

/** The diagnostic as an annotation of a GitHub workflow. */
export function toGithub({ severity, file, range, code, message, help }: Diagnostic): string {
  const { start, end } = range
  const place = `file=${escapeProperty(file)},line=${start.line},col=${start.column}`
  const until = `endLine=${end.line},endColumn=${end.column}`
  return `::${severity} ${place},${until},title=${code}::${escapeData([message, ...help].join('\n'))}`
}
