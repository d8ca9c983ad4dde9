import type { Database } from '../../../db/database.js'
import type { Plan } from '../generate.js'
import type { Decision, RowQuery, Trial } from './row-query.js'
import { TRIAL_RESULT, type TrialResult } from './trial.js'
import { inDiscardedTransaction, rolledBack, type Session, sqlState } from '../../run/session.js'
import type { Step } from '../../files/steps.js'

/** The rows that a step affects. */
export interface RowCount {
  /** The number of affected rows; undefined if counting fails on one of them. */
  readonly rows: number | undefined
  /** The total number of rows. */
  readonly of: number | undefined
  /** A phrase: `3 of 1,204 rows are longer than 60`. */
  readonly says: string
  /** Set if the rows make the step fail. */
  readonly decides?: Decision
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
 * @param isPending whether files are not applied yet, which may change the rows: then no step is certain to fail
 */
export async function countRows(plan: Plan, database: Database, isPending = false): Promise<CountedPlan> {
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
  const hopeless = steps.flatMap(({ subject, count }) =>
    count?.decides === undefined
      ? []
      : [`${subject} cannot ${count.decides.cannot}, because ${count.says}: ${count.decides.help}`],
  )
  if (isPending || hopeless.length === 0) return { ...plan, steps }
  return { ...plan, steps, rejections: [...plan.rejections, ...hopeless], text: undefined, proof: undefined }
}

/** A missing table or column, and types that cannot be compared until the plan has changed one of them. */
const MISSING = ['42P01', '42703', '42883']

async function countFor(session: Session, query: RowQuery): Promise<RowCount | undefined> {
  try {
    return await countAtOnce(session, query)
  } catch (error) {
    const state = sqlState(error)
    if (state === undefined) throw error
    if (MISSING.includes(state)) return undefined
    const isOfRow = state.startsWith('22')
    const tried = query.trial && isOfRow ? await countOneByOne(session, query.trial).catch(onlyOfServer) : undefined
    const reason = isOfRow ? 'of an existing row' : 'they could not be counted'
    return tried ?? { rows: undefined, of: undefined, says: `${reason}: ${(error as Error).message}` }
  }
}

function spelled(count: number): string {
  return count.toLocaleString('en-US')
}

async function countAtOnce(
  session: Session,
  { sql, says, decides, examples }: RowQuery,
): Promise<RowCount | undefined> {
  const read = (text: string) => rolledBack(session, () => session.query({ text, values: [] }))
  const [count, total, ...others] = ((await read(sql)).rows[0] ?? []).map(Number)
  if (count === undefined || total === undefined) return undefined
  const shown = examples === undefined || count === 0 ? [] : (await read(examples)).rows.map(([value]) => value)
  return {
    rows: count,
    of: total,
    says: `${says(spelled(count), spelled(total), ...others.map(spelled))}${listed(shown)}`,
    ...(decides && count > 0 && { decides }),
  }
}

async function countOneByOne(session: Session, { sql, says, decides }: Trial): Promise<RowCount> {
  const result = await rolledBack(session, async () => {
    await session.query({ text: sql, values: [] })
    return session.query({ text: `select current_setting('${TRIAL_RESULT}')`, values: [] })
  })
  const [failed, total, values, message] = JSON.parse(result.rows[0]?.[0] ?? '') as TrialResult
  const phrase = `${spelled(failed)} of ${spelled(total)} rows ${says}${listed(values)}${message === null ? '' : ` (${message})`}`
  return { rows: failed, of: total, says: phrase, decides }
}

/** A few values after a phrase. */
function listed(values: readonly (string | null | undefined)[]): string {
  return values.length === 0 ? '' : `: ${values.map((value) => JSON.stringify(value)).join(', ')}`
}

/** Counting one by one can reach the time limit. */
function onlyOfServer(error: unknown): undefined {
  if (sqlState(error) === undefined) throw error
}
