import type { Database } from '../db/database.js'
import type { StatementCounts } from '../db/statements/prepared-statements.js'
import { createTraffic, type Traffic } from '../http/connections/traffic.js'
import { createMetrics, type Metrics } from './metrics.js'
import { createReadiness, type Readiness } from './readiness.js'

/** The parts of a service that its monitor uses. */
interface Watched {
  readonly unserved: () => readonly string[]
  readonly drifted: () => readonly string[]
  readonly statements: Readonly<StatementCounts>
}

/** Monitors one process. */
export interface Monitor {
  /** Counts the requests of the process. */
  readonly traffic: Traffic
  /** Monitors the service from now on. */
  watch(service: Watched): void
  /** From now on, the process serves requests. */
  open(): void
  /** Resolves within a second, whatever the state of the database. */
  readiness(): Promise<Readiness>
  metrics(): Promise<Metrics>
  close(): void
}

interface MonitorParts {
  readonly database: Pick<Database, 'probe' | 'usage' | 'replica'>
  readonly isDraining: () => boolean
}

const NOTHING: Watched = { unserved: () => [], drifted: () => [], statements: { kept: 0, unkept: 0, generation: 0 } }

/** Starts to monitor this process. */
export async function createMonitor({ database, isDraining }: MonitorParts): Promise<Monitor> {
  const traffic = createTraffic()
  const loop = watchLoop()
  const state = { service: NOTHING, open: false }
  return {
    traffic,
    watch: (service) => {
      state.service = service
    },
    open: () => {
      state.open = true
    },
    readiness: createReadiness({
      database,
      phase: () => (isDraining() ? 'draining' : state.open ? 'serving' : 'starting'),
      lag: loop.lag,
      unserved: () => state.service.unserved(),
    }),
    metrics: await createMetrics({
      traffic,
      usage: () => database.usage(),
      replica: database.replica,
      statements: () => state.service.statements,
      drifted: () => state.service.drifted(),
    }),
    close: loop.close,
  }
}

const TICK = 100

/** Measures the lag of the event loop with an interval. */
function watchLoop() {
  let due = performance.now() + TICK
  let late = 0
  const timer = setInterval(() => {
    const now = performance.now()
    late = now - due
    due = now + TICK
  }, TICK).unref()
  return { lag: () => Math.max(late, performance.now() - due), close: () => clearInterval(timer) }
}
