import type { ModelSpec } from '../config/spec.js'
import { mismatchProblem } from '../db/driver/errors.js'
import type { Log } from '../http/log.js'

/** The tables from which nothing can be served, each with the reasons, for the log. */
export type Misfits = ReadonlyMap<string, readonly string[]>

/** Keeps requests from tables that are known to be others than those of their models. */
export interface DriftGate {
  /** @throws Problem `unavailable` while the model's table is another */
  admit(model: ModelSpec): void
  /** A request met a table that seems to be another: have a look. */
  suspect(): void
  /** The tables that are others at present. */
  drifted(): readonly string[]
  close(): void
}

/** Milliseconds between two looks at the database. */
const PAUSE = 1_000

interface DriftGateOptions {
  /** `columns` differs from that of the last look if a column was altered since. */
  readonly look: () => Promise<{ readonly misfits: Misfits; readonly columns: string }>
  readonly log: Log
  /** Columns were altered, or may have been before the first look. */
  readonly onAltered: () => void
}

/** Looks at the catalogue of the database when a request says so, and as long as a table does not fit until it fits again. */
export function createDriftGate({ look, log, onAltered }: DriftGateOptions): DriftGate {
  const state = { misfits: new Map() as Misfits, looking: false, lookedAt: Number.NEGATIVE_INFINITY, closed: false }
  let columns: string | undefined
  let timer: NodeJS.Timeout | undefined

  const lookAgain = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined
      void lookNow()
    }, PAUSE).unref()
  }

  const lookNow = async (): Promise<void> => {
    state.looking = true
    // A database that is away is looked at once it is back.
    const found = await look().catch(() => undefined)
    state.looking = false
    state.lookedAt = performance.now()
    if (state.closed) return
    if (found) {
      reportChanges(state.misfits, found.misfits, log)
      if (columns !== found.columns) onAltered()
      columns = found.columns
      state.misfits = found.misfits
    }
    if (found?.misfits.size !== 0) lookAgain()
  }

  return {
    admit: ({ table }) => {
      if (state.misfits.size > 0 && state.misfits.has(table)) throw mismatchProblem()
    },
    suspect: () => {
      if (state.looking || state.closed) return
      // What a look does not explain, such as a missing right, may fail many requests.
      if (performance.now() - state.lookedAt < PAUSE) lookAgain()
      else void lookNow()
    },
    drifted: () => [...state.misfits.keys()],
    close: () => {
      state.closed = true
      clearTimeout(timer)
    },
  }
}

function reportChanges(before: Misfits, now: Misfits, log: Log): void {
  for (const [table, differences] of now) {
    if (before.get(table)?.join() === differences.join()) continue
    const msg = `the table ${table} does not fit the configuration, and its routes answer 503: ${differences.join('; ')}`
    log.error({ event: 'schema_drift', table, differences, msg })
  }
  for (const table of before.keys()) {
    if (now.has(table)) continue
    log.info({ event: 'schema_fits', table, msg: `the table ${table} fits the configuration again` })
  }
}
