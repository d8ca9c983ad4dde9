/**
 * A log entry. Of a request it has the ids of the request and of its trace and the caller's subject, but no other header, no query and no body. A
 * `cause` may quote values in PostgreSQL's messages.
 */
export interface LogEntry {
  readonly event: string
  readonly [name: string]: unknown
}

/** Receives log entries; the command decides how they look. */
export interface Log {
  info(entry: LogEntry): void
  error(entry: LogEntry): void
}
