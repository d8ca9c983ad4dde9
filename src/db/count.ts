import type { ListPlan } from '../resource/plan.js'
import type { Connection, Statement } from './database.js'

/** Rows that are counted one by one under `count: capped`. */
export const COUNT_CAP = 10_000

/** Whether rows are counted in the database: those of a page are, and a list that is not paged has all of its rows at hand. */
export function isCounted({ total, limit }: ListPlan): boolean {
  return total !== 'none' && limit !== undefined
}

interface Explained {
  readonly 'Plan Rows': number
}

/** The planner's estimate of a count that is known to be above the cap. */
export async function countBeyondCap(connection: Connection, estimate: Statement): Promise<number> {
  const { rows } = await connection.query(estimate)
  const [explained] = JSON.parse(rows[0]?.[0] ?? '[]') as readonly { readonly Plan: Explained }[]
  return Math.max(COUNT_CAP + 1, explained?.Plan['Plan Rows'] ?? 0)
}
