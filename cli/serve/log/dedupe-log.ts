import type { Level, LogEntry } from './log-entry.js'

type Write = (level: Level, entry: LogEntry) => void

/** A message that was written within the last second. */
interface Recent {
  readonly level: Level
  latest: LogEntry
  /** The number of repetitions since it was written. */
  repeated: number
  written: number
}

/** The same message is written at most once in this time. */
const INTERVAL_MS = 1_000
/** Further messages are written without deduplication. */
const MAX_MESSAGES = 1_000

/**
 * Writes the same message at most once a second, so that an unavailable database does not fill the log with one message for each request. After
 * the second it writes the latest repetition, with their number. `flush` writes all pending repetitions at once.
 */
export function createDedupeLog(write: Write): { readonly write: Write; readonly flush: () => void } {
  const messages = new Map<string, Recent>()
  let timer: NodeJS.Timeout | undefined

  const release = (recent: Recent): void => {
    write(recent.level, { ...recent.latest, repeated: recent.repeated })
    recent.repeated = 0
    recent.written = performance.now()
  }
  const sweep = (): void => {
    timer = undefined
    for (const [message, recent] of messages) {
      if (performance.now() - recent.written < INTERVAL_MS) continue
      if (recent.repeated > 0) release(recent)
      else messages.delete(message)
    }
    watch()
  }
  const watch = (): void => {
    if (messages.size > 0) timer ??= setTimeout(sweep, INTERVAL_MS).unref()
  }

  return {
    write: (level, entry) => {
      const message = messageOf(level, entry)
      const recent = messages.get(message)
      if (recent) {
        recent.latest = entry
        recent.repeated += 1
        return
      }
      if (messages.size < MAX_MESSAGES)
        messages.set(message, { level, latest: entry, repeated: 0, written: performance.now() })
      watch()
      write(level, entry)
    },
    flush: () => {
      for (const recent of messages.values()) if (recent.repeated > 0) release(recent)
    },
  }
}

/** Messages are the same if they differ only in the data of one request. */
function messageOf(level: Level, { event, msg, type, route, cause }: LogEntry): string {
  const reason = cause instanceof Error ? cause.message : ''
  return JSON.stringify([level, event, msg, type, route, reason])
}
