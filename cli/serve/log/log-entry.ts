/** One event of a running server. `msg` is for people, the rest for machines. */
export interface LogEntry {
  readonly event: string
  readonly msg?: string
  readonly [detail: string]: unknown
}

export type Level = 'info' | 'warn' | 'error'
