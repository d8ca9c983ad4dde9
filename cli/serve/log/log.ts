import type { CliContext } from '../../context.js'
import type { Level, LogEntry } from './log-entry.js'
import type { Colors } from '../../output.js'
import { createDedupeLog } from './dedupe-log.js'
import { createRequestRenderer, toVisible } from './request-entry.js'

/** The log of a running server. */
export type Log = Readonly<Record<Level, (entry: LogEntry) => void>>

/** Which requests are logged. */
export const ACCESS_LOGS: Readonly<Record<string, (entry: LogEntry) => boolean>> = {
  all: () => true,
  failures: ({ status, aborted }) => aborted === true || Number(status) >= 500,
  off: () => false,
}

interface LogOptions {
  readonly json?: true | undefined
  /** One of `ACCESS_LOGS`. */
  readonly accessLog: string
  /** Properties to add to every entry, if several processes write to one log. */
  readonly about?: Readonly<Record<string, unknown>> | undefined
}

/** Short lines at a terminal, one JSON document a line otherwise; both on stdout. */
export function createLog({ out, withConfig, onExit }: CliContext, { json, accessLog, about }: LogOptions): Log {
  const isLogged = ACCESS_LOGS[accessLog] ?? (() => true)
  const isForTerminal = out.terminal && !json
  const renderRequest = createRequestRenderer(about)
  const render = (level: Level, entry: LogEntry): string => {
    if (!isForTerminal && entry.event === 'request') return renderRequest(level, entry)
    const whole = about ? { ...entry, ...about } : entry
    return isForTerminal ? toLine(level, whole, out.colors) : toJson(level, whole)
  }
  // The lines of requests that end in one turn of the event loop are written together.
  let gathered = ''
  const flush = () => {
    if (gathered !== '') out.lossy.write(gathered)
    gathered = ''
  }
  const write = (level: Level, entry: LogEntry) => {
    if (gathered === '') setImmediate(flush)
    gathered += `${render(level, entry)}\n`
  }
  const others = createDedupeLog((level, entry) => {
    write(level, entry)
    flush()
  })
  onExit(() => {
    others.flush()
    flush()
  })
  const at = (level: Level) => (entry: LogEntry) => {
    if (entry.event !== 'request') others.write(level, entry.msg ? { ...entry, msg: withConfig(entry.msg) } : entry)
    else if (isLogged(entry)) write(level, entry)
  }
  return Object.freeze({ info: at('info'), warn: at('warn'), error: at('error') })
}

function toJson(level: Level, entry: LogEntry): string {
  const line = { level, time: new Date().toISOString(), ...entry }
  try {
    return toVisible(
      JSON.stringify(line, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value instanceof Error ? describeError(value) : value,
      ),
    )
  } catch {
    // A handler can throw anything, a circular object too; the log must not fail because of it.
    const { time, event, request_id } = line as typeof line & { readonly request_id?: unknown }
    return JSON.stringify({ level, time, event, request_id, msg: 'the thrown value cannot be written as JSON' })
  }
}

/** A chain of causes may lead back to its start. */
const MAX_CAUSES = 8

/** An error for the log, with its stack and its causes, which no client ever sees. */
export function describeError(error: unknown, depth = 0): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { msg: String(error) }
  const code = 'code' in error ? { code: error.code } : {}
  const cause =
    error.cause instanceof Error && depth < MAX_CAUSES ? { cause: describeError(error.cause, depth + 1) } : {}
  return { msg: error.message, ...code, stack: error.stack, ...cause }
}

function toLine(level: Level, entry: LogEntry, colors: Colors): string {
  const time = colors.dim(new Date().toTimeString().slice(0, 8))
  return `${time}  ${entry.event === 'request' ? requestLine(entry, colors) : eventLine(level, entry, colors)}`
}

function requestLine(entry: LogEntry, colors: Colors): string {
  const text = (name: string) => toVisible(String(entry[name] ?? ''))
  const status = Number(entry['status'])
  const paint = status >= 500 ? colors.red : status >= 400 ? colors.yellow : colors.green
  return [
    text('method').padEnd(6),
    text('route').padEnd(16),
    paint(text('status')),
    `${Math.round(Number(entry['ms']))} ms`,
    colors.dim(text('path')),
  ].join('  ')
}

const MARKS: Readonly<Record<Level, (colors: Colors) => string>> = {
  info: () => '',
  warn: (colors) => `${colors.yellow('warning:')} `,
  error: (colors) => `${colors.red('error:')} `,
}

function eventLine(level: Level, { event, msg, type, cause, stack, repeated }: LogEntry, colors: Colors): string {
  const known = cause instanceof Error ? cause : undefined
  const text = msg ?? [event, type, known?.message].filter(Boolean).join(': ')
  // Errors caused by a client or an unavailable database need no stack; bugs do.
  const trace = type === 'internal' ? known?.stack : stack
  const lines = typeof trace === 'string' ? trace.split('\n').map((line) => `\n${colors.dim(toVisible(line))}`) : []
  const times = repeated === undefined ? '' : colors.dim(` (repeated ${String(repeated)} times)`)
  return `${MARKS[level](colors)}${toVisible(text)}${times}${lines.join('')}`
}
