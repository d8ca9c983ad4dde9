import { createMonitor, type Database, type Monitor, openAdmin } from '../../src/internal.js'
import { refusedAddress } from '../address.js'
import type { CliContext } from '../context.js'
import type { Log } from './log.js'
import type { Orders } from './parent.js'
import type { Stop } from './stop.js'

/** Where whoever runs the service asks how it is; without a port, nobody does. */
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
  readonly orders: Orders | undefined
}

/** What watches this process, and the end of that. */
interface Watch {
  readonly monitor: Monitor
  close(): Promise<void>
}

/**
 * Watches this process for its admin port, or for the parent, which has one for all; undefined when nobody asks.
 * @throws Failure 2 when the port cannot be had
 */
export async function watchProcess(parts: WatchParts): Promise<Watch | undefined> {
  const { context, options, database, orders, stop } = parts
  const isWanted = orders === undefined ? options.adminPort !== undefined : orders.watched
  if (!isWanted) return undefined
  const monitor = await createMonitor({ database, isDraining: () => stop.signal.aborted })
  const { parent } = context
  if (parent) {
    parent.onAsk((question) => (question === 'metrics' ? monitor.metrics() : monitor.readiness()))
    return {
      monitor,
      // What was counted since the parent asked last.
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
 * Opens the admin port and says where it is; the function that it returns closes it.
 * @throws Failure 2 when the port cannot be had
 */
export async function listenForAdmin(
  { options, log }: Pick<WatchParts, 'options' | 'log'>,
  parts: Omit<Parameters<typeof openAdmin>[1], 'log'>,
): Promise<() => void> {
  const address = { port: options.adminPort ?? 0, host: options.adminHost }
  const admin = await openAdmin(address, { ...parts, log }).catch((cause: unknown) => {
    throw refusedAddress(address, cause, {
      port: '--admin-port',
      variable: 'SNIPPETCTL_ADMIN_PORT',
      host: '--admin-host',
    })
  })
  const { url } = admin
  log.info({ event: 'admin_listening', url, msg: `/livez, /readyz and /metrics are at ${url}` })
  return admin.close
}
