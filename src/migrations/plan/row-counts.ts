import type { Database } from '../../db/database.js'
import type { Plan } from './generate.js'
import type { RowQuery } from './row-query.js'
import { inDiscardedTransaction, rolledBack, type Session, sqlState } from '../run/session.js'
import type { Step } from '../files/steps.js'

/** The rows that a step affects. */
export interface RowCount {
  /** The number of affected rows; undefined if counting fails on one of them. */
  readonly rows: number | undefined
  /** The total number of rows. */
  readonly of: number | undefined
  /** A phrase: `3 of 1,204 rows are longer than 60`. */
  readonly says: string
}

/** A plan with the number of rows that each step affects. */
export interface CountedPlan extends Plan {
  readonly steps: readonly CountedStep[]
}

export interface CountedStep extends Step {
  /** Undefined if there is nothing to count, or the database does not have the table or column yet. */
  readonly count?: RowCount
}

const STATEMENT_TIMEOUT = '30s'

/** Whether a plan has steps whose rows can be counted. */
export function wantsRows({ steps }: Plan): boolean {
  return steps.some(({ rows }) => rows !== undefined)
}

/**
 * Counts the rows that each step of a plan affects, in a read-only transaction. A step that is certain to fail because of them becomes an
 * error.
 */
export async function countRows(plan: Plan, database: Database): Promise<CountedPlan> {
  const steps = await inDiscardedTransaction(database, async (session) => {
    await session.query({ text: 'set transaction read only', values: [] })
    await session.query({ text: `set local statement_timeout = '${STATEMENT_TIMEOUT}'`, values: [] })
    const counted: CountedStep[] = []
    for (const step of plan.steps) {
      const count = step.rows && (await countFor(session, step.rows))
      counted.push(count ? { ...step, count } : step)
    }
    return counted
  })
  const hopeless = steps
    .filter(({ rows, count }) => rows?.decides !== undefined && (count?.rows ?? 0) > 0)
    .map(
      ({ subject, count, rows }) =>
        `${subject} cannot ${rows?.decides?.cannot}, because ${count?.says}: ${rows?.decides?.help}`,
    )
  if (hopeless.length === 0) return { ...plan, steps }
  return { ...plan, steps, rejections: [...plan.rejections, ...hopeless], text: undefined, proof: undefined }
}

/** A missing table or column, and types that cannot be compared until the plan has changed one of them. */
const MISSING = ['42P01', '42703', '42883']

async function countFor(session: Session, { sql, says }: RowQuery): Promise<RowCount | undefined> {
  try {
    const { rows } = await rolledBack(session, () => session.query({ text: sql, values: [] }))
    const [count, total] = (rows[0] ?? []).map(Number)
    if (count === undefined || total === undefined) return undefined
    return { rows: count, of: total, says: says(count.toLocaleString('en-US'), total.toLocaleString('en-US')) }
  } catch (error) {
    const state = sqlState(error)
    if (state === undefined) throw error
    if (MISSING.includes(state)) return undefined
    const reason = state.startsWith('22') ? 'of an existing row' : 'they could not be counted'
    return { rows: undefined, of: undefined, says: `${reason}: ${(error as Error).message}` }
  }
}
