import { identifier } from '../../fields/sql-literal.js'
import type { RowQuery } from '../plan/row-query.js'

/** One change of a plan: what `migrate plan` shows, and the SQL both ways. */
export interface Step {
  readonly change: 'add' | 'change' | 'rename' | 'drop'
  /** `books`, `books.title`, or the name of a constraint or index with its table. */
  readonly subject: string
  /** What is added, changed or dropped, in a few words. */
  readonly detail: string
  /**
   * `safe` cannot fail on the rows that are there, keeps nobody waiting for long, and loses nothing. `risky` may fail, locks a
   * table while it works through all of it, or lets the table take more than before; when it fails nothing has changed. `destructive` loses what is named by `subject`.
   */
  readonly safety: 'safe' | 'risky' | 'destructive'
  /** The former name of a table or column that is renamed. */
  readonly renamed?: string
  /** What to know before it is applied. */
  readonly risk?: string
  /** What `down` does not bring back. */
  readonly loss?: string
  /** The constraints and indexes that it makes for resources.yaml. */
  readonly owns?: readonly string[]
  /** It runs outside of a transaction, so it is written into a file of its own. */
  readonly outside?: true
  /** Counts the rows that bear the risk out. */
  readonly rows?: RowQuery
  readonly up: readonly string[]
  readonly down: readonly string[]
}

/** What a step says of itself, by how much it dares. */
export const safe = { safety: 'safe' } as const

/** @param risk what may happen */
export function risky(risk: string) {
  return { safety: 'risky', risk } as const
}

/** @param loss what is lost */
export function destructive(loss: string) {
  return { safety: 'destructive', risk: 'DESTROYS DATA', loss } as const
}

/** One action on a table. */
export function alter(table: string, action: string): string {
  return `alter table ${identifier(table)} ${action}`
}
