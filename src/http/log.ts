/** A log entry. It never contains a body, a query value or a header. */
export interface LogEntry {
  readonly event: string
  readonly [name: string]: unknown
}

/** Receives log entries; the command decides how they look. */
export interface Log {
  info(entry: LogEntry): void
  error(entry: LogEntry): void
}
