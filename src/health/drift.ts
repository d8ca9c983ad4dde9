import type { ModelSpec } from '../config/spec.js'
import { mismatchProblem } from '../db/driver/errors.js'
import type { Log } from '../http/log.js'
import type { LiveTables, Misfits } from '../migrations/drift/misfits.js'

/** Rejects requests for tables that are known to differ from their models. */
export interface DriftGate {
  /** @throws Problem `unavailable` while the model's table cannot be served */
  admit(model: ModelSpec): void
  /** Reports that a table differs, or (not `sure`) may have been altered, which triggers a check. */
  suspect(sure: boolean): void
  /** The tables that cannot be served now. */
  unserved(): readonly string[]
  /** The tables that cannot be served or that reject every new record; not those that the database user may only read. */
  drifted(): readonly string[]
  close(): void
}

/** The interval between checks of the database while a table differs or requests report problems, in ms. */
const CHECK_INTERVAL_MS = 1_000

interface DriftGateOptions {
  readonly tables: LiveTables
  readonly log: Log
  /** Called if columns were altered, or may have been before the first check. */
  readonly onAltered: () => void
  /** The interval between other checks, in ms. */
  readonly interval: number
}

const NOTHING: Misfits = { unserved: new Map(), closed: new Map(), unreadable: new Map(), unwritable: new Map() }

/**
 * Checks the database's catalogue when a request reports a problem, repeats the check while a table differs, and checks now and then while there are
 * requests: a statement may go on without an error although a column has another type.
 */
export function createDriftGate({ tables, log, onAltered, interval }: DriftGateOptions): DriftGate {
  const state = {
    misfits: NOTHING,
    looking: false,
    lookedAt: performance.now(),
    looked: false,
    sure: false,
    closed: false,
  }
  let columns: string | undefined
  let timer: NodeJS.Timeout | undefined

  const lookAgain = (sure: boolean): void => {
    state.sure ||= sure
    timer ??= setTimeout(() => {
      timer = undefined
      if (state.looking) return lookAgain(false)
      void lookNow(state.sure)
      state.sure = false
    }, CHECK_INTERVAL_MS).unref()
  }

  /** If the columns are unaltered, the tables match as before, unless a type, a schema or a domain was altered, which is rare. */
  const findChanges = async (sure: boolean): Promise<void> => {
    const found = await tables.digest()
    if (state.closed || (found === columns && !sure && !differs(state.misfits))) return
    const misfits = await tables.misfits()
    if (state.closed) return
    reportChanges(state.misfits, misfits, log)
    if (found !== columns) onAltered()
    state.misfits = misfits
    // A right that was revoked in between, and granted since, leaves no other trace.
    columns = (await tables.digest()) === found ? found : undefined
  }

  const lookNow = async (sure: boolean): Promise<void> => {
    state.looking = true
    // An unavailable database is checked when it is back.
    const failed = await findChanges(sure).then(
      () => false,
      () => true,
    )
    state.looking = false
    state.lookedAt = performance.now()
    state.looked = true
    // Without requests for unreadable tables, only this notices a grant.
    const isWaiting = failed || differs(state.misfits) || state.misfits.unreadable.size > 0
    if (!state.closed && isWaiting) lookAgain(failed && sure)
  }

  return {
    admit: ({ table }) => {
      if (state.misfits.unserved.has(table) || state.misfits.unreadable.has(table)) throw mismatchProblem()
      if (tables.shared && !state.looking && !state.closed && performance.now() - state.lookedAt > interval)
        void lookNow(false)
    },
    suspect: (sure) => {
      if (state.looking || state.closed) return
      // An error without a visible cause, such as a missing privilege, may fail many requests.
      if (state.looked && performance.now() - state.lookedAt < CHECK_INTERVAL_MS) lookAgain(sure)
      else void lookNow(sure)
    },
    unserved: () => [...unservedBy(state.misfits)],
    drifted: () => [...driftedBy(state.misfits)],
    close: () => {
      state.closed = true
      clearTimeout(timer)
    },
  }
}

/** Whether a column, not just a right, is the reason: the digest may not notice its repair. */
function differs({ unserved, closed }: Misfits): boolean {
  return unserved.size > 0 || closed.size > 0
}

function unservedBy({ unserved, unreadable }: Misfits): ReadonlySet<string> {
  return new Set([...unserved.keys(), ...unreadable.keys()])
}

function driftedBy(misfits: Misfits): ReadonlySet<string> {
  return new Set([...unservedBy(misfits), ...misfits.closed.keys()])
}

function reportChanges(before: Misfits, now: Misfits, log: Log): void {
  const changed = (part: keyof Misfits) =>
    [...now[part]].filter(([table, reasons]) => before[part].get(table)?.join() !== reasons.join())
  const report = (part: keyof Misfits, effect: string): void => {
    for (const [table, differences] of changed(part)) {
      const msg = `the table ${table} does not match the configuration, so ${effect}: ${differences.join('; ')}`
      log.error({ event: 'schema_drift', table, differences, msg })
    }
  }
  report('unserved', 'requests that need it return 503')
  report('unreadable', 'requests that need it return 503')
  report('closed', 'creating its records returns 503')
  for (const [table, reasons] of changed('unwritable')) {
    const msg = `some requests that change the table ${table} return 503: ${reasons.join('; ')}`
    log.info({ event: 'changes_denied', table, msg })
  }
  const drifted = driftedBy(now)
  for (const table of driftedBy(before)) {
    if (drifted.has(table)) continue
    log.info({ event: 'schema_fits', table, msg: `the table ${table} fits the configuration again` })
  }
}
