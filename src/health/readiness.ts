import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../db/database.js'
import { Problem } from '../problem.js'

/** What keeps a process from serving. */
export interface Obstacle {
  readonly check: 'draining' | 'starting' | 'event_loop' | 'database' | 'schema' | 'worker'
  /** For the operator, and nothing that a client must not see. */
  readonly detail: string
  /** The number of the worker that says so. */
  readonly worker?: number
}

export interface Readiness {
  readonly ready: boolean
  readonly problems: readonly Obstacle[]
}

interface Checks {
  readonly database: Pick<Database, 'probe'>
  readonly phase: () => 'starting' | 'serving' | 'draining'
  /** Milliseconds by which the event loop is late. */
  readonly lag: () => number
  /** The tables that do not fit the configuration. */
  readonly drifted: () => readonly string[]
}

/** Milliseconds that an answer is good for: asking more often costs the database nothing more. */
const KEPT = 250
/** Milliseconds that a database has to answer in; less than what those who ask usually wait for. */
const PATIENCE = 750
const MOST_LAG = 500

const READY: Readiness = Object.freeze({ ready: true, problems: [] })
/** What a process answers from the moment on at which it was told to stop. */
export const DRAINING = toReadiness([{ check: 'draining', detail: 'the server is stopping' }])

/** Answers whether requests can be served, however the database is, within a second. */
export function createReadiness({ database, phase, lag, drifted }: Checks): () => Promise<Readiness> {
  const probe = createProbe(database)
  let kept: Promise<Readiness> | undefined

  const look = async (): Promise<Readiness> => {
    const late = lag()
    const away = await probe()
    const tables = drifted()
    return toReadiness([
      phase() === 'starting' && { check: 'starting', detail: 'the schema of the database has not been looked at yet' },
      late > MOST_LAG && { check: 'event_loop', detail: `the event loop is ${Math.round(late)} ms late` },
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
    void kept.then(() => delay(KEPT, undefined, { ref: false })).then(() => (kept = undefined))
    return kept
  }
}

function toReadiness(found: readonly (Obstacle | false)[]): Readiness {
  const problems = found.filter((obstacle) => obstacle !== false)
  return problems.length === 0 ? READY : { ready: false, problems }
}

/** Asks the database whether it is there, one question at a time; tells what is wrong. */
function createProbe(database: Pick<Database, 'probe'>): () => Promise<string | undefined> {
  let asked: Promise<string | undefined> | undefined
  return () => {
    asked ??= database
      .probe()
      .then(() => undefined, describe)
      .finally(() => (asked = undefined))
    const late = `The database has not answered within ${PATIENCE} ms`
    return Promise.race([asked, delay(PATIENCE, late, { ref: false })])
  }
}

/** The driver's own words may name users and hosts. */
function describe(error: unknown): string {
  return error instanceof Problem ? error.message : 'The database refuses the connection; the log says why'
}
