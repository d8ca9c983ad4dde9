import type { ModelSpec } from '../../config/spec.js'
import { identifier } from '../../fields/sql-literal.js'
import type { ListPlan } from '../../resource/plan.js'
import type { Connection, Statement } from '../database.js'
import type { Bounds } from '../statements/rules/bounds.js'
import { compileRowStatement } from '../statements/lists/list-statements.js'
import type { Projection } from '../statements/projections.js'
import { toReadProblem } from './store-sender.js'
import { readPages } from '../statements/table-reader.js'

/** Reads a list of any length in a transaction, some records at a time. */
export type ListReader<Item> = (
  connection: Connection,
  plan: ListPlan,
  bounds: Bounds | undefined,
) => AsyncGenerator<readonly Item[], void>

const CURSOR = identifier('snippetctl export')
/** Characters that are read at once. */
const TARGET_LENGTH = 2 ** 18

/** Compiles the reader of a model's lists. The plan has no limit. */
export function compileListReader<Item>(model: ModelSpec, projection: Projection<Item, unknown>): ListReader<Item> {
  const statementFor = compileRowStatement(model, projection)
  return async function* (connection, plan, bounds) {
    const ask = async (statement: Statement) => {
      try {
        return await connection.query({ ...statement, resource: model.table })
      } catch (error) {
        throw toReadProblem(error, { plan, statement, model })
      }
    }
    const { text, values, read } = statementFor(plan, bounds)
    await ask({ text: PREPARING, values: [] })
    await ask({ text: `declare ${CURSOR} no scroll cursor for ${text}`, values })
    const fetch = async (size: number) => (await ask({ text: `fetch ${size} from ${CURSOR}`, values: [] })).rows
    for await (const rows of readPages(fetch, TARGET_LENGTH)) yield rows.map(read)
  }
}

/** All rows are read, so a plan that returns the first rows fast has no advantage. While the reader waits for a slow client, the transaction is idle. */
const PREPARING = `select set_config('cursor_tuple_fraction', '1', true), set_config('idle_in_transaction_session_timeout', '0', true)`
