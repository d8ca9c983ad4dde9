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

/** How long an estimate stands for those that come after it, in milliseconds: many requests share its cost, and nobody waits long for a better one. */
const FRESH = 1_000
const MOST = 1_000

/** Estimates of counts that are known to be above the cap. */
export interface Estimates {
  /** One that was made a moment ago; there may be some even where the count has fallen below the cap since. */
  find(statement: () => Statement): number | undefined
  /** Asks the planner. */
  make(statement: Statement, connection: Connection): Promise<number>
}

export function createEstimates(): Estimates {
  const known = new Map<string, { readonly rows: number; readonly until: number }>()
  const keyOf = ({ text, values }: Statement) => `${text}\0${values.join('\0')}`

  return {
    find(statement) {
      // Most tables are small, and never have one.
      if (known.size === 0) return undefined
      const found = known.get(keyOf(statement()))
      return found && found.until > performance.now() ? found.rows : undefined
    },
    async make(statement, connection) {
      const rows = await explain(statement, connection)
      const [oldest] = known.keys()
      if (oldest !== undefined && known.size >= MOST) known.delete(oldest)
      known.set(keyOf(statement), { rows, until: performance.now() + FRESH })
      return rows
    },
  }
}

async function explain(statement: Statement, connection: Connection): Promise<number> {
  const { rows } = await connection.query(statement)
  const [explained] = JSON.parse(rows[0]?.[0] ?? '[]') as readonly { readonly Plan: Explained }[]
  return Math.max(COUNT_CAP + 1, explained?.Plan['Plan Rows'] ?? 0)
}
