import type { Database } from '../db/database.js'
import type { StatementCounts } from '../db/statements/prepared-statements.js'
import { createTraffic, type Traffic } from '../http/server/traffic.js'
import { createMetrics, type Metrics } from './metrics.js'
import { createReadiness, type Readiness } from './readiness.js'

/** The service of a process, as far as its monitor looks at it. */
interface Watched {
  readonly drifted: () => readonly string[]
  readonly statements: Readonly<StatementCounts>
}

/** Knows how one process is. */
export interface Monitor {
  /** Where the requests of the process are counted. */
  readonly traffic: Traffic
  /** The service, once there is one. */
  watch(service: Watched): void
  /** From now on, requests can be served. */
  open(): void
  /** Within a second, however the database is. */
  readiness(): Promise<Readiness>
  metrics(): Promise<Metrics>
  close(): void
}

interface MonitorParts {
  readonly database: Pick<Database, 'probe' | 'usage'>
  readonly isDraining: () => boolean
}

const NOTHING: Watched = { drifted: () => [], statements: { kept: 0, unkept: 0, generation: 0 } }

/** Starts to watch this process. */
export async function createMonitor({ database, isDraining }: MonitorParts): Promise<Monitor> {
  const traffic = createTraffic()
  const loop = watchLoop()
  const state = { service: NOTHING, open: false }
  const drifted = () => state.service.drifted()
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
      drifted,
    }),
    metrics: await createMetrics({
      traffic,
      usage: () => database.usage(),
      statements: () => state.service.statements,
      drifted,
    }),
    close: loop.close,
  }
}

const TICK = 100

/** How late the event loop is: a timer should have run every so many milliseconds. */
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
