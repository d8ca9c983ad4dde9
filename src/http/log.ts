/** One thing that happened. Never holds a body, a query value or a header. */
export interface LogEntry {
  readonly event: string
  readonly [name: string]: unknown
}

/** Where entries go; the command decides how they look. */
export interface Log {
  info(entry: LogEntry): void
  error(entry: LogEntry): void
}
