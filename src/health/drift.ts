import type { ModelSpec } from '../config/spec.js'
import { mismatchProblem } from '../db/driver/errors.js'
import type { Log } from '../http/log.js'

/** The tables that cannot be served, with the reasons, for the log. */
export type Misfits = ReadonlyMap<string, readonly string[]>

/** Rejects requests for tables that are known to differ from their models. */
export interface DriftGate {
  /** @throws Problem `unavailable` while the model's table differs */
  admit(model: ModelSpec): void
  /** Reports that a table may differ, which triggers a check. */
  suspect(): void
  /** The tables that differ now. */
  drifted(): readonly string[]
  close(): void
}

/** The interval between checks of the database, in ms. */
const CHECK_INTERVAL_MS = 1_000

interface DriftGateOptions {
  /** `columns` changes between checks if a column was altered. */
  readonly look: () => Promise<{ readonly misfits: Misfits; readonly columns: string }>
  readonly log: Log
  /** Called if columns were altered, or may have been before the first check. */
  readonly onAltered: () => void
}

/** Checks the database's catalogue when a request reports a problem, and repeats the check while a table differs. */
export function createDriftGate({ look, log, onAltered }: DriftGateOptions): DriftGate {
  const state = { misfits: new Map() as Misfits, looking: false, lookedAt: Number.NEGATIVE_INFINITY, closed: false }
  let columns: string | undefined
  let timer: NodeJS.Timeout | undefined

  const lookAgain = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined
      void lookNow()
    }, CHECK_INTERVAL_MS).unref()
  }

  const lookNow = async (): Promise<void> => {
    state.looking = true
    // An unavailable database is checked when it is back.
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
      // An error without a visible cause, such as a missing privilege, may fail many requests.
      if (performance.now() - state.lookedAt < CHECK_INTERVAL_MS) lookAgain()
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
    const msg = `the table ${table} does not match the configuration, so its routes return 503: ${differences.join('; ')}`
    log.error({ event: 'schema_drift', table, differences, msg })
  }
  for (const table of before.keys()) {
    if (now.has(table)) continue
    log.info({ event: 'schema_fits', table, msg: `the table ${table} fits the configuration again` })
  }
}
