import { createMonitor, type Database, type Monitor, openAdmin } from '../../src/internal.js'
import { rejectedAddress } from './address.js'
import type { CliContext } from '../context.js'
import type { Log } from './log/log.js'
import type { WorkerOptions } from './workers/parent.js'
import type { Stop } from './stop.js'

/** Where `/livez`, `/readyz` and `/metrics` are served; nowhere without a port. */
export interface AdminOptions {
  readonly adminPort?: number
  readonly adminHost: string
}

interface WatchParts {
  readonly context: CliContext
  readonly options: AdminOptions
  readonly database: Database
  readonly log: Log
  readonly stop: Stop
  readonly worker: WorkerOptions | undefined
}

interface Watch {
  readonly monitor: Monitor
  close(): Promise<void>
}

/**
 * Measures this process for its admin port, or for the parent, which has one admin port for all workers; returns undefined if there is none.
 * @throws Failure 2 if the port cannot be opened
 */
export async function watchProcess(parts: WatchParts): Promise<Watch | undefined> {
  const { context, options, database, worker, stop } = parts
  const isWanted = worker === undefined ? options.adminPort !== undefined : worker.watched
  if (!isWanted) return undefined
  const monitor = await createMonitor({ database, isDraining: () => stop.signal.aborted })
  const { parent } = context
  if (parent) {
    parent.onAsk((question) => (question === 'metrics' ? monitor.metrics() : monitor.readiness()))
    return {
      monitor,
      // The counts since the last query of the parent.
      close: async () => {
        parent.tellMetrics(await monitor.metrics())
        monitor.close()
      },
    }
  }
  const close = await listenForAdmin(parts, {
    readiness: monitor.readiness,
    metrics: async () => [await monitor.metrics()],
  })
  return {
    monitor,
    close: async () => {
      close()
      monitor.close()
    },
  }
}

/**
 * Opens the admin port and logs its URL. The returned function closes it.
 * @throws Failure 2 if the port cannot be opened
 */
export async function listenForAdmin(
  { options, log }: Pick<WatchParts, 'options' | 'log'>,
  parts: Omit<Parameters<typeof openAdmin>[1], 'log'>,
): Promise<() => void> {
  const address = { port: options.adminPort ?? 0, host: options.adminHost }
  const admin = await openAdmin(address, { ...parts, log }).catch((cause: unknown) => {
    throw rejectedAddress(address, cause, {
      port: '--admin-port',
      variable: 'SNIPPETCTL_ADMIN_PORT',
      host: '--admin-host',
    })
  })
  const { url } = admin
  log.info({ event: 'admin_listening', url, msg: `/livez, /readyz and /metrics are at ${url}` })
  return admin.close
}
