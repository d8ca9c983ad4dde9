/** A log entry. It has no body, no query and no header except the ids of the request and its trace, and the caller's subject; a `cause` may quote values in PostgreSQL's messages. */
export interface LogEntry {
  readonly event: string
  readonly [name: string]: unknown
}

/** Receives log entries; the command decides how they look. */
export interface Log {
  info(entry: LogEntry): void
  error(entry: LogEntry): void
}
