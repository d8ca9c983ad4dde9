import type { Level, LogEntry } from './log-entry.js'

/** Characters that control a terminal, end a line or change the direction of text. Our own texts have none. */
const INVISIBLE = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu

/** These characters, and those that JSON may escape in a string: it escapes surrogates only if they are alone. */
const ESCAPED = /["\\\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]/

/**
 * Renders entries about requests as JSON documents. The result is that of `toVisible(JSON.stringify(…))`, which is slower, and every request has an entry.
 * `about` is appended to each.
 */
export function createRequestRenderer(about: Readonly<Record<string, unknown>> = {}) {
  const end = `${membersOf(about)}}`
  const timeText = createClock()
  return (level: Level, entry: LogEntry): string =>
    `{"level":"${level}","time":"${timeText(Date.now())}"${membersOf(entry)}${end}`
}

function membersOf(entry: Readonly<Record<string, unknown>>): string {
  let text = ''
  for (const name in entry) {
    const value = entry[name]
    if (value !== undefined) text += `,"${name}":${toText(value)}`
  }
  return text
}

function toText(value: unknown): string {
  if (typeof value === 'string' && !ESCAPED.test(value)) return `"${value}"`
  if (typeof value === 'number' && Number.isFinite(value)) return String(value)
  return toVisible(JSON.stringify(value))
}

/** Escapes invisible characters as JSON does. */
export function toVisible(text: string): string {
  return text.replace(INVISIBLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Formats times in ISO 8601. Times within one second share most of their text. */
function createClock(): (time: number) => string {
  let second = Number.NaN
  let text = ''
  return (time) => {
    const milliseconds = time % 1_000
    if (time - milliseconds !== second) {
      second = time - milliseconds
      text = new Date(time).toISOString().slice(0, -4)
    }
    return `${text}${String(milliseconds).padStart(3, '0')}Z`
  }
}
