import type { ModelSpec } from '../config/spec.js'
import { mismatchProblem } from '../db/errors.js'
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
  readonly look: () => Promise<Misfits>
  readonly log: Log
  /** A table was found to be another than before, or may have been for a moment. */
  readonly onChange: () => void
}

/** Looks at the catalogue of the database when a request says so, and as long as a table does not fit until it fits again. */
export function createDriftGate({ look, log, onChange }: DriftGateOptions): DriftGate {
  const state = { misfits: new Map() as Misfits, looking: false, lookedAt: Number.NEGATIVE_INFINITY, closed: false }
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
      // What fits now, although a request failed, may have been repaired before the look.
      if (reportChanges(state.misfits, found, log) || found.size === 0) onChange()
      state.misfits = found
    }
    if (found?.size !== 0) lookAgain()
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

/** Whether there are changes. */
function reportChanges(before: Misfits, now: Misfits, log: Log): boolean {
  let changed = false
  for (const [table, differences] of now) {
    if (before.get(table)?.join() === differences.join()) continue
    const msg = `the table ${table} does not fit the configuration, and its routes answer 503: ${differences.join('; ')}`
    log.error({ event: 'schema_drift', table, differences, msg })
    changed = true
  }
  for (const table of before.keys()) {
    if (now.has(table)) continue
    log.info({ event: 'schema_fits', table, msg: `the table ${table} fits the configuration again` })
    changed = true
  }
  return changed
}
