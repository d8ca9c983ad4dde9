import { leadingTable, tableSql } from '../../fields/table-name.js'
import type { StepLocks } from '../locks/modes.js'
import type { RowQuery } from '../plan/prove/row-query.js'

/** One change of a plan: its description for `migrate plan`, and the SQL in both directions. */
export interface Step {
  readonly change: 'add' | 'change' | 'rename' | 'drop'
  /** `books`, `books.title`, or the name of a constraint or index with its table. */
  readonly subject: string
  /** A short description of the change. */
  readonly detail: string
  /**
   * `safe` cannot fail on existing rows, blocks others only briefly, and loses nothing. `risky` may fail without changing anything, locks a
   * table while it scans or rewrites it, or lets the table accept more than before. `destructive` loses the data of `subject`.
   */
  readonly safety: 'safe' | 'risky' | 'destructive'
  /** The former name of a table or column that is renamed. */
  readonly renamed?: string
  /** A note to read before applying it. */
  readonly risk?: string
  /** The losses that `down` cannot restore. */
  readonly loss?: string
  /** The constraints and indexes that it makes for resources.yaml. */
  readonly owns?: readonly string[]
  /** The locks that it holds on existing tables. */
  readonly locks?: StepLocks
  /** Which requests wait, and for what: `writes wait while the index is built`. */
  readonly waits?: string
  /** Whether it runs outside a transaction, and so belongs in a separate file. */
  readonly outside?: true
  /** The choices that it adds to an enum. PostgreSQL accepts them in other statements only after the commit. */
  readonly choices?: readonly string[]
  /** Counts the rows that are affected by the risk. */
  readonly rows?: RowQuery
  readonly up: readonly string[]
  readonly down: readonly string[]
}

/** The description of a step, by its risk. */
export const safe = { safety: 'safe' } as const

/** @param risk a description of what may happen */
export function risky(risk: string) {
  return { safety: 'risky', risk } as const
}

/** A step whose locks block others while it works. */
export const blocking = { safety: 'risky' } as const

/** @param loss a description of the lost data */
export function destructive(loss: string) {
  return { safety: 'destructive', risk: 'DESTROYS DATA', loss } as const
}

/** One action on a table. */
export function alter(table: string, action: string): string {
  return `alter table ${tableSql(table)} ${action}`
}

/** The table of a subject, and the column or part of it, if any. Names of columns may contain dots, and so may quoted names of tables. */
export function partsOf(subject: string): readonly [table: string, part?: string] {
  const table = leadingTable(subject)
  return table.length === subject.length ? [subject] : [table, subject.slice(table.length + 1)]
}
