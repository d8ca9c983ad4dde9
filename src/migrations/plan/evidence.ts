import type { Database } from '../../db/database.js'
import type { Plan } from './generate.js'
import type { RowQuery } from './row-query.js'
import { inDiscardedTransaction, rolledBack, type Session, sqlState } from '../run/session.js'
import type { Step } from '../files/steps.js'

/** What the rows of a database say of a step. */
export interface RowCount {
  /** How many are meant; undefined when one of them cannot even be looked at. */
  readonly rows: number | undefined
  /** How many there are. */
  readonly of: number | undefined
  /** In words: `3 of 1,204 rows are longer than 60`. */
  readonly says: string
}

/** A plan with what the rows of a database say of it. */
export interface CountedPlan extends Plan {
  readonly steps: readonly CountedStep[]
}

export interface CountedStep extends Step {
  /** Undefined where there is nothing to count, and where the database does not have the table or column yet. */
  readonly count?: RowCount
}

const PATIENCE = '30s'

/** Whether there is anything to count for a plan. */
export function wantsRows({ steps }: Plan): boolean {
  return steps.some(({ rows }) => rows !== undefined)
}

/**
 * Counts, in a transaction that can only read, the rows that each step of a plan is about. What is certain to fail because of
 * them becomes a refusal.
 */
export async function countRows(plan: Plan, database: Database): Promise<CountedPlan> {
  const steps = await inDiscardedTransaction(database, async (session) => {
    await session.query({ text: 'set transaction read only', values: [] })
    await session.query({ text: `set local statement_timeout = '${PATIENCE}'`, values: [] })
    const counted: CountedStep[] = []
    for (const step of plan.steps) {
      const count = step.rows && (await countFor(session, step.rows))
      counted.push(count ? { ...step, count } : step)
    }
    return counted
  })
  const hopeless = steps
    .filter(({ rows, count }) => rows?.decides === true && (count?.rows ?? 0) > 0)
    .map(
      ({ subject, count, risk = '' }) =>
        `${subject} cannot be added, because ${count?.says}: ${risk.replace(/^.*?: /, '')}`,
    )
  if (hopeless.length === 0) return { ...plan, steps }
  return { ...plan, steps, refusals: [...plan.refusals, ...hopeless], text: undefined, proof: undefined }
}

/** A table or column that is not there yet, and types that do not compare before the plan has changed one. */
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
    const reason = state.startsWith('22') ? 'of a row that is there' : 'they could not be counted'
    return { rows: undefined, of: undefined, says: `${reason}: ${(error as Error).message}` }
  }
}
