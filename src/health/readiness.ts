import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../db/database.js'
import { Problem } from '../foundation/problem.js'

/** A reason why a process is not ready. */
export interface Obstacle {
  readonly check: 'draining' | 'starting' | 'event_loop' | 'database' | 'schema' | 'worker'
  /** For operators and clients; contains no secrets. */
  readonly detail: string
  /** The number of the worker. */
  readonly worker?: number
}

export interface Readiness {
  readonly ready: boolean
  readonly problems: readonly Obstacle[]
}

interface Checks {
  readonly database: Pick<Database, 'probe'>
  readonly phase: () => 'starting' | 'serving' | 'draining'
  /** The lag of the event loop, in ms. */
  readonly lag: () => number
  /** The tables that do not match the configuration and cannot be served. */
  readonly unserved: () => readonly string[]
}

/** How long a result is reused, in ms, so that frequent probes do not load the database. */
const CACHE_MS = 250
/** How long the database may take, in ms; shorter than usual probe timeouts. */
const PROBE_TIMEOUT_MS = 750
const MAX_LAG_MS = 500

const READY: Readiness = Object.freeze({ ready: true, problems: [] })
/** The readiness of a process that is stopping. */
export const DRAINING = toReadiness([{ check: 'draining', detail: 'the server is stopping' }])

/** Returns a function that reports whether requests can be served, within a second, whatever the state of the database. */
export function createReadiness({ database, phase, lag, unserved }: Checks): () => Promise<Readiness> {
  const probe = createProbe(database)
  let kept: Promise<Readiness> | undefined

  const look = async (): Promise<Readiness> => {
    const lateBefore = lag()
    const away = await probe()
    const late = Math.max(lateBefore, lag())
    const tables = unserved()
    return toReadiness([
      phase() === 'starting' && { check: 'starting', detail: 'the schema of the database has not been checked yet' },
      late > MAX_LAG_MS && { check: 'event_loop', detail: `the event loop is ${Math.round(late)} ms late` },
      away !== undefined && { check: 'database', detail: away },
      tables.length > 0 && {
        check: 'schema',
        detail: `these tables do not fit the configuration: ${tables.join(', ')}`,
      },
    ])
  }

  return () => {
    if (phase() === 'draining') return Promise.resolve(DRAINING)
    if (kept) return kept
    kept = look()
    void kept.then(() => delay(CACHE_MS, undefined, { ref: false })).then(() => (kept = undefined))
    return kept
  }
}

function toReadiness(found: readonly (Obstacle | false)[]): Readiness {
  const problems = found.filter((obstacle) => obstacle !== false)
  return problems.length === 0 ? READY : { ready: false, problems }
}

/** Probes the database, once at a time; returns its problems. */
function createProbe(database: Pick<Database, 'probe'>): () => Promise<string | undefined> {
  let asked: Promise<string | undefined> | undefined
  return () => {
    asked ??= database
      .probe()
      .then(() => undefined, describe)
      .finally(() => (asked = undefined))
    return Promise.race([asked, timeOut()])
  }
}

async function timeOut(): Promise<string> {
  await delay(PROBE_TIMEOUT_MS, undefined, { ref: false })
  // After the event loop was blocked, timers fire before the response that arrived meanwhile is read.
  await nextTurn()
  return `The database did not respond within ${PROBE_TIMEOUT_MS} ms`
}

/** The driver's message may name users and hosts. */
function describe(error: unknown): string {
  return error instanceof Problem ? error.message : 'The database rejects the connection; see the log'
}
