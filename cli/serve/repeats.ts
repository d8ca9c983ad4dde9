import type { Level, LogEntry } from './log-entry.js'

type Write = (level: Level, entry: LogEntry) => void

/** What is held back of a message that comes again and again. */
interface Held {
  readonly level: Level
  latest: LogEntry
  /** How often it came since it was written. */
  repeated: number
  written: number
}

/** Milliseconds in which the same message is written once. */
const PAUSE = 1_000
/** Messages that are told apart; of more, none is held back. */
const MOST = 1_000

/**
 * Writes the same message at most once a second, so that a database that is away does not fill the log with what every request says of
 * it; afterwards the latest is written, with the number of those that it stands for. `flush` writes what is held back at once.
 */
export function holdRepeats(write: Write): { readonly write: Write; readonly flush: () => void } {
  const messages = new Map<string, Held>()
  let timer: NodeJS.Timeout | undefined

  const release = (held: Held): void => {
    write(held.level, { ...held.latest, repeated: held.repeated })
    held.repeated = 0
    held.written = performance.now()
  }
  const sweep = (): void => {
    timer = undefined
    for (const [message, held] of messages) {
      if (performance.now() - held.written < PAUSE) continue
      if (held.repeated > 0) release(held)
      else messages.delete(message)
    }
    watch()
  }
  const watch = (): void => {
    if (messages.size > 0) timer ??= setTimeout(sweep, PAUSE).unref()
  }

  return {
    write: (level, entry) => {
      const message = messageOf(level, entry)
      const held = messages.get(message)
      if (held) {
        held.latest = entry
        held.repeated += 1
        return
      }
      if (messages.size < MOST) messages.set(message, { level, latest: entry, repeated: 0, written: performance.now() })
      watch()
      write(level, entry)
    },
    flush: () => {
      for (const held of messages.values()) if (held.repeated > 0) release(held)
    },
  }
}

/** All that a reader would call the same: the numbers of requests apart. */
function messageOf(level: Level, { event, msg, type, route, cause }: LogEntry): string {
  const reason = cause instanceof Error ? cause.message : ''
  return JSON.stringify([level, event, msg, type, route, reason])
}
