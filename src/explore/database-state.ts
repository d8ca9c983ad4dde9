import { Problem } from '../problem.js'
import type { Context } from '../http/route.js'

/** Whether the database responds. */
export type DatabaseState =
  | { readonly version: string; readonly milliseconds: number }
  /** Why it does not. */
  | { readonly problem: string }

/** Asks the database for its version. */
export async function databaseState(context: Context): Promise<DatabaseState> {
  const started = performance.now()
  try {
    const rows: unknown = await context.service.unscopedKnex.raw(`select current_setting('server_version') as version`)
    const [row] = (rows as { readonly rows: readonly { readonly version: string }[] }).rows
    return { version: row?.version ?? '', milliseconds: performance.now() - started }
  } catch (error) {
    if (!(error instanceof Problem) || error.type === 'internal') throw error
    return { problem: error.message }
  }
}
