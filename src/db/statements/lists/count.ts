import type { ListPlan } from '../../../resource/plan.js'
import type { Connection, Statement } from '../../database.js'

/** The maximum exact count under `count: capped`. */
export const COUNT_CAP = 10_000

/** Whether the database counts the rows: for pages it does; an unpaged list returns all rows anyway. */
export function isCounted({ total, limit }: ListPlan): boolean {
  return total !== 'none' && limit !== undefined
}

interface Explained {
  readonly 'Plan Rows': number
}

/** How long an estimate is reused, in ms: many requests share its cost, and nobody waits long for a better one. */
const REUSE_MS = 1_000
const MAX_ESTIMATES = 1_000

/** Estimates for counts that are known to exceed the cap. */
export interface Estimates {
  /** Returns a recent estimate, if there is one. The count may have fallen below the cap since. */
  find(statement: () => Statement): number | undefined
  /** Queries the planner, once for all concurrent requests for the same estimate. */
  make(statement: Statement, connection: Connection): Promise<number>
}

export function createEstimates(): Estimates {
  const known = new Map<string, { readonly rows: number; readonly until: number }>()
  const asked = new Map<string, Promise<number>>()
  const keyOf = ({ text, values }: Statement) => `${text}\0${values.join('\0')}`

  const fresh = (key: string) => {
    const found = known.get(key)
    return found && found.until > performance.now() ? found.rows : undefined
  }

  const ask = async (key: string, statement: Statement, connection: Connection): Promise<number> => {
    const rows = await explain(statement, connection)
    const [oldest] = known.keys()
    if (oldest !== undefined && known.size >= MAX_ESTIMATES) known.delete(oldest)
    known.set(key, { rows, until: performance.now() + REUSE_MS })
    return rows
  }

  return {
    find(statement) {
      // Most tables are small and never have an estimate.
      return known.size === 0 ? undefined : fresh(keyOf(statement()))
    },
    async make(statement, connection) {
      const key = keyOf(statement)
      const rows = fresh(key)
      if (rows !== undefined) return rows
      const others = asked.get(key)
      // The other request may be in a transaction that fails.
      if (others) return others.catch(() => ask(key, statement, connection))
      const answer = ask(key, statement, connection).finally(() => asked.delete(key))
      asked.set(key, answer)
      return answer
    },
  }
}

async function explain(statement: Statement, connection: Connection): Promise<number> {
  const { rows } = await connection.query(statement)
  const [explained] = JSON.parse(rows[0]?.[0] ?? '[]') as readonly { readonly Plan: Explained }[]
  return Math.max(COUNT_CAP + 1, explained?.Plan['Plan Rows'] ?? 0)
}
